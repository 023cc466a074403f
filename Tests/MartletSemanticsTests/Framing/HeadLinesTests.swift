import MartletSemantics
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

  @Test func controlCharactersInAValueBecomeSpaces() {
    #expect(parse("HTTP/1.1 200 OK\r\nA: b\u{1}c\r\n").fields["A"] == "b c")
  }
}
