#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The pool from a caller's point of view: its limits, its numbers, and connections that are opened ahead of requests.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionPoolTests {
  private func text(_ transport: SocketTransport, _ request: HTTPRequest, in call: Call = Call()) async throws -> String
  {
    let response = try await transport.send(request, in: call)
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func failure(_ transport: SocketTransport, _ request: HTTPRequest) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await text(transport, request) }
    return HTTPError(wrapping: try #require(error))
  }

  private func transport(_ change: (inout ConnectionConfiguration) -> Void) -> SocketTransport {
    var configuration = ConnectionConfiguration()
    change(&configuration)
    return SocketTransport(configuration)
  }

  /// A transport that resolves every name when the gate is open.
  private func transport(
    resolvingAt gate: Gate, _ change: (inout ConnectionConfiguration) -> Void
  ) -> SocketTransport {
    var options = SocketTransport.Options()
    options.resolver = { _ in
      try await gate.wait()
      return ["127.0.0.1"]
    }
    options.resolverTimeout = .seconds(240)
    var configuration = ConnectionConfiguration()
    change(&configuration)
    return SocketTransport(configuration, options: options)
  }

  // MARK: - Idle connections

  /// Without the hint the second request would find the first one's connection.
  @Test(arguments: [(nil, true), ("timeout=60", true), ("timeout=0", false)] as [(String?, Bool)])
  func connectionIsNotUsedWhenItsServerIsAboutToCloseIt(_ hint: String?, isUsedAgain: Bool) async throws {
    let server = try LoopbackServer { _ in
      var reply = Reply.text("ok")
      if let hint { reply.fields["Keep-Alive"] = hint }
      return reply
    }
    let transport = transport { _ in }
    for _ in 1...2 { #expect(try await text(transport, HTTPRequest(.get, server.url("/"))) == "ok") }
    #expect((Set(server.requests.map(\.connection)).count == 1) == isUsedAgain)
  }

  /// PINGs are frames of HTTP/2. The request to the other server takes longer than many of their intervals.
  @Test func anIntervalOfPingsClosesNoIdleConnection() async throws {
    let (first, last) = (Gate(), Gate())
    let server = try LoopbackServer { request in .text("ok").held(by: request.path == "/last" ? last : first) }
    let silent = try LoopbackServer { _ in .text("ok").held(by: last) }
    let transport = transport { _ in }
    let origin = try #require(Origin(server.url))
    let calls = (0..<2).map { _ in Task { try await text(transport, HTTPRequest(.get, server.url)) } }
    _ = try await server.request(2)
    first.open()
    for call in calls { #expect(try await call.value == "ok") }
    try await until { await transport.statistics()[origin]?.idle == 2 }

    var request = HTTPRequest(.get, server.url("/last"))
    request.options.pingInterval = .milliseconds(1)
    let call = Task { [request] in try await text(transport, request) }
    _ = try await server.request(3)
    request = HTTPRequest(.get, silent.url)
    request.options.responseTimeout = .milliseconds(20)
    #expect(try await failure(transport, request).kind == .responseTimeout)

    #expect(await transport.statistics()[origin]?.idle == 1)
    last.open()
    #expect(try await call.value == "ok")
  }

  // MARK: - Waiting

  @Test func aRequestWaitsNoLongerForAConnectionThanItMay() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in request.path == "/held" ? .text("ok").held(by: gate) : .text("ok") }
    let transport = transport {
      $0.connectionLimitPerHost = 1
      $0.poolTimeout = .milliseconds(50)
    }
    let held = Task { try await text(transport, HTTPRequest(.get, server.url("/held"))) }
    _ = try await server.request(1)

    let error = try await failure(transport, HTTPRequest(.get, server.url("/next")))

    #expect(error.kind == .poolTimeout)
    #expect(error.phase == .queued)
    #expect(error.isTimeout && error.isUnsent)
    let host = "127.0.0.1:\(server.port)"
    #expect(error.message == "\(host): waited 50 ms for one of 1 connections to \(host)")
    gate.open()
    #expect(try await held.value == "ok")
    #expect(server.connectionCount == 1)
  }

  @Test func theLimitOfAllConnectionsIsNamed() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in .text("ok").held(by: gate) }
    let other = try LoopbackServer { _ in .text("ok") }
    let transport = transport {
      $0.connectionLimit = 1
      $0.poolTimeout = .milliseconds(50)
    }
    let held = Task { try await text(transport, HTTPRequest(.get, server.url)) }
    _ = try await server.request(1)
    let error = try await failure(transport, HTTPRequest(.get, other.url))
    #expect(error.message.hasSuffix("for one of 1 connections of the transport"))
    gate.open()
    #expect(try await held.value == "ok")
  }

  /// Its host is being looked up, for longer than it may wait for other requests.
  @Test func aRequestForWhichAConnectionIsOpenedIsNotInTheQueue() async throws {
    let gate = Gate()
    var options = SocketTransport.Options()
    options.resolver = { _ in
      try await gate.wait()
      return []
    }
    var configuration = ConnectionConfiguration()
    configuration.poolTimeout = .milliseconds(1)
    let transport = SocketTransport(configuration, options: options)
    var request = HTTPRequest(.get, url("http://a.example/"))
    request.options.responseTimeout = .milliseconds(100)

    let error = try await failure(transport, request)

    #expect(error.kind == .responseTimeout)
    #expect(error.phase == .resolving)
    gate.open()
  }

  @Test func theTimeInTheQueueIsMeasured() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in .text("ok").held(by: gate) }
    let transport = transport { $0.connectionLimitPerHost = 1 }
    let metrics = Mutex<[TransferMetrics]>([])
    let call = Call(
      listeners: [
        EventHandler { event, _ in if case .metrics(let one) = event { metrics.withLock { $0.append(one) } } }
      ])
    let first = Task { try await text(transport, HTTPRequest(.get, server.url), in: call) }
    _ = try await server.request(1)
    let second = Task { try await text(transport, HTTPRequest(.get, server.url), in: call) }
    try await until { await transport.statistics().values.first?.queued == 1 }
    gate.open()
    _ = try await (first.value, second.value)

    let all = metrics.withLock { $0 }.sorted { $0.queued < $1.queued }  // Either task may report first.
    #expect(all.first?.queued == .zero)
    #expect(all.first?.reusedConnection == false)
    let last = try #require(all.last)
    #expect(last.reusedConnection)
    #expect(last.queued > .zero && last.queued == last.requestStart)
  }

  @Test func idleConnectionsAreClosedThoughNoFurtherRequestComes() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let origin = try #require(Origin(server.url))
    let transport = transport { $0.idleLifetime = .seconds(1) }
    #expect(try await text(transport, HTTPRequest(.get, server.url)) == "ok")
    try await until { await transport.statistics()[origin] == PoolStatistics(opened: 1) }
  }

  // MARK: - Numbers

  @Test func statisticsCountConnectionsAndRequests() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in request.path == "/held" ? .text("ok").held(by: gate) : .text("ok") }
    let transport = transport { $0.connectionLimitPerHost = 2 }
    let origin = try #require(Origin(server.url))
    #expect(await transport.statistics().isEmpty)

    for _ in 0..<3 { _ = try await text(transport, HTTPRequest(.get, server.url)) }
    #expect(await transport.statistics() == [origin: PoolStatistics(idle: 1, opened: 1, reused: 2)])

    let tasks = (0..<3).map { _ in Task { try await text(transport, HTTPRequest(.get, server.url("/held"))) } }
    let busy = PoolStatistics(active: 2, queued: 1, opened: 2, reused: 3)
    try await until { await transport.statistics()[origin] == busy }
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(await transport.statistics() == [origin: PoolStatistics(idle: 2, opened: 2, reused: 4)])
  }

  @Test func connectionsToAProxyThatForwardsAreThoseOfTheProxy() async throws {
    let proxy = try LoopbackServer { _ in .text("ok") }
    let transport = transport { $0.proxy = .http("127.0.0.1", port: proxy.port) }
    for host in ["a", "b"] { _ = try await text(transport, HTTPRequest(.get, url("http://\(host).example/"))) }
    #expect(
      await transport.statistics() == [try #require(Origin(proxy.url)): PoolStatistics(idle: 1, opened: 1, reused: 1)])
  }

  // MARK: - Connections ahead of requests

  @Test func connectionsThatWereOpenedAheadAreUsed() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("ok").held(by: gate) }
    let origin = try #require(Origin(server.url))
    let transport = SocketTransport()

    try await transport.preconnect(to: server.url, requests: 3)

    #expect(await transport.statistics() == [origin: PoolStatistics(idle: 3, opened: 3)])
    let metrics = Mutex<[TransferMetrics]>([])
    let call = Call(
      listeners: [
        EventHandler { event, _ in if case .metrics(let one) = event { metrics.withLock { $0.append(one) } } }
      ])
    let tasks = (0..<3).map { _ in Task { try await text(transport, HTTPRequest(.get, server.url), in: call) } }
    _ = try await server.request(3)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(server.connectionCount == 3)
    // they were already open
    #expect(metrics.withLock { $0.map(\.reusedConnection) } == [true, true, true])
    // and are sufficient for these requests
    try await transport.preconnect(to: server.url, requests: 3)
    #expect(server.connectionCount == 3)
  }

  @Test func noMoreAreOpenedAheadThanTheLimitsAllow() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let origin = try #require(Origin(server.url))
    let limits: [(Int, (inout ConnectionConfiguration) -> Void)] = [
      (2, { $0.connectionLimitPerHost = 2 }), (2, { $0.connectionLimit = 2 }), (1, { $0.idleConnectionLimit = 1 }),
      (0, { $0.idleLifetime = .zero }),
    ]
    for (most, limit) in limits {
      let transport = transport(limit)
      try await transport.preconnect(to: server.url, requests: 5)
      #expect(await transport.statistics()[origin]?.idle ?? 0 == most)
    }
  }

  /// The name of the host is being looked up until both connections are counted.
  @Test func allThatTheLimitsAllowAreReadyBeforeTheCallReturns() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let gate = Gate()
    let transport = transport(resolvingAt: gate) { $0.connectionLimitPerHost = 2 }
    let address = url("http://a.example:\(server.port)/")
    let origin = try #require(Origin(address))
    let ahead = Task {
      try await transport.preconnect(to: address, requests: 5)
      return await transport.statistics()[origin]
    }
    try await until { await transport.statistics()[origin]?.opening == 2 }
    gate.open()
    #expect(try await ahead.value == PoolStatistics(idle: 2, opened: 2))
  }

  /// They take the room for one of the connections opened ahead, and leave it again.
  @Test func cancelledRequestsDoNotKeepACallForConnectionsAhead() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let gate = Gate()
    let transport = transport(resolvingAt: gate) { $0.connectionLimitPerHost = 3 }
    let address = url("http://a.example:\(server.port)/")
    let origin = try #require(Origin(address))
    let ahead = Task { try await transport.preconnect(to: address, requests: 2) }
    try await until { await transport.statistics()[origin]?.opening == 2 }
    let requests = (0..<3).map { _ in Task { try await text(transport, HTTPRequest(.get, address)) } }
    try await until { await transport.statistics()[origin] == PoolStatistics(queued: 3, opening: 3) }
    for request in requests { request.cancel() }
    try await until { await transport.statistics()[origin]?.queued == 0 }
    gate.open()
    try await ahead.value
    for request in requests { await #expect(throws: (any Error).self) { try await request.value } }
  }

  @Test(arguments: [-1, Int.min, Int.max])
  func anyNumberOfRequestsMayBeExpected(_ requests: Int) async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let transport = transport { $0.connectionLimitPerHost = 1 }
    for _ in 0..<2 { try await transport.preconnect(to: server.url, requests: requests) }
    let expected = requests > 0 ? PoolStatistics(idle: 1, opened: 1) : PoolStatistics()
    #expect(await transport.statistics()[try #require(Origin(server.url))] == expected)
  }

  @Test func aConnectionThatCannotBeOpenedAheadIsAnError() async throws {
    let address = url("http://127.0.0.1:\(try LocalPort.free())/")
    let error = await #expect(throws: HTTPError.self) { try await SocketTransport().preconnect(to: address) }
    #expect(error?.kind == .cannotConnect)
    let checking = transport { $0.tls.serverTrustCheck = { _, _ in } }
    let refused = await #expect(throws: HTTPError.self) { try await checking.preconnect(to: url("https://a.example/")) }
    #expect(refused?.kind == .invalidRequest)
  }

  @Test func oneConnectionIsOpenedAheadForManyRequestsOverHTTP2() async throws {
    let nginx = try Nginx.shared.get()
    let transport = transport { $0.tls.authorities = nginx.authority.certificate }
    let address = nginx.tls("/hello.txt")
    try await transport.preconnect(to: address, requests: 50)
    #expect(await transport.statistics()[try #require(Origin(address))] == PoolStatistics(idle: 1, opened: 1))
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await text(transport, HTTPRequest(.get, address)) } }
      for try await _ in group {}
    }
    #expect(await transport.statistics()[try #require(Origin(address))]?.opened == 1)
  }

  /// The tickets come when the handshake is complete, in records without data (RFC 8446 §4.6.1).
  @Test func ticketsDoNotEndAConnectionThatWasOpenedAhead() async throws {
    let server = try LoopbackServer.numberingConnections()
    let transport = transport {
      $0.tls.authorities = server.authority?.file
      $0.tls.minimumVersion = .v1_3
    }
    let origin = try #require(Origin(server.url))

    try await transport.preconnect(to: server.url)

    let context = try await transport.identity.context(for: origin).context
    let peer = try TLSPeer(host: origin.host, port: origin.port)
    let key = ResumableSessions.Key(peer: peer, protocols: ["h2", "http/1.1"])
    try await until { context.resumable.take(for: key, pins: context.verification) != nil }
    #expect(await transport.statistics()[origin] == PoolStatistics(idle: 1, opened: 1))
    #expect(try await text(transport, HTTPRequest(.get, server.url)) == "1")
    #expect(await transport.statistics()[origin]?.opened == 1)
  }
}
#endif
