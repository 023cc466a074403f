import CallDoubles
@_spi(Toolkit) import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

/// The number of requests to an origin in a period, and servers' statements about that.
@Suite(.timeLimit(.minutes(5)))
struct RateLimitTests {
  private let log = EventLog()
  private let clock = ManualClock()

  private func session(
    _ limit: RateLimit, _ transport: any Transport, change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.limits.rate = limit
    configuration.listeners = [log]
    configuration.cache = nil
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func failure(_ session: HTTPSession, _ request: HTTPRequest = HTTPRequest(.get, origin)) async -> HTTPError? {
    await #expect(throws: HTTPError.self) { try await session.data(for: request) }
  }

  @Test func aRequestAboveTheRateWaitsForItsTime() async throws {
    let session = session(RateLimit(2, per: .seconds(1)), TestTransport { _ in .text("ok") })
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, origin)) }
    let third = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await clock.sleepers(1)
    #expect(log.lines.contains("limit: http://a.example: waits 500 ms because of the rate limit"))
    clock.advance(by: .milliseconds(500))
    #expect(try await third.value.1.status == .ok)
  }

  @Test func aWaitThatIsTooLongIsAnErrorAtOnce() async throws {
    var limit = RateLimit(1, per: .seconds(10))
    limit.waitLimit = .seconds(3)
    let transport = ScriptedTransport(.text("ok"))
    let session = session(limit, transport)
    _ = try await session.data(for: HTTPRequest(.get, origin))
    let error = await failure(session)
    #expect(error?.kind == .rateLimited && error?.isUnsent == true)
    #expect(
      error?.message.hasPrefix(
        "http://a.example: the rate limit allows the next request in 10 s, and a request may wait at most 3 s")
        == true)
    #expect(transport.requests.count == 1)
  }

  @Test func whatWouldWaitBeyondItsDeadlineIsNotBegun() async throws {
    let session = session(RateLimit(1, per: .seconds(10)), ScriptedTransport(.text("ok")))
    _ = try await session.data(for: HTTPRequest(.get, origin))
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(9)
    #expect(await failure(session, request)?.kind == .rateLimited)
  }

  @Test func aCancelledRequestStopsWaiting() async throws {
    let session = session(RateLimit(1, per: .seconds(5)), TestTransport { _ in .text("ok") })
    _ = try await session.data(for: HTTPRequest(.get, origin))
    let waiting = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await clock.sleepers(1)
    waiting.cancel()
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.isCancelled == true)
  }

  /// Reports the places that it gets back.
  private struct ObservedStore: RateLimitStore {
    let base: MemoryRateLimitStore
    let returned = Awaitable(0)

    func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
      defer { if case .giveBack = change { returned.update { $0 += 1 } } }
      return try await base.apply(change, to: name)
    }
  }

  /// A search while the user types: each request replaces the previous one.
  @Test(arguments: [false, true]) func requestsThatReplaceOneAnotherWaitAsLongAsOne(isShared: Bool) async throws {
    var limit = RateLimit(1, per: .seconds(1))
    let store = ObservedStore(base: MemoryRateLimitStore(clock: clock))
    if isShared { limit.store = store }
    let session = session(limit, TestTransport { _ in .text("ok") })
    _ = try await session.data(for: HTTPRequest(.get, origin))
    var last = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(1)
    for round in 1...30 {
      let next = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
      try await clock.sleepers(2)
      last.cancel()
      _ = await last.result
      // a shared store gets places back a moment later
      if isShared { _ = try await store.returned.wait { $0 >= round ? true : nil } }
      last = next
    }
    clock.advance(by: .seconds(isShared ? 10 : 1))
    #expect(try await last.value == .ok)
  }

  @Test func oneThatGivesUpLeavesItsPlaceToTheNext() async throws {
    let session = session(RateLimit(1, per: .seconds(1)), TestTransport { _ in .text("ok") })
    _ = try await session.data(for: HTTPRequest(.get, origin))
    let first = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(1)
    let second = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(2)
    first.cancel()
    _ = await first.result
    clock.advance(by: .seconds(1))
    #expect(try await second.value == .ok)
    // the last place belongs to the next one again
    let third = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(try await third.value == .ok)
  }

  /// The limit of concurrent requests, after it, refuses the second one.
  @Test func aRequestThatAnotherLimitRefusesTakesNoPlace() async throws {
    let gate = Gate(), sent = Log<String>()
    let transport = TestTransport { request in
      sent.append(request.url.path())
      try await gate.wait()
      return .text("ok")
    }
    let session = session(RateLimit(1, per: .seconds(60), burst: 2), transport) {
      $0.limits.concurrency = ConcurrencyLimit(1, queue: 0)
    }
    let first = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await until { !sent.entries.isEmpty }
    for _ in 0..<5 { #expect(await failure(session)?.kind == .concurrencyLimit) }
    gate.open()
    #expect(try await first.value == .ok)
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
    #expect(await failure(session)?.kind == .rateLimited)
  }

  @Test func thePlaceOfARequestThatIsCancelledWhileTheStoreDecidesIsGivenBack() async throws {
    let store = SlowStore(MemoryRateLimitStore(clock: clock))
    var limit = RateLimit(1, per: .seconds(60))
    limit.store = store
    let session = session(limit, TestTransport { _ in .text("ok") })
    let first = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await store.asked.wait()
    first.cancel()
    _ = await first.result
    store.gate.open()
    try await store.gaveBack.wait()
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
  }

  /// A store that answers when a gate opens.
  private struct SlowStore: RateLimitStore {
    let base: MemoryRateLimitStore
    let asked = Gate(), gate = Gate(), gaveBack = Gate()

    init(_ base: MemoryRateLimitStore) { self.base = base }

    func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
      asked.open()
      try await gate.wait()
      defer { if case .giveBack = change { gaveBack.open() } }
      return try await base.apply(change, to: name)
    }
  }

  /// A store that notes a pause when a gate opens.
  private struct SlowPauses: RateLimitStore {
    let base: MemoryRateLimitStore
    let gate = Gate(), noted = Gate()

    func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
      guard case .pause = change else { return try await base.apply(change, to: name) }
      try await gate.wait()
      defer { noted.open() }
      return try await base.apply(change, to: name)
    }
  }

  @Test func aResponseDoesNotWaitForTheStoreThatNotesItsPause() async throws {
    let store = SlowPauses(base: MemoryRateLimitStore(clock: clock))
    var limit = RateLimit.ofServers
    limit.store = store
    let busy = MockResponse(status: .tooManyRequests, fields: ["Retry-After": "30"], content: Data("later".utf8))
    let session = session(limit, ScriptedTransport(busy))
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(5)

    let (data, response) = try await session.data(for: request)
    #expect(response.status == .tooManyRequests)
    #expect(data == Data("later".utf8))

    store.gate.open()
    try await store.noted.wait()
    #expect(await failure(session)?.kind == .rateLimited)
  }

  @Test(arguments: [(1, Int.max), (1_000_000_000_000_000_000, nil), (.max, .max), (.min, .min)])
  func extremeValuesDoNotTrap(requests: Int, burst: Int?) async throws {
    var limit = RateLimit(requests, per: .seconds(Int64.max), burst: burst)
    (limit.waitLimit, limit.pauseLimit) = (.seconds(Int64.max), .seconds(Int64.max))
    let session = session(limit, TestTransport { _ in .text("ok") })
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
    if burst == .max { #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok) }
  }

  @Test(arguments: [
    (HTTPStatus.tooManyRequests, ["Retry-After": "30"] as HTTPFields),
    (.ok, ["RateLimit": "\"default\";r=0;t=30"] as HTTPFields),
    (.ok, ["RateLimit-Remaining": "0", "RateLimit-Reset": "30"] as HTTPFields),
    (.forbidden, ["Retry-After": "30"] as HTTPFields), (.tooManyRequests, ["Retry-After": "29.2"] as HTTPFields),
    // as GitHub sends it
    (
      .forbidden,
      [
        "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000030", "Date": "Sun, 09 Sep 2001 01:46:40 GMT",
      ] as HTTPFields
    ),
  ])
  func whatAServerSaysHoldsForTheNextRequests(status: HTTPStatus, fields: HTTPFields) async throws {
    let transport = ScriptedTransport(MockResponse(status: status, fields: fields), .text("ok"), .text("ok"))
    let session = session(.ofServers, transport)
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == status)
    #expect(log.lines.contains("limit: http://a.example: the server wants no requests for 30 s"))
    #expect(await failure(session)?.kind == .rateLimited)
    _ = try await session.data(for: HTTPRequest(.get, url("http://b.example/")))  // another origin
    clock.advance(by: .seconds(25))
    let late = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    #expect(try await late.value.1.status == .ok)
  }

  @Test func aRetryAfterDateIsMeasuredByTheSessionsTime() async throws {
    let now = Date(timeIntervalSince1970: 1_000_000_000)
    let later = HTTPDate.format(now.addingTimeInterval(30))
    let busy = MockResponse(status: .tooManyRequests, fields: ["Retry-After": later])
    let session = session(.ofServers, ScriptedTransport(busy)) { $0.now = { now } }
    _ = try await session.data(for: HTTPRequest(.get, origin))
    #expect(log.lines.contains("limit: http://a.example: the server wants no requests for 30 s"))
  }

  @Test func aPauseIsLimitedAndNeedNotBeObeyed() async throws {
    let busy = MockResponse(status: .tooManyRequests, fields: ["Retry-After": "999999"])
    let first = session(.ofServers, ScriptedTransport(busy))
    _ = try await first.data(for: HTTPRequest(.get, origin))
    #expect(await failure(first)?.message.contains("in 3600 s") == true)
    var limit = RateLimit.ofServers
    limit.obeysServers = false
    let second = session(limit, ScriptedTransport(busy, .text("ok")))
    _ = try await second.data(for: HTTPRequest(.get, origin))
    #expect(try await second.data(for: HTTPRequest(.get, origin)).1.status == .ok)
  }

  @Test func sessionsWithTheSameStoreShareTheirLimit() async throws {
    var limit = RateLimit(1, per: .seconds(60))
    limit.store = MemoryRateLimitStore(clock: clock)
    let first = session(limit, ScriptedTransport(.text("ok"))), second = session(limit, ScriptedTransport())
    _ = try await first.data(for: HTTPRequest(.get, origin))
    #expect(await failure(second)?.kind == .rateLimited)
  }

  @Test func aStoreThatFailsIsReplacedByTheSessionsMemory() async throws {
    struct Broken: RateLimitStore {
      func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
        throw HTTPError(.cannotConnect, "no answer")
      }
    }
    var limit = RateLimit(1, per: .seconds(60))
    limit.store = Broken()
    let session = session(limit, ScriptedTransport(.text("ok")))
    _ = try await session.data(for: HTTPRequest(.get, origin))
    #expect(
      log.lines.contains(
        "note: http://a.example: the store of the rate limit failed, and this process limits alone: no answer"))
    #expect(await failure(session)?.kind == .rateLimited)
  }

  @Test func aResponseFromTheCacheIsNotLimited() async throws {
    let stored = MockResponse(status: .ok, fields: ["Cache-Control": "max-age=1000"], content: Data("ok".utf8))
    let session = session(RateLimit(1, per: .seconds(60)), ScriptedTransport(stored)) { $0.cache = HTTPCache() }
    for _ in 0..<5 { #expect(try await session.data(for: HTTPRequest(.get, origin)).0 == Data("ok".utf8)) }
  }
}
