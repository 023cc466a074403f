#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Requests that wait: for the check of their server, for a connection in use by another request, or for a proxy.
@Suite(.timeLimit(.minutes(5)))
struct WaitingRequestTests {
  private func text(_ transport: SocketTransport, _ request: HTTPRequest) async throws -> String {
    let response = try await transport.send(request, in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func texts(_ count: Int, _ transport: SocketTransport, _ request: HTTPRequest) async throws -> [String] {
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<count { group.addTask { try await text(transport, request) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// The first request ends while its task calls the check.
  @Test func aRequestThatEndsDuringTheCheckOfItsServerLeavesTheCheckToAnother() async throws {
    let server = try LoopbackServer.numberingConnections()
    let isCalled = Gate(), isOver = Gate()
    let count = Mutex(0)
    var configuration = ConnectionConfiguration.trusting(server)
    configuration.tls.serverTrustCheck = { _, _ in
      guard
        count.withLock({
          $0 += 1; return $0 == 1
        })
      else { return }
      isCalled.open()
      try await isOver.wait()
    }
    let transport = SocketTransport(configuration)
    let first = Task { try await text(transport, HTTPRequest(.get, server.url)) }
    try await isCalled.wait()
    first.cancel()

    #expect(try await text(transport, HTTPRequest(.get, server.url)).isEmpty == false)

    isOver.open()
    await #expect(throws: (any Error).self) { try await first.value }
    #expect(count.withLock { $0 } == 2)
  }

  /// The check continues until another request of the transport, with the same limit, is over: longer than the limit of
  /// the request that calls it.
  @Test func theTimeOfTheCheckIsNotTheServersSilence() async throws {
    let server = try LoopbackServer.numberingConnections()
    let silent = try LoopbackServer { _ in .text("never").stalled(after: 0) }
    let isCalled = Gate(), isOver = Gate()
    var configuration = ConnectionConfiguration.trusting(server)
    configuration.tls.serverTrustCheck = { _, _ in
      isCalled.open()
      try await isOver.wait()
    }
    let transport = SocketTransport(configuration)
    // long enough for the server's response after the check
    var request = HTTPRequest(.get, server.url), other = HTTPRequest(.get, silent.url)
    request.options.responseTimeout = .seconds(3)
    other.options.idleTimeout = .seconds(3)
    let checked = request
    async let first = text(transport, checked)
    try await isCalled.wait()
    let error = await #expect(throws: HTTPError.self) { try await text(transport, other) }
    #expect(error?.kind == .idleTimeout)
    isOver.open()
    #expect(try await first.isEmpty == false)
  }

  /// The server ends the connection while the check continues: the request goes over another one.
  @Test func aConnectionThatEndsDuringTheCheckDoesNotCostTheRequest() async throws {
    let server = try RecordServer(endsFirst: true)
    var configuration = ConnectionConfiguration.trusting(server.authority)
    let other = SocketTransport(configuration)
    configuration.tls.serverTrustCheck = { _, _ in
      // the server accepts it after it has ended the first connection
      _ = try await text(other, HTTPRequest(.get, server.url))
    }
    #expect(try await text(SocketTransport(configuration), HTTPRequest(.get, server.url)) == "3")
  }

  @Test func oneCheckDecidesForAllConnectionsToAServer() async throws {
    let server = try LoopbackServer.numberingConnections()
    let count = Mutex(0)
    var configuration = ConnectionConfiguration()
    configuration.versions = .http1
    configuration.tls.authorities = server.authority?.file
    configuration.tls.serverTrustCheck = { _, _ in count.withLock { $0 += 1 } }

    let texts = try await texts(8, SocketTransport(configuration), HTTPRequest(.get, server.url))

    #expect(texts.count == 8)
    #expect(count.withLock { $0 } == 1)
  }

  /// Each request that waits is refused by its own check.
  @Test func aRefusalByTheCheckIsThatOfItsRequestOnly() async throws {
    struct Refused: Error {}
    let server = try LoopbackServer.numberingConnections()
    let count = Mutex(0)
    var configuration = ConnectionConfiguration.trusting(server)
    configuration.tls.serverTrustCheck = { _, _ in
      if count.withLock({
        $0 += 1; return $0 <= 3
      }) {
        throw Refused()
      }
    }
    let transport = SocketTransport(configuration), request = HTTPRequest(.get, server.url)

    let results = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 { group.addTask { (try? await text(transport, request)) != nil } }
      return await group.reduce(into: []) { $0.append($1) }
    }

    #expect(results.count { $0 } == 5)
    #expect(count.withLock { $0 } == 4)
  }

  /// All chunks are ready when the connection is: more than are combined at a time.
  @Test(arguments: [Int64(200_000), nil])
  func aBodyThatWasReadBeforeTheConnectionIsThereIsSentWhole(length: Int64?) async throws {
    let gate = Gate(), isRead = Gate()
    let server = try LoopbackServer { request in
      request.path == "/held" ? .text("ok").held(by: gate) : .text("\(request.body.count)")
    }
    var configuration = ConnectionConfiguration()
    configuration.connectionLimitPerHost = 1
    let transport = SocketTransport(configuration)
    let held = Task { try await text(transport, HTTPRequest(.get, server.url("/held"))) }
    _ = try await server.request(1)
    let body = RequestBody.stream(length: length) {
      let count = Counter()
      return AsyncStream<Data> {
        if count.next() <= 20 { return Data(count: 10_000) }
        isRead.open()
        return nil
      }
    }

    let next = Task { try await text(transport, HTTPRequest(.put, server.url("/next"), body: body)) }
    try await isRead.wait()
    gate.open()

    #expect(try await held.value == "ok")
    #expect(try await next.value == "200000")
  }

  /// The stray response is in the same segment as the one before it. RFC 9112 §9.2: it answers no request.
  @Test func aStrayResponseIsNotThatOfTheNextRequest() async throws {
    let server = try RecordServer(stray: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    var configuration = ConnectionConfiguration()
    configuration.connectionLimitPerHost = 1
    configuration.tls.authorities = server.authority.certificate

    let texts = try await texts(6, SocketTransport(configuration), HTTPRequest(.get, server.url))

    #expect(texts.sorted() == (1...6).map(String.init))
  }

  /// The rest of the record could be anything, such as a response that the server sent before the next request.
  @Test func aConnectionWithTheBeginningOfARecordIsNotUsedAgain() async throws {
    let server = try RecordServer(opensRecord: true)
    let transport = SocketTransport(.trusting(server.authority))
    for number in 1...3 { #expect(try await text(transport, HTTPRequest(.get, server.url)) == "\(number)") }
  }

  /// A proxy that closes the connection after each challenge, which always has a new nonce.
  private static let challengingProxy = #"""
    import socket, sys
    listener, number = socket.create_server(("127.0.0.1", int(sys.argv[1]))), 0
    while True:
      connection = listener.accept()[0]
      received = b""
      while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part: break
        received += part
      if not received: continue
      number += 1
      connection.sendall(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm="r", qop="auth", nonce="%d"\r\n'
        b"X-Count: %d\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" % (number, number))
      connection.close()
    """#

  /// A proxy that refuses, and does not end its response.
  private static let silentProxy = #"""
    import socket, sys
    listener, connections = socket.create_server(("127.0.0.1", int(sys.argv[1]))), []
    while True:
      connection = listener.accept()[0]
      received = b""
      while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part: break
        received += part
      if received: connection.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nnot today")
      connections.append(connection)
    """#

  @Test func aRefusalWithoutAnEndIsReportedWhenTheTimeIsOver() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.silentProxy, "\(port)"], port: port)
    defer { withExtendedLifetime(process) {} }
    // on a busy machine the refusal may come late
    for limit in [Duration.milliseconds(200), .seconds(2), .seconds(20), .seconds(100)] {
      var configuration = ConnectionConfiguration()
      configuration.connectTimeout = limit
      configuration.proxy = .http("127.0.0.1", port: port)
      let transport = SocketTransport(configuration)
      let error = await #expect(throws: (any Error).self) {
        _ = try await text(transport, HTTPRequest(.get, url("https://a.example/")))
      }
      let failure = HTTPError(wrapping: try #require(error))
      if failure.kind == .connectTimeout, limit < .seconds(100) { continue }
      #expect(failure.kind == .proxyFailed)
      #expect(failure.response?.status == .forbidden)
      #expect(failure.body == Data("not today".utf8))
      return
    }
  }

  @Test func aProxyThatClosesAfterEachChallengeIsNotAnsweredForEver() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.challengingProxy, "\(port)"], port: port)
    defer { withExtendedLifetime(process) {} }
    var configuration = ConnectionConfiguration()
    configuration.connectTimeout = .seconds(60)
    configuration.proxy = .http("127.0.0.1", port: port).authenticated(user: "anna", password: "mistaken")
    let transport = SocketTransport(configuration)

    let error = await #expect(throws: (any Error).self) {
      _ = try await text(transport, HTTPRequest(.get, url("https://a.example/")))
    }

    let failure = HTTPError(wrapping: try #require(error))
    #expect(failure.kind == .proxyFailed)
    #expect(failure.message.contains("does not accept the user name and the password"))
    #expect((2...5).contains(Int(failure.response?.fields["X-Count"] ?? "") ?? 0))
  }
}
#endif
