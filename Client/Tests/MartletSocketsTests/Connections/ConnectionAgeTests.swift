#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Connections that have reached ``ConnectionConfiguration/connectionLifetime``, or that the program gives up.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionAgeTests {
  private func session(
    _ configuration: ConnectionConfiguration = .init(), options: SocketTransport.Options = .init(),
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> (HTTPSession, SocketTransport) {
    var configuration = configuration
    change(&configuration)
    let transport = SocketTransport(configuration, options: options)
    return (HTTPSession(transport: transport), transport)
  }

  /// The notes of a session's calls.
  private final class Notes: EventListener {
    let texts = Mutex<[String]>([])
    let events: Event.Kinds = .note

    func receive(_ event: Event, in call: Call) {
      if case .note(let text) = event { texts.withLock { $0.append(text) } }
    }
  }

  @Test func anOldConnectionIsReplacedAndItsNameLookedUpAgain() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let lookUps = Mutex(0)
    var options = SocketTransport.Options()
    options.resolver = { _ in
      lookUps.withLock { $0 += 1 }
      return ["127.0.0.1"]
    }
    let (session, _) = session(options: options) { $0.connectionLifetime = .milliseconds(20) }
    let notes = Notes()
    var request = HTTPRequest(.get, try #require(URL(string: "http://moved.example:\(server.port)/")))
    request.options.listeners = [notes]

    try await until { [request] in
      _ = try await session.data(for: request)
      return server.connectionCount == 3
    }

    #expect(lookUps.withLock { $0 } == 3)
    #expect(
      notes.texts.withLock { $0 }
        == Array(
          repeating: "a new connection: the one before it has reached connection.connectionLifetime (20 ms)", count: 2))
  }

  @Test func withoutALifetimeAConnectionIsKept() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let (session, _) = session()
    for _ in 0..<100 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(server.connectionCount == 1)
  }

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .automatic])
  func aResponseInProgressIsNotCut(_ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    let (session, transport) = session(nginx.connection(versions)) {
      $0.connectionLifetime = .milliseconds(10)
      $0.readAhead = 65_536
    }
    let origin = try #require(Origin(nginx.tls("/")))
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, nginx.tls("/zeros.bin")))

    // another connection is opened beside the one whose response is not read
    try await until {
      _ = try await session.data(for: HTTPRequest(.get, nginx.tls("/hello.txt")))
      return await transport.statistics()[origin]?.opened ?? 0 > 2
    }

    #expect(try await body.collect(upTo: 1 << 20).count == 1_000_000)
    try await until { await transport.statistics()[origin].map { $0.active + $0.idle } == 0 }
  }

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .automatic])
  func drainedConnectionsFinishTheirRequestsAndGetNoOthers(_ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    let (session, transport) = session(nginx.connection(versions)) { $0.readAhead = 65_536 }
    let origin = try #require(Origin(nginx.tls("/")))
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, nginx.tls("/zeros.bin")))
    let notes = Notes()
    var request = HTTPRequest(.get, nginx.tls("/hello.txt"))
    request.options.listeners = [notes]

    await session.drainConnections()
    _ = try await session.data(for: request)

    #expect(await transport.statistics()[origin] == PoolStatistics(active: 1, idle: 1, opened: 2))
    #expect(notes.texts.withLock { $0 } == ["a new connection: the program has drained the ones before it"])
    #expect(try await body.collect(upTo: 1 << 20).count == 1_000_000)
    try await until { await transport.statistics()[origin]?.active == 0 }
    #expect(await transport.statistics()[origin]?.idle == 1)
  }

  /// The connection is as old when it goes directly to a request that waits as when it has been idle (corefx 29397).
  @Test func anOldConnectionIsReplacedForARequestThatWaitsForIt() async throws {
    let server = try LoopbackServer { .text("\($0.connection)") }
    let (session, _) = session {
      $0.connectionLifetime = .zero
      $0.connectionLimitPerHost = 1
    }
    let connections = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await session.text(for: HTTPRequest(.get, server.url)).0 } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(connections.sorted() == (1...20).map { "\($0)" }.sorted())
  }

  /// Over HTTP/2, too: Go 13975 and 14607.
  @Test(arguments: [false, true]) func idleConnectionsAreClosedOnRequest(overHTTP2: Bool) async throws {
    let (gate, authority) = (Gate(), try LoopbackAuthority())
    let respond: LoopbackServer.Responder = { $0.path == "/held" ? .text("ok").held(by: gate) : .text("ok") }
    let servers = try (0..<2).map { _ in
      overHTTP2
        ? try LoopbackServer(tls: .selfSigned(by: authority), respond: respond) : try LoopbackServer(respond: respond)
    }
    let (session, transport) = session { $0.tls.authorities = authority.file }
    let held = Task { try await session.data(for: HTTPRequest(.get, servers[0].url("/held"))).0 }
    _ = try await servers[0].request(1)
    _ = try await session.data(for: HTTPRequest(.get, servers[1].url))
    let origins = try servers.map { try #require(Origin($0.url)) }
    #expect(await transport.statistics()[origins[1]]?.idle == 1)

    await session.closeIdleConnections()

    #expect(await transport.statistics()[origins[1]]?.idle == 0)
    #expect(await transport.statistics()[origins[0]] == PoolStatistics(active: 1, opened: 1))
    #expect(try await servers[1].end(ofConnection: 1) == .client)
    gate.open()
    #expect(try await held.value == Data("ok".utf8))
  }

  /// Wrappers pass it on; a closed session has no transport any more.
  @Test func transportsAroundTheNetworksPassItOn() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let origin = try #require(Origin(server.url))
    let transport = SocketTransport()
    let closable = ClosableSession(transport: RecordingTransport(around: DecodingTransport(transport)))
    _ = try await closable.session.data(for: HTTPRequest(.get, server.url))
    #expect(await transport.statistics()[origin]?.idle == 1)

    await closable.session.closeIdleConnections()

    #expect(await transport.statistics()[origin]?.idle == 0)
    await closable.close(within: .zero)
    await closable.session.drainConnections()
  }
}
#endif
