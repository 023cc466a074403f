@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ResponseHeadLinesTests {
  private func parse(_ text: String) -> ResponseHead { ResponseHead(lines: Array(text.utf8)) }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200, HTTPVersion.http1_1), ("HTTP/1.0 404 Not Found\r\n", 404, .http1_0),
    ("HTTP/2 301 \r\n", 301, .http2), ("HTTP/1.1 204\r\n", 204, .http1_1), ("HTTP/1.1 200 200 OK\n", 200, .http1_1),
    ("HTTP/1.2 200 OK\r\n", 200, .http1_1),
  ])
  func statusLinesAreRead(line: String, status: Int, version: HTTPVersion) {
    #expect(parse(line).status.code == status)
    #expect(parse(line).version == version)
  }

  /// RFC 9112 §4: the phrase may be empty, and contain tabs, spaces, visible characters and obs-text. RFC 9113 §8.3.2:
  /// HTTP/2 has none.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", "OK", "200 OK"), ("HTTP/1.1 200 Everything Fine\r\n", "Everything Fine", nil),
    ("HTTP/1.1 404 \r\n", "", "404"), ("HTTP/1.0 404\n", "", "404"), ("HTTP/1.1 404 Not Found\n", "Not Found", nil),
    ("HTTP/1.1 200 ok\r\n", "ok", nil), ("HTTP/1.1 200  OK \r\n", "OK", nil), ("HTTP/1.1 299 OK\r\n", "OK", nil),
    ("HTTP/1.1 299 \r\n", "", "299"), ("HTTP/1.1 404 \u{e8}\r\n", "è", nil),
    ("HTTP/1.1 200 a\tb\r\n", "a\tb", "200 a b"),
    ("HTTP/1.1 200 \u{202E}KO\r\n", "\u{202E}KO", "200 \u{FFFD}KO"), ("HTTP/2 404 \r\n", "Not Found", nil),
    ("HTTP/2 299 \r\n", "", "299"),
  ])
  func theReasonPhraseIsTheOneThatTheServerSent(line: String, reason: String, shown: String?) {
    let head = parse(line)
    #expect(head.reason == reason)
    #expect(head.statusText == shown ?? "\(head.status.code) \(reason)")
  }

  @Test func reasonPhrasesThatAreNotUTF8AreReadAsLatin1() {
    #expect(ResponseHead(lines: Array("HTTP/1.1 200 caf".utf8) + [0xE9, 13, 10]).reason == "café")
  }

  @Test func anotherStatusHasItsRegisteredPhrase() {
    var head = parse("HTTP/1.1 200 Everything Fine\r\n")
    head.status = 200
    #expect(head.reason == "Everything Fine")
    head.status = 304
    #expect(head.reason == "Not Modified")
    #expect(head == ResponseHead(status: 304, version: .http1_1))
  }

  @Test func fieldsKeepTheirOrderAndRepeats() {
    let fields = parse("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: y\r\nset-cookie:b=2\r\n").fields
    #expect(fields[values: .setCookie] == ["a=1", "b=2"])
    #expect(fields.map(\.name.rawName) == ["Set-Cookie", "X", "set-cookie"])
  }

  @Test(arguments: [
    ("A:  b c \t\r\n", "A", "b c"), ("A:\r\n", "A", ""), ("A: b\r\n  c\r\n\td\r\n", "A", "b c d"),
    ("A: b:c\n", "A", "b:c"),
    ("A: caf\u{e9}\r\n", "A", "café"),
  ])
  func valuesAreTrimmedAndUnfolded(line: String, name: FieldName, value: String) {
    #expect(parse("HTTP/1.1 200 OK\r\n" + line).fields[name] == value)
  }

  @Test func bytesThatAreNotUTF8AreReadAsLatin1() {
    let head = ResponseHead(lines: Array("HTTP/1.1 200 OK\r\nA: caf".utf8) + [0xE9] + Array("\r\n".utf8))
    #expect(head.fields["A"] == "café")
  }

  /// "^" stands for the byte E9.
  @Test(arguments: [
    ("Location: /caf^", "Location", "/caf%E9"), ("location: /caf^?a=^%20^#^", "Location", "/caf%E9?a=%E9%20%E9#%E9"),
    ("Content-Location: /caf^", "Content-Location", "/caf%E9"), ("Location: /a\r\n ^", "Location", "/a %E9"),
    ("Link: <caf^>; title=^, <^>", "Link", "<caf%E9>; title=é, <%E9>"), ("X-Location: /^", "X-Location", "/é"),
    ("Location: /\u{e9}", "Location", "/é"), ("Location: /\u{e9}^", "Location", "/%C3%A9%E9"),
  ])
  func bytesOfURLsThatAreNotUTF8BecomeEscapes(line: String, name: FieldName, value: String) {
    let lines = "HTTP/1.1 302 Found\r\n\(line)\r\n".utf8.map { $0 == UInt8(ascii: "^") ? 0xE9 : $0 }
    #expect(ResponseHead(lines: lines).fields[name] == value)
  }

  @Test func controlCharactersInAValueBecomeSpaces() {
    #expect(parse("HTTP/1.1 200 OK\r\nA: b\u{1}c\r\n").fields["A"] == "b c")
  }

  /// Common names are made once, and must not be confused with others.
  @Test(arguments: [
    "Content-Type", "content-type", "CONTENT-TYPE", "Content-Typf", "ETag", "Etag", "Date", "date", "X-Other", "a",
    "Age",
    "Server", "Serves", "set-cookie", "WWW-Authenticate",
  ])
  func namesKeepTheirSpelling(_ name: String) throws {
    let fields = parse("HTTP/1.1 200 OK\r\n\(name): b\r\n").fields
    #expect(fields.map(\.name.rawName) == [name])
    #expect(fields.map(\.name.canonicalName) == [name.lowercased()])
    #expect(try fields[FieldName(name)] == "b")
  }

  /// Values are examined eight bytes at a time.
  @Test func everyByteAtEveryPlaceIsRead() throws {
    for length in [1, 7, 8, 9, 17] {
      for place in 0..<length {
        for byte in UInt8(1)...255 where byte != 10 && byte != 13 {
          var value = [UInt8](repeating: UInt8(ascii: "a"), count: length)
          value[place] = byte
          let head = ResponseHead(lines: Array("HTTP/1.1 200 OK\r\nA: ".utf8) + value + [13, 10])
          let text = String(
            String.UnicodeScalarView(value.map { Unicode.Scalar($0 < 32 && $0 != 9 || $0 == 127 ? 32 : $0) }))
          if head.fields["A"] != String(ASCII.trimmed(text)) { Issue.record("\(byte) at \(place) of \(length)") }
        }
      }
    }
  }

  @Test func foldedCookiesKeepTheirBytes() {
    let bytes = Array("HTTP/1.1 200 OK\r\nSet-Cookie: a=".utf8) + [0xE9] + Array("\r\n b\r\nA: c\r\n".utf8)
    let fields = ResponseHead(lines: bytes).fields
    #expect(fields[.setCookie] == FieldOctets.text(Array("a=".utf8) + [0xE9]) + " b")
    #expect(fields["A"] == "c")
  }
}
