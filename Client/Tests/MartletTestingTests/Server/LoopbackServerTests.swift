import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LoopbackServerTests {
  @Test func oneClosureIsAServer() async throws {
    let server = try LoopbackServer { request in .text("hello \(request.path)") }
    let client = try RawClient(port: server.port)

    try client.get("/there?x=1", "X-Tag: a", "X-Tag: b")

    let (head, body) = try client.response()
    #expect(head == "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 12\r\n\r\n")
    #expect(body == "hello /there")
    let request = try await server.request(1)
    #expect(request.method == .get)
    #expect(request.target == "/there?x=1")
    #expect(request.query == "x=1")
    #expect(request.fields[values: "X-Tag"] == ["a", "b"])
    #expect(request.connection == 1)
    #expect(server.url("/a?b").absoluteString == "http://127.0.0.1:\(server.port)/a?b")
  }

  @Test func aConnectionServesManyRequests() throws {
    let server = try LoopbackServer { .text($0.path) }
    let client = try RawClient(port: server.port)

    for number in 1...3 {
      try client.get("/\(number)")
      #expect(try client.response().body == "/\(number)")
    }

    #expect(server.connectionCount == 1)
    #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    let server = try LoopbackServer { .text($0.text + $0.path) }
    let client = try RawClient(port: server.port)

    try client.send(
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        + "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "2\r\nde\r\n1;x=y\r\nf\r\n0\r\nX-Sum: 1\r\n\r\n" + "\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n")

    #expect(try (1...3).map { _ in try client.response().body } == ["abc/1", "def/2", "/3"])
    #expect(server.requests[1].trailers["X-Sum"] == "1")
  }

  @Test func connectionsAreNumberedInOrder() throws {
    let server = try LoopbackServer { .text("\($0.connection)") }
    let first = try RawClient(port: server.port)
    try first.get("/")
    #expect(try first.response().body == "1")

    let second = try RawClient(port: server.port)
    try second.get("/")
    #expect(try second.response().body == "2")
    try first.get("/")
    #expect(try first.response().body == "1")
    #expect(server.connectionCount == 2)
  }

  @Test func headGetsTheHeadOnly() throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let client = try RawClient(port: server.port)

    try client.request("HEAD", "/")
    #expect(try client.head().contains("Content-Length: 5\r\n"))
    try client.get("/", "Connection: close")
    #expect(try client.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test(arguments: [
    (HTTPStatus.noContent, "HTTP/1.1 204 No Content\r\n\r\n"),
    (.notModified, "HTTP/1.1 304 Not Modified\r\n\r\n"),
    (.notFound, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    (299, "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n"),
  ])
  func everyStatusIsFramedByItsRules(status: HTTPStatus, head: String) throws {
    let server = try LoopbackServer { _ in .status(status) }
    let client = try RawClient(port: server.port)
    for _ in 1...2 {
      try client.get("/")
      #expect(try client.head() == head)
    }
  }

  @Test(arguments: ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n"])
  func aClientThatWantsTheConnectionClosedGetsThat(request: String) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let client = try RawClient(port: server.port)

    try client.send(request)

    let reply = try client.rest()
    #expect(reply.contains("Connection: close\r\n"))
    #expect(reply.hasSuffix("\r\n\r\nhello"))
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func aClientThatDisconnectsEndsItsConnection() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let client = try RawClient(port: server.port)
    try client.get("/")
    _ = try client.response()

    client.close()

    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test(arguments: [
    ("GET\r\n\r\n", "400"),
    ("GET / HTTP/2.0\r\n\r\n", "505"),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "400"),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n", "400"),
    ("GET / HTTP/1.1\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n", "400"),
    ("GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n", "400"),
    ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    ("GET /ä HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    ("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
  ])
  func invalidRequestsAreRefused(bytes: String, status: String) throws {
    let server = try LoopbackServer { _ in .text("never") }
    let client = try RawClient(port: server.port)

    try client.send(bytes)

    #expect(try client.head().hasPrefix("HTTP/1.1 \(status) "))
    #expect(server.requests.isEmpty)
  }

  @Test func aHeadThatIsTooLargeIsRefused() throws {
    let client = try ConnectedServer { _ in .text("never") }
    try client.send("GET /\(String(repeating: "x", count: 300 << 10)) HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try client.head().hasPrefix("HTTP/1.1 431 "))
  }

  @Test func anErrorOfTheResponderIsA500ThatDescribesIt() throws {
    struct Oops: Error {}
    let server = try LoopbackServer { _ in throw Oops() }
    let client = try RawClient(port: server.port)

    try client.get("/")

    let (head, body) = try client.response()
    #expect(head.hasPrefix("HTTP/1.1 500 Internal Server Error\r\n"))
    #expect(body.contains("Oops"))
  }

  @Test func proxiedTargetsKeepTheirPath() async throws {
    let server = try LoopbackServer { .text($0.path) }
    let client = try RawClient(port: server.port)

    try client.get("http://example.com/a/b?c")

    #expect(try client.response().body == "/a/b")
    #expect(server.requests[0].target == "http://example.com/a/b?c")
    #expect(server.requests[0].query == "c")
  }
}
