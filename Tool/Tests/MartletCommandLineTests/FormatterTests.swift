@testable import MartletCommandLine
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@Suite("Formatted bodies")
struct FormatterTests {
  /// Formats the text in pieces of this number of bytes.
  private func format(_ formatter: some BodyFormatter, _ text: String, pieces: Int = .max) -> String {
    var formatter = formatter
    var rest = Data(text.utf8)[...]
    var out: [UInt8] = []
    while !rest.isEmpty {
      out += formatter.format(Data(rest.prefix(pieces)))
      rest = rest.dropFirst(pieces)
    }
    return String(decoding: out + formatter.finish(), as: UTF8.self)
  }

  private func json(_ colored: Bool = false, terminal: Bool = false) -> JSONFormatter {
    JSONFormatter(.indented, palette: Palette(isColored: colored), isForTerminal: terminal)
  }

  @Test(arguments: [
    (
      #"{"b":1.0,"a":[1,{"c":null}],"e":{},"f":[]}"#,
      """
      {
        "b": 1.0,
        "a": [
          1,
          {
            "c": null
          }
        ],
        "e": {},
        "f": []
      }

      """
    ),
    ("[ ]", "[]\n"), (" 12345678901234567890.10 ", "12345678901234567890.10\n"), (#""a\"}{""#, "\"a\\\"}{\"\n"),
    ("{\"a\":1}\n{\"a\":2}", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n"), ("", ""),
    (#"{"a":"b""#, "{\n  \"a\": \"b\"\n"), ("<html>", "<html>\n"), ("]]1", "\n]\n]\n1\n"),
  ])
  func jsonKeepsItsTokensInOrder(text: String, expected: String) {
    #expect(format(json(), text) == expected)
    #expect(format(json(), text, pieces: 1) == expected)
  }

  @Test func theLineOfAValueEndsWithItsLastByte() {
    var formatter = json()
    #expect(String(decoding: formatter.format(Data(#"{"a":[1]}"#.utf8)), as: UTF8.self).hasSuffix("  ]\n}\n"))
    #expect(formatter.finish().isEmpty)
  }

  private func checked() -> CheckedJSONFormatter { CheckedJSONFormatter(palette: .plain, isForTerminal: false) }

  @Test(arguments: [
    (#" {"b":[1, 2]} "#, "{\n  \"b\": [\n    1,\n    2\n  ]\n}\n"), ("1.50", "1.50\n"), (#""a}""#, "\"a}\"\n"),
    ("[ ]\n", "[]\n"), ("{\"a\":1}\n{\"a\":2}\r\n", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n"), ("", ""),
  ])
  func validJSONIsIndented(text: String, expected: String) {
    #expect(format(checked(), text) == expected)
    #expect(format(checked(), text, pieces: 1) == expected)
  }

  @Test(arguments: [
    "[1,]", "[1 true]", "[,1]", "[1]x", "[1]]", "[1][2]", "[[]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{'a':1}",
    "{\"a\":1}}",
    "{\"a\":1 \"b\":2}", "{\"a\"::1}", "[01]", "[1.]", "[.5]", "[+1]", "[0x1]", "[1e]", "[NaN]", "[True]", "[\"\\x\"]",
    "[\"\\u12\"]", "[\"a\tb\"]", "[\"a]", "[1}", "{]", "]", "}", "[1] // note", "[/**/1]", "\u{FEFF}[1]", "[\u{A0}1]",
    "[1]\u{B}", "true false", "{\"a\": tru", "<html>[1]</html>", "[\n1\n,\n]",
  ])
  func jsonThatIsNotValidIsLeftAsItIs(text: String) {
    #expect(format(checked(), text) == text)
    // Pieces hide what follows a complete value, which is then shown before the text is known to be invalid.
    let isShownEarly = (1..<text.utf8.count).contains { count in
      let beginning = text.utf8.prefix(count)
      return "]}".utf8.contains(beginning.last ?? 0) && JSONSyntax.fault(in: beginning) == nil
    }
    if !isShownEarly { #expect(format(checked(), text, pieces: 1) == text) }
  }

  @Test func jsonWithoutValidTextIsLeftAsItIs() {
    var formatter = checked()
    let bytes: [UInt8] = [0x5B, 0x22, 0xFF, 0x22, 0x2C, 0x31, 0x5D]
    #expect(formatter.format(Data(bytes)) + formatter.finish() == bytes)
  }

  @Test func eachOfSeveralValuesIsShownWhenItIsComplete() {
    var formatter = checked()
    let shown = ["{\"a\"", ":1}", "\n{\"a\":", "2}\n", "[1,]\n", "{\"a\":3}"].map {
      String(decoding: formatter.format(Data($0.utf8)), as: UTF8.self)
    }
    #expect(shown == ["", "{\n  \"a\": 1\n}\n", "", "{\n  \"a\": 2\n}\n", "\n[1,]\n", "{\"a\":3}"])
    #expect(formatter.finish().isEmpty)
  }

  @Test func jsonIsColoredByWhatItsTokensAre() {
    let colored = format(json(true), #"{"a":"b","c":[-1,true]}"#)
    #expect(
      colored == """
        {
          \u{1B}[34m"a"\u{1B}[0m: \u{1B}[32m"b"\u{1B}[0m,
          \u{1B}[34m"c"\u{1B}[0m: [
            \u{1B}[36m-1\u{1B}[0m,
            \u{1B}[35mtrue\u{1B}[0m
          ]
        }

        """)
  }

  /// Whatever arrives, only white space between tokens is added or removed.
  @Test func noByteOfDamagedJSONIsMissing() {
    var random = SeededGenerator(seed: 7)
    let valid = [Array(#"{"a": [1, 2.50, {"b": "x\"y"}], "c": null, "d": {}}"#.utf8), Array("[[],{}]".utf8)]
    for _ in 0..<2000 {
      let bytes = Mutation.mutated(valid[0], from: valid, using: &random)
      var formatter = json()
      let out = formatter.format(Data(bytes)) + formatter.finish()
      let isSpace: (UInt8) -> Bool = { [9, 10, 13, 32].contains($0) }
      #expect(out.filter { !isSpace($0) } == bytes.filter { !isSpace($0) })
    }
  }

  @Test func bodiesCannotSendControlCharactersToATerminal() {
    let hostile = "{\"a\":\"\u{1B}[31m\u{9B}2J\u{7}é\"}"
    let shown = format(json(terminal: true), hostile, pieces: 1)
    #expect(!shown.contains("\u{1B}") && !shown.contains("\u{9B}") && !shown.contains("\u{7}"))
    #expect(shown.contains("␛[31m") && shown.contains("é"))
    #expect(format(PlainTextFormatter(isForTerminal: true), "a\r\nb\rc\u{8}\td\n") == "a\nb␍c␈\td\n")
    #expect(format(PlainTextFormatter(isForTerminal: false), "\u{1B}[0m\r\n") == "\u{1B}[0m\r\n")
  }

  @Test(arguments: [
    (
      #"<?xml version="1.0"?><a x="1>2"><b>text</b><c/></a>"#,
      """
      <?xml version="1.0"?>
      <a x="1>2">
        <b>text</b>
        <c/>
      </a>

      """
    ),
    ("<a>\n  <b>\n <c></c>\n</b>\n</a>\n", "<a>\n  <b>\n    <c></c>\n  </b>\n</a>\n"),
    ("<p>mixed <i>in</i> line</p>", "<p>mixed <i>in</i> line</p>\n"),
    ("<a><!-- > --><![CDATA[<x>]]></a>", "<a>\n  <!-- > --><![CDATA[<x>]]></a>\n"),
    ("<a><b", "<a><b\n"), ("", ""),
  ])
  func xmlIsIndentedExceptAroundText(text: String, expected: String) {
    let formatter = XMLFormatter(isIndented: true, palette: .plain, isForTerminal: false)
    #expect(format(formatter, text) == expected)
    #expect(format(formatter, text, pieces: 1) == expected)
  }

  @Test(arguments: [
    "<a/>", "<?xml version='1.0' encoding='utf-8' ?><a/>", "\u{FEFF}<?xml version=\"1.0\"?>\n<a></a>\n",
    "<a b='1' c = \"<>\"/>".replacing("<>", with: "&lt;>"),
    "<a>x &amp; &#228;&#xE4; ]] </a>", "<!-- a - b --><a><!----></a><?p x?>", "<a:b xmlns:a=\"u\"><a:ä/></a:b >",
    "<!DOCTYPE a [<!ENTITY e \"]>\"><!-- ' -->]><a>&e;</a>", "<a><![CDATA[</b>&]]></a>",
  ])
  func wellFormedXMLIsIndented(text: String) {
    let formatter = XMLFormatter(isIndented: true, palette: .plain, isForTerminal: false)
    let checked = CheckedXMLFormatter(palette: .plain, isForTerminal: false)
    #expect(XMLSyntax.isWellFormed(Array(text.utf8)))
    #expect(format(checked, text) == format(formatter, text))
    #expect(format(checked, text, pieces: 1) == format(formatter, text))
  }

  @Test(arguments: [
    "", " ", "a", "<a>", "</a>", "<a><b></a></b>", "<a></A>", "<a/><b/>", "<a/>x", "x<a/>", "<a b=1/>", "<a b/>",
    "<a b='1' b='2'/>", "<a b='1'c='2'/>", "<a b='<'/>", "<a b='1/>", "<a b=\"1'/>", "<a>&nbsp;</a>", "<a>& b</a>",
    "<a>&lt</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#1114112;</a>", "<a>&#x;</a>", "<a>]]></a>",
    "<a><!-- -- --></a>",
    "<a><!-- </a>", "<a><![CDATA[x</a>", "<![CDATA[x]]><a/>", "<a><?p </a>", " <?xml version='1.0'?><a/>",
    "<a><?xml version='1.0'?></a>", "<?xml version=1.0?><a/>", "<?xml encoding='utf-8'?><a/>", "<?xml?><a/>", "<1/>",
    "<-a/>", "< a/>", "<a / >", "<a\u{0}/>", "<a>\u{1}</a>", "<a/><!DOCTYPE a>",
    "<!DOCTYPE a><!DOCTYPE a><a/>", "<!DOCTYPE a [<a/>", "<!doctype html><html></html>", "<p>one<br>two</p>",
    "<a>\n  <b>text</b>\n  <c>\n</a>",
  ])
  func otherXMLStaysAsItIs(text: String) {
    let checked = CheckedXMLFormatter(palette: .plain, isForTerminal: false)
    #expect(!XMLSyntax.isWellFormed(Array(text.utf8)))
    #expect(format(checked, text) == text)
    #expect(format(checked, text, pieces: 1) == text)
  }

  @Test func xmlThatIsNotUTF8IsNotWellFormed() {
    #expect(!XMLSyntax.isWellFormed(Array("<a>".utf8) + [0xE4] + Array("</a>".utf8)))
  }

  @Test func textChangesNoOrderOfCharactersOnATerminal() {
    let text = "a\u{202E}b\u{2066}c\u{9B}d–e\u{2069}é\r\u{202A}"
    let shown = "a\u{FFFD}b\u{FFFD}c\u{FFFD}d–e\u{FFFD}é␍\u{FFFD}"
    #expect(format(PlainTextFormatter(isForTerminal: true), text) == shown)
    #expect(format(PlainTextFormatter(isForTerminal: true), text, pieces: 1) == shown)
  }

  @Test func linesAreShownWhenTheyAreComplete() {
    var lines = LineFormatter.json(Palette(isColored: true), isForTerminal: false)
    #expect(lines.format(Data(#"{"a":"#.utf8)).isEmpty)
    #expect(
      String(decoding: lines.format(Data("1}\n{".utf8)), as: UTF8.self)
        == "{\u{1B}[34m\"a\"\u{1B}[0m:\u{1B}[36m1\u{1B}[0m}\n")
    #expect(String(decoding: lines.finish(), as: UTF8.self) == "{\n")

    var events = LineFormatter.events(.plain, isForTerminal: false)
    #expect(
      String(decoding: events.format(Data("event: a\r\ndata: {\"b\":1}\n\n: x".utf8)), as: UTF8.self)
        == "event: a\ndata: {\"b\":1}\n\n")
    #expect(String(decoding: events.finish(), as: UTF8.self) == ": x\n")
  }

  @Test(arguments: [[0xC2, 0x9B], [0xE2, 0x80, 0xAE]] as [[UInt8]])
  func thePiecesOfALongLineHideNoSequence(bytes: [UInt8]) {
    for formatter in [LineFormatter.json(.plain, isForTerminal: true), .events(.plain, isForTerminal: true)] {
      var formatter = formatter
      var piece = Data(repeating: UInt8(ascii: "x"), count: (1 << 20) + 1)
      piece += bytes.dropLast()
      let shown = formatter.format(piece) + formatter.format(Data(bytes.suffix(1))) + formatter.finish()
      #expect(String(decoding: shown.suffix(5), as: UTF8.self) == "x\u{FFFD}\n")
    }
  }

  @Test(arguments: ["utf-16", "utf-16le", "utf-16be"])
  func textInUTF16IsTextEvenIfItsLastCharacterIsIncomplete(charset: String) {
    let isBigEndian = charset == "utf-16be"
    let bytes = "Größe;1\n😀".utf16.flatMap { unit -> [UInt8] in
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
      return isBigEndian ? [high, low] : [low, high]
    }
    let type = MediaType("text/csv; charset=\(charset)")
    for cut in 0..<4 { #expect(BodyKind(type, beginning: Data(bytes.dropLast(cut))) == .text, "\(cut)") }
    #expect(BodyKind(type, beginning: Data([0x89, 0x50, 0, 0, 1, 0, 2, 0])) == .binary)
  }

  @Test(
    arguments: [
      ("application/json", "{}", .json), ("application/problem+json", "{}", .json), ("image/svg+xml", "<a/>", .xml),
      ("application/x-ndjson", "{}", .jsonLines), ("text/event-stream", "a", .eventStream), ("text/plain", "a", .text),
      ("text/plain", "\0\u{1}", .binary), ("application/octet-stream", "a", .text), ("image/png", "\u{1}\0", .binary),
      ("application/json", "\0", .binary), (nil, "text é", .text),
    ] as [(String?, String, BodyKind)])
  func theTypeAndTheFirstBytesSayWhatABodyIs(type: String?, text: String, kind: BodyKind) {
    #expect(BodyKind(type.flatMap { MediaType($0) }, beginning: Data(text.utf8)) == kind)
  }
}
