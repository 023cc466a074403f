@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FieldSyntaxTests {
  // RFC 9110 §5.6.1.2: a recipient must parse and ignore empty elements.
  @Test(arguments: [
    ("foo, bar", ["foo", "bar"]),
    ("foo ,bar,", ["foo", "bar"]),
    ("foo , ,bar,charlie", ["foo", "bar", "charlie"]),
    ("", []), (",", []), (",   ,", []), (" \t ", []),
    ("\tfoo\t,\tbar\t", ["foo", "bar"]),
    (#""a, b", c"#, [#""a, b""#, "c"]),
    (#"a="1,2", b="\",", c"#, [#"a="1,2""#, #"b="\",""#, "c"]),
    (#"W/"a,b", "c""#, [#"W/"a,b""#, #""c""#]),
    (#"a, "b, c"#, ["a", #""b, c"#]),
    (#"a, "b\"#, ["a", #""b\"#]),
    ("ü,é", ["ü", "é"]),
  ])
  func listIsSplitAtCommasOutsideQuotes(_ value: String, expected: [String]) {
    let fields: HTTPFields = ["X-List": value]

    #expect(fields.list("x-list") == expected)
  }

  @Test func listsIncludeAllLines() {
    let fields: HTTPFields = [.vary: "a, b", .accept: "x", "VARY": "", .vary: #""c"#, .vary: "d"]

    #expect(fields.list(.vary) == ["a", "b", #""c"#, "d"])
    #expect(fields.list(.age) == [])
  }

  // RFC 9110 §5.6.4: a backslash quotes the character after it.
  @Test(arguments: [
    (#""""#, ""), (#""a b""#, "a b"), (#""a\"b""#, #"a"b"#), (#""\\""#, #"\"#), (#""\a""#, "a"), ("token", "token"),
    (#""open"#, "open"), (#""open\"#, "open"), (#""a" tail"#, "a"), ("", ""), (#""ü""#, "ü"),
  ])
  func quotedStringsAreUnquoted(_ text: String, expected: String) {
    #expect(QuotedString.unquoted(text[...]) == expected)
  }

  // RFC 9110 §5.6.4: a sender should quote only where it is necessary.
  @Test(arguments: [
    ("token", "token"), ("", #""""#), ("a b", #""a b""#), (#"a"b"#, #""a\"b""#), (#"a\b"#, #""a\\b""#), ("ü", #""ü""#),
    ("a/b", #""a/b""#), ("a,b;c=d", #""a,b;c=d""#),
  ])
  func textIsQuotedIfItIsNotAToken(_ text: String, expected: String) {
    let quoted = QuotedString.tokenOrQuoted(text)

    #expect(quoted == expected)
    #expect(QuotedString.unquoted(quoted[...]) == text)
  }

  // RFC 9110 §5.6.6.
  @Test(arguments: [
    ("charset=utf-8", ["charset=utf-8"]),
    ("; charset=utf-8 ;\tformat=flowed", ["charset=utf-8", "format=flowed"]),
    (#"CHARSET="utf-8""#, ["charset=utf-8"]),
    (#"a="x;y"; b="\"""#, ["a=x;y", #"b=""#]),
    (";;a=1;;", ["a=1"]),
    ("a = 1", ["a=1"]),
    ("a", []), ("=1", []), ("a b=1", []), ("ü=1", []),
    ("a=", ["a="]), ("a=b=c", ["a=b=c"]), ("a=1; a=2", ["a=1", "a=2"]),
    (#"a="open; b=2"#, ["a=open; b=2"]),
  ])
  func parametersAreRead(_ text: String, expected: [String]) {
    let parameters = FieldParameters(parsing: text)

    #expect(parameters.map { "\($0.name.canonicalName)=\($0.value)" } == expected)
    #expect(parameters.count == expected.count)
    #expect(parameters.isEmpty == expected.isEmpty)
  }

  @Test func parametersAreFoundWithoutCaseAndTheFirstCounts() {
    let parameters = FieldParameters(parsing: "A=1; a=2; b=3")

    #expect(parameters["a"] == "1")
    #expect(parameters["B"] == "3")
    #expect(parameters["c"] == nil)
  }

  @Test func parametersAreWrittenStrictly() {
    var parameters: FieldParameters = ["Name": "a b", "x": "1", "NAME": "again"]

    parameters["name"] = #"q"t"#
    parameters["x"] = nil
    parameters["empty"] = ""

    #expect(parameters.description == #"; name="q\"t"; empty="""#)
  }

  @Test func lineBreakInAParameterIsRefusedByTheFields() {
    let parameters: FieldParameters = ["name": "a\r\nX: y"]
    var fields = HTTPFields()

    fields[.contentDisposition] = "form-data\(parameters)"

    #expect(fields.refusal == .invalidValue(name: "Content-Disposition"))
  }

  @Test(arguments: [
    ("no-store", "no-store", nil), ("max-age=60", "max-age", "60"), (#"private="a, b""#, "private", "a, b"),
    ("a = b", "a", "b"), ("a=", "a", ""),
  ])
  func directiveIsANameWithOrWithoutValue(_ text: String, name: String, value: String?) throws {
    let pair = try #require(FieldParameters.pair(in: text[...]))

    #expect(pair.name.rawName == name)
    #expect(pair.value == value)
  }
}

@Suite
struct FieldOctetsTests {
  @Test(
    arguments: [
      [], [97, 61, 98], Array("é=ü".utf8), [97, 0xE9], [0xFF, 97, 0x80], [0xC3, 0xA9, 0xE9], Array("\u{10FFFF}".utf8),
      Array("\u{10FF7F}\u{100000}".utf8), [0xF4], [0xED, 0xA0, 0x80],
    ] as [[UInt8]])
  func bytesArePreserved(_ bytes: [UInt8]) {
    let text = FieldOctets.text(bytes)
    #expect(FieldOctets.bytes(text) == bytes)
    #expect(FieldOctets.count(text) == bytes.count)
  }

  @Test
  func utf8IsUnchanged() {
    #expect(FieldOctets.text(Array("é=ü".utf8)) == "é=ü")
    #expect(FieldOctets.text([97, 0xE9]) == "a\u{10FFE9}")
    #expect(!FieldOctets.hasOctets("\u{10FF7F}"))
  }
}
