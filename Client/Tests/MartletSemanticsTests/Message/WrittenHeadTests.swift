import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WrittenHeadTests {
  @Test(
    arguments: [
      ("GET /a?b=c HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET", "/a?b=c", HTTPVersion.http1_1, ["Host": "a.example"]),
      ("OPTIONS * HTTP/1.1\r\nHost: a\r\nX-A: b, c\r\n\r\n", "OPTIONS", "*", .http1_1, ["Host": "a", "X-A": "b, c"]),
      (
        "PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX-Empty:\r\n\r\n", "PUT", "http://a.example/", .http1_1,
        ["Host": "a.example", "X-Empty": ""]
      ),
      ("GET / HTTP/2\r\nHost: a\r\nx-a: b\r\n", "GET", "/", .http2, ["Host": "a", "x-a": "b"]),
    ] as [(String, HTTPMethod, String, HTTPVersion, HTTPFields)])
  func itIsReadFromItsLines(
    text: String, method: HTTPMethod, target: String, version: HTTPVersion, fields: HTTPFields
  ) {
    let head = WrittenHead(lines: Array(text.utf8))
    #expect(head.method == method && head.target == target && head.version == version)
    #expect(head.fields == fields)
  }

  @Test func itsDescriptionHasNoSecrets() {
    let head = WrittenHead(lines: Array("GET /a?key=secret HTTP/1.1\r\nCookie: sid=secret\r\n\r\n".utf8))
    #expect(head.description == "GET /a?… HTTP/1.1")
  }
}
