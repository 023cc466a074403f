import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// The session's cache above a transport.
  @Suite(.timeLimit(.minutes(5)))
  struct CacheTests {
    private func status(_ session: HTTPSession, _ url: URL, _ fields: HTTPFields = [:]) async throws -> String {
      let (data, _) = try await session.data(for: guarded(.get, url, fields: fields))
      return String(decoding: data, as: UTF8.self)
    }

    @Test(arguments: TestedTransport.real)
    func redirectWithAChunkedBodyIsStoredWhenItIsFollowed(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { request in
        let caching = "Cache-Control: max-age=60\r\n"
        guard request.path == "/old" else { return .raw("HTTP/1.1 200 OK\r\n\(caching)Content-Length: 5\r\n\r\nthere") }
        return .raw(
          "HTTP/1.1 301 Moved\r\nLocation: /new\r\n\(caching)Transfer-Encoding: chunked\r\n\r\n5\r\nmoved\r\n0\r\n\r\n")
      }
      let session = HTTPSession(transport: tested.makeTransport())

      for _ in 0..<2 { #expect(try await status(session, server.url("/old")) == "there") }

      #expect(server.requests.map(\.target) == ["/old", "/new"])
    }

    @Test(arguments: TestedTransport.real)
    func virtualHostsDoNotShareResponses(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { request in
        let host = request.fields[.host] ?? ""
        return .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(host.utf8.count)\r\n\r\n\(host)")
      }
      let session = HTTPSession(transport: tested.makeTransport())

      let texts = [
        try await status(session, server.url("/"), [.host: "a.example"]), try await status(session, server.url("/")),
        try await status(session, server.url("/"), [.host: "b.example"]),
      ]

      #expect(texts == ["a.example", "127.0.0.1:\(server.port)", "b.example"])
    }
  }
}
