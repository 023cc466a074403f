import MartletSemantics
import Testing

/// “Parse a MIME type” and “serialize a MIME type” of WHATWG MIME Sniffing (§4.4, §4.5). In the expected text, the
/// essence comes before the first semicolon, with a space after each semicolon.
@Suite("Media types as MIME Sniffing parses them", .timeLimit(.minutes(5)))
struct MediaTypeParsingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let text: String
    /// The serialization of the parsed type; nil if the text is not a type.
    let written: String?
    var testDescription: String { text.debugDescription }

    init(_ text: String, _ written: String?) {
      self.text = text
      self.written = written
    }
  }

  private static let types = [
    // steps 1 and 7: HTTP whitespace, which includes line breaks, around the text and behind the subtype
    Row("text/html", "text/html"), Row(" \t\r\ntext/html\n\r\t ", "text/html"),
    Row("text/html \t\r\n;charset=a", "text/html; charset=a"), Row("\u{B}text/html", nil), Row("\u{C}text/html", nil),
    Row("text/html\u{B}", nil), Row("\u{A0}text/html", nil),
    // steps 2 to 5: the type
    Row("", nil), Row(" ", nil), Row("text", nil), Row("/html", nil), Row("text ", nil), Row("text /html", nil),
    Row("te xt/html", nil), Row("text;/html", nil), Row("t,e/html", nil), Row("t\0/html", nil), Row("(x)/html", nil),
    Row("!#$%&'*+-.^_`|~/!#$%&'*+-.^_`|~", "!#$%&'*+-.^_`|~/!#$%&'*+-.^_`|~"), Row("0/9", "0/9"),
    // steps 6 to 8: the subtype
    Row("text/", nil), Row("text/;charset=a", nil), Row("text/ html", nil), Row("text/ht ml", nil),
    Row("text/html/x", nil), Row("text/html,text/plain", nil), Row("text//html", nil), Row("text/\u{E9}", nil),
    Row("text/html(x)", nil),
    // step 9: lower case, of ASCII only
    Row("TEXT/HTML", "text/html"), Row("text/X-\u{212A}", nil), Row("*/*", "*/*"), Row("text/*", "text/*"),
  ]

  private static let names = [
    // steps 11.1 to 11.7: whitespace before the name, which ends at a semicolon or an equals sign
    Row("a/b;x=y", "a/b; x=y"), Row("a/b; \t\r\nx=y", "a/b; x=y"), Row("a/b;X=Y", "a/b; x=Y"), Row("a/b;", "a/b"),
    Row("a/b;;;;", "a/b"), Row("a/b; ; ;x=y", "a/b; x=y"), Row("a/b;x", "a/b"), Row("a/b;x;y=z", "a/b; y=z"),
    Row("a/b;x=", "a/b"), Row("a/b;x=;y=z", "a/b; y=z"), Row("a/b;=x;y=z", "a/b; y=z"), Row("a/b;x =y;z=w", "a/b; z=w"),
    Row("a/b; x\t=y;z=w", "a/b; z=w"), Row("a/b;x y=z", "a/b"), Row("a/b;(x)=y;z=w", "a/b; z=w"),
    Row("a/b;x\u{E9}=y;z=w", "a/b; z=w"), Row("a/b;\u{B}x=y;z=w", "a/b; z=w"), Row("a/b;\"x\"=y;z=w", "a/b; z=w"),
    Row("a/b;x,y=z;w=v", "a/b; w=v"),
    // step 11.10: the first value of a name counts, even if the name's case differs
    Row("a/b;x=1;x=2", "a/b; x=1"), Row("a/b;x=1;X=2;y=3", "a/b; x=1; y=3"), Row("a/b;x=;x=2", "a/b; x=2"),
    Row("a/b;x=\"\";x=2", #"a/b; x="""#), Row("a/b;x=\u{1};x=2", "a/b; x=2"),
  ]

  private static let values = [
    // step 11.9: values without quotes extend to the semicolon, and need not be tokens
    Row("a/b;x= y", #"a/b; x=" y""#), Row("a/b;x=y z", #"a/b; x="y z""#), Row("a/b;x=y \t\r\n;z=w", "a/b; x=y; z=w"),
    Row("a/b;x= ;z=w", "a/b; z=w"), Row("a/b;x=y=z", #"a/b; x="y=z""#), Row("a/b;x==y", #"a/b; x="=y""#),
    Row("a/b;x=(y)", #"a/b; x="(y)""#), Row("a/b;x=y,z", #"a/b; x="y,z""#), Row("a/b;x='y z'", #"a/b; x="'y z'""#),
    Row(#"a/b;x=y"z"#, #"a/b; x="y\"z""#), Row(#"a/b;x=y\z"#, #"a/b; x="y\\z""#),
    Row(#"a/b;x= "y""#, #"a/b; x=" \"y\"""#),
    Row("a/b;x=y\tz", "a/b; x=\"y\tz\""),
    // step 11.8: text after a quoted string is ignored up to the semicolon
    Row(#"a/b;x="y""#, "a/b; x=y"), Row(#"a/b;x="y z""#, #"a/b; x="y z""#), Row(#"a/b;x="""#, #"a/b; x="""#),
    Row(#"a/b;x="y"z;w=v"#, "a/b; x=y; w=v"), Row(#"a/b;x="y";w=v"#, "a/b; x=y; w=v"),
    Row(#"a/b;x="y;z";w=v"#, #"a/b; x="y;z"; w=v"#), Row(#"a/b;x=" y ""#, #"a/b; x=" y ""#),
    Row(#"a/b;x="y"#, "a/b; x=y"), Row(#"a/b;x=""#, #"a/b; x="""#), Row(#"a/b;x="y;z=w"#, #"a/b; x="y;z=w""#),
    Row(#"a/b;x="\y\"\\""#, #"a/b; x="y\"\\""#), Row(#"a/b;x="y\"#, #"a/b; x="y\\""#),
    Row(#"a/b;x="\"#, #"a/b; x="\\""#),
    // step 11.10: values have the code points of quoted strings, U+0009, U+0020 to U+007E and U+0080 to U+00FF
    Row("a/b;x=\u{0};y=z", "a/b; y=z"), Row("a/b;x=\u{1F};y=z", "a/b; y=z"), Row("a/b;x=\u{7F};y=z", "a/b; y=z"),
    Row("a/b;x=\"\n\";y=z", "a/b; y=z"), Row("a/b;x=\"\t\";y=z", "a/b; x=\"\t\"; y=z"),
    Row("a/b;x=\u{80}", "a/b; x=\"\u{80}\""), Row("a/b;x=\u{FF}", "a/b; x=\"\u{FF}\""),
    Row("a/b;x=\u{100};y=z", "a/b; y=z"),
    Row("a/b;x=\u{FFFD};y=z", "a/b; y=z"), Row("a/b;x=\"\u{E9}\u{1F600}\";y=z", "a/b; y=z"),
    Row("a/b;x=e\u{301};y=z", "a/b; y=z"), Row("a/b;x=y;\u{301}z=w", "a/b; x=y"),
  ]

  @Test(arguments: types + names + values) func parsingFollowsTheStandard(row: Row) {
    #expect(MediaType(row.text)?.description == row.written)
    // the serialization is read as the same type
    if let written = row.written { #expect(MediaType(written)?.description == written) }
  }

  @Test func theFirstOfEachNameCountsAmongThousands() throws {
    let names = (0..<10_000).map { "n\($0)" }
    let parameters = (names + names).enumerated().map { ";\($1)=\($0)" }
    let type = try #require(MediaType("a/b" + parameters.joined()))
    #expect(type.parameters.map { $0.name.rawName } == names)
    #expect(type.parameters["n9999"] == "9999")
  }

  /// Every byte, as in the public suite: in the type, the subtype, a name, a value and a quoted value.
  @Test(arguments: UInt8.min...UInt8.max) func everyCodePointIsAllowedWhereTheStandardSays(byte: UInt8) {
    let text = String(Unicode.Scalar(byte))
    let isToken = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".contains(text)
    let isValue = byte == 9 || (0x20...0x7E).contains(byte) || byte >= 0x80
    let isWhitespace = [9, 10, 13, 32].contains(byte)

    #expect((MediaType("\(text)/x") != nil) == isToken)
    #expect((MediaType("x/\(text)") != nil) == isToken)
    #expect(MediaType("x/x;\(text)=x;bonus=x")?.parameters.count == (isToken ? 2 : 1))
    guard text != "\"" else { return }  // it begins or ends a quoted string
    let plain = MediaType("x/x;x=\(text);bonus=x")
    #expect(plain?.parameters["x"] == (isValue && !isWhitespace && text != ";" ? text : nil))
    #expect(plain?.parameters["bonus"] == "x")
    guard text != "\\" else { return }
    let quoted = MediaType("x/x;x=\"\(text)\";bonus=x")
    #expect(quoted?.parameters["x"] == (isValue ? text : nil))
    #expect(quoted?.parameters["bonus"] == "x")
  }
}

/// “Extract a MIME type” of Fetch (§2.2.2), of the field's lines joined with commas.
@Suite("The media type of a message, as Fetch extracts it", .timeLimit(.minutes(5)))
struct MediaTypeOfFieldsTests {
  @Test(
    arguments: [
      ([], nil), ([""], nil), ([","], nil), (["nonsense"], nil),
      (["text/html; charset=utf-8"], "text/html; charset=utf-8"),
      // the last that can be parsed counts
      (["text/html", "text/plain"], "text/plain"), (["text/html, a/b"], "a/b"),
      (["text/html", "nonsense"], "text/html"),
      (["text/html,"], "text/html"), ([",text/html"], "text/html"), (["text/html", ""], "text/html"),
      // `*/*` does not count, but other ranges are not checked
      (["*/*"], nil), (["text/html, */*"], "text/html"), (["*/*;charset=gbk"], nil),
      (["text/html;x=1", "*/*;x=2"], "text/html; x=1"),
      (["text/*"], "text/*"),
      // the charset of an earlier type applies as long as the essence stays the same
      (["text/html;charset=gbk", "text/html"], "text/html; charset=gbk"),
      (["text/html;charset=gbk, text/html;x=1"], "text/html; x=1; charset=gbk"),
      (["TEXT/HTML;CHARSET=gbk", "text/html"], "text/html; charset=gbk"),
      (["text/html;charset=gbk", "text/html;charset=utf-8", "text/html"], "text/html; charset=utf-8"),
      (["text/html;charset=gbk", "text/plain", "text/html"], "text/html"),
      (["text/html;charset=gbk", "text/plain"], "text/plain"),
      (["text/plain", "text/html;charset=gbk"], "text/html; charset=gbk"),
      (["text/html;charset=gbk", "nonsense", "*/*", "text/html"], "text/html; charset=gbk"),
      (["text/html;charset=gbk", "text/html;charset=\"\""], #"text/html; charset="""#),
      (["text/html;charset=", "text/html"], "text/html"),
      (["text/html", "text/html;charset=gbk", "text/html;x=1"], "text/html; x=1; charset=gbk"),
      // commas in quoted strings do not separate; an unclosed quote extends over the lines
      ([#"text/html;x=",text/plain""#], #"text/html; x=",text/plain""#), ([#"text/html;x="a\",b";y=1, a/b"#], "a/b"),
      ([#"text/html;x=""#, "text/plain"], #"text/html; x=", text/plain""#),
      ([#"text/html;""#, "text/plain"], "text/html"),
      ([#"text/html";x=1, a/b"#], nil), ([#"text/html;charset=gbk;x=1"a,b",text/plain"#], "text/plain"),
      (["text/html; charset=gbk\t ,\t text/html"], "text/html; charset=gbk"),
    ] as [([String], String?)])
  func contentTypeIsExtracted(_ lines: [String], expected: String?) {
    var fields = HTTPFields()
    for line in lines { fields.append(line, for: .contentType) }

    #expect(fields.mediaType?.description == expected)
  }

  /// A field's value is a sequence of bytes, each of which is a code point up to U+00FF.
  @Test func bytesBeyondASCIIAreAllowedInValues() {
    let fields: HTTPFields = [.contentType: #"text/plain; name="日本"; charset=utf-8"#]

    #expect(fields.mediaType?.parameters["name"] == "日本")
    #expect(fields.mediaType?.charset == "utf-8")
  }
}
