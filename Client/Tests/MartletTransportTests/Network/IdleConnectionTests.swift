import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Bytes on an idle connection are not a response (RFC 9112 §9.2).
@Suite(.timeLimit(.minutes(5)))
struct IdleConnectionTests {
  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// Returns a server that sends more bytes after the first response once the gate is open, and answers later requests.
  private func server(_ unasked: String, after gate: Gate) throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.path == "/first" else { return .text("reply to \(request.method) \(request.path)") }
      var reply = Reply.raw(Self.answer + unasked).stalled(after: Int64(Self.answer.utf8.count), until: gate)
      reply.ending = .keepAlive
      return reply
    }
  }

  @Test(arguments: [
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 4\r\n\r\nevil", "x",
  ])
  func unexpectedBytesEndTheConnection(_ unasked: String) async throws {
    let gate = Gate()
    let server = try server(unasked, after: gate)
    let session = HTTPSession(transport: SocketTransport())
    #expect(try await session.data(for: HTTPRequest(.get, server.url("/first"))).0 == Data("ok".utf8))

    gate.open()

    #expect(try await server.end(ofConnection: 1) == .client)
    let request = HTTPRequest(.post, server.url("/order"), body: .data(Data("order".utf8)))
    let (data, _) = try await session.data(for: request)
    #expect(data == Data("reply to POST /order".utf8))
    #expect(server.requests.map(\.connection) == [1, 2])
  }

  /// The bytes are noticed either by the loop before the next request, or when that request is about to be sent.
  @Test func unexpectedBytesAreNotAResponse() async throws {
    for _ in 0..<50 {
      let gate = Gate()
      let server = try LoopbackServer { request in
        guard request.path == "/first" else { return .text("reply to \(request.path)") }
        return .raw(Self.answer + "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 4\r\n\r\nevil")
          .stalled(after: Int64(Self.answer.utf8.count), until: gate)
      }
      let session = HTTPSession(transport: SocketTransport())
      _ = try await session.data(for: HTTPRequest(.get, server.url("/first")))
      gate.open()
      try await server.end(ofConnection: 1)

      for path in ["/next", "/last"] {
        let (data, _) = try await session.data(for: HTTPRequest(.get, server.url(path)))
        #expect(String(decoding: data, as: UTF8.self) == "reply to \(path)")
      }
      #expect(server.requests.count == 3)
    }
  }

  /// The bytes are read together with the end of the response.
  @Test(arguments: [
    "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200", "HTTP/1.1 304 Not Modified\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200",
  ])
  func bytesAfterAResponseEndTheConnection(_ message: String) async throws {
    let server = try LoopbackServer { request in
      var reply = request.path == "/first" ? Reply.raw(message) : .text("next")
      reply.ending = .keepAlive
      return reply
    }
    let session = HTTPSession.uncached()
    _ = try await session.data(for: HTTPRequest(.get, server.url("/first")))

    #expect(try await session.data(for: HTTPRequest(.get, server.url("/next"))).0 == Data("next".utf8))
    #expect(server.requests.map(\.connection) == [1, 2])
  }

  /// The body is longer than the transport's reads, and another request waits for the connection.
  @Test func bytesAfterALargeBodyAreNotTheResponseOfARequestThatWaits() async throws {
    let large = String(repeating: "a", count: 200_000)
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    var connection = ConnectionConfiguration()
    connection.connectionLimitPerHost = 1
    for count in [100_000, 131_072, 200_000] {
      let gate = Gate()
      let server = try LoopbackServer { request in
        guard request.path == "/first" else { return .text("next") }
        var reply = Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n\(large.prefix(count))\(forged)")
          .held(by: gate)
        reply.ending = .keepAlive
        return reply
      }
      let session = HTTPSession.uncached(connection)
      async let first = session.data(for: HTTPRequest(.get, server.url("/first"))).0.count
      _ = try await server.request(1)
      async let next = session.data(for: HTTPRequest(.get, server.url("/next"))).0
      gate.open()
      #expect(try await first == count)
      #expect(try await next == Data("next".utf8))
      #expect(server.requests.map(\.connection) == [1, 2])
    }
  }

  /// One record has the end of a response and more bytes, so that the rest stays in the buffer of the TLS library.
  @Test(arguments: [true, false])
  func unexpectedBytesOverTLSAreNotAResponse(_ sendsMore: Bool) async throws {
    let more = sendsMore ? "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" : ""
    var tls = LoopbackTLS.selfSigned
    tls.protocols = [.http1_1]
    let server = try LoopbackServer(tls: tls) { request in
      var reply = Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(request.connection)\(more)")
      reply.ending = .keepAlive
      return reply
    }
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority?.file
    let session = HTTPSession.uncached(connection)

    var answers: [String] = []
    for _ in 0..<3 {
      answers.append(String(decoding: try await session.data(for: HTTPRequest(.get, server.url)).0, as: UTF8.self))
    }

    // the number of the connection, which shows whether one was reused
    #expect(answers == (sendsMore ? ["1", "2", "3"] : ["1", "1", "1"]))
  }

  @Test func anIdleConnectionEndedByTheServerIsClosed() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      var reply = Reply.raw(Self.answer).stalled(after: Int64(Self.answer.utf8.count), until: gate)
      reply.ending = request.connection == 1 ? .closeSilently : .keepAlive
      return reply
    }
    let session = HTTPSession.uncached()
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    gate.open()
    try await server.end(ofConnection: 1)
    try await until { openConnections(to: server.port).isEmpty }

    let request = HTTPRequest(.post, server.url, body: .data(Data("order".utf8)))
    #expect(try await session.data(for: request).0 == Data("ok".utf8))
    #expect(server.requests.map(\.connection) == [1, 2])
  }

  /// The first attempt is over a pooled connection, the second over a new one.
  @Test(arguments: [HTTPMethod.get, .put], [Reply.hangUp, .reset])
  func aPoolOfStaleConnectionsCausesOneResend(_ method: HTTPMethod, _ end: Reply) async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      if request.path == "/fill" { return .text("filled").held(by: gate) }
      return request.connection <= 6 ? end : .text("reply")
    }
    let session = HTTPSession.uncached()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<6 { group.addTask { _ = try await session.data(for: HTTPRequest(.get, server.url("/fill"))) } }
      _ = try await server.request(6)
      gate.open()
      try await group.waitForAll()
    }
    let body: RequestBody = method == .put ? .data(Data("content".utf8)) : .empty

    #expect(try await session.data(for: HTTPRequest(method, server.url("/"), body: body)).0 == Data("reply".utf8))

    #expect(server.requests.count { $0.path == "/" } == 2)
  }
}
