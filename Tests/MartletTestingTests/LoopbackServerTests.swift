import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LoopbackServerTests {
  @Test func oneClosureIsAServer() async throws {
    let server = try LoopbackServer { request in .text("hello \(request.path)") }
    let client = try RawClient(port: server.port)

    try client.get("/there?x=1", "X-Tag: a", "X-Tag: b")

    #expect(
      try client.response() == (
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 12\r\n\r\n", "hello /there"
      ))
    let request = try await server.request(1)
    #expect(request.method == .get)
    #expect(request.target == "/there?x=1")
    #expect(request.query == "x=1")
    #expect(request.fields[values: "X-Tag"] == ["a", "b"])
    #expect(request.connection == 1)
  }
}
