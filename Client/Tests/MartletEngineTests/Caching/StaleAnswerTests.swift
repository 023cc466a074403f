import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Stale responses: RFC 5861, and requests without a network.
@Suite(.timeLimit(.minutes(5)))
struct StaleAnswerTests {
  @Test func aStaleResponseIsUsedWhileItIsValidatedOnce() async throws {
    let gate = Gate()
    let store = AwaitableCacheStore()
    let fixture = CacheFixture(store: store) { request in
      guard request.fields.contains(.ifNoneMatch) else {
        return .cacheable("one", "max-age=5, stale-while-revalidate=60", [.eTag: "\"a\""])
      }
      try await gate.wait()
      return .cacheable("two", "max-age=60", [.eTag: "\"b\""])
    }
    _ = try await fixture.get()
    fixture.wall.advance(10)

    let answers = [try await fixture.get(), try await fixture.get()]
    #expect(answers.map(\.text) == ["one", "one"])
    #expect(answers.map(\.source) == [.stale, .stale])
    _ = try await fixture.transport.request(2)
    gate.open()

    try await store.commits(2)
    #expect(try await fixture.get().text == "two")
    #expect(fixture.sent.count == 2)
  }

  /// A transport that reads the call's local value that an interceptor has set.
  private struct Watching: Interceptor, Transport {
    let user = CallLocal("nobody")
    let seen = AsyncStream<String>.makeStream()

    func prepare(_ request: HTTPRequest, in call: Call) -> Preparation {
      call[user] = "anna"
      return .send(request)
    }

    func send(_ request: HTTPRequest, in call: Call) -> HTTPResponse {
      seen.continuation.yield(call[user])
      let fields: HTTPFields = [.cacheControl: "max-age=0, stale-while-revalidate=60"]
      return HTTPResponse(
        url: request.url, networkHead: ResponseHead(status: .ok, fields: fields), body: ResponseBody(Data("one".utf8)))
    }
  }

  @Test func aValidationInTheBackgroundHasTheLocalsOfTheCall() async throws {
    let watching = Watching()
    var configuration = SessionConfiguration()
    configuration.interceptors = [watching]
    let session = HTTPSession(transport: watching, configuration: configuration)
    var seen = watching.seen.stream.makeAsyncIterator()

    for _ in 1...2 { _ = try await session.data(for: HTTPRequest(.get, origin)) }

    #expect(await seen.next() == "anna")
    #expect(await seen.next() == "anna")
  }

  /// The caller has not read its stale response, so that its call is still in progress.
  @Test func aValidationInTheBackgroundObeysTheConcurrencyLimit() async throws {
    let (gate, sent, wall, clock) = (Gate(), Log<String>(), WallClock(), ManualClock())
    let transport = TestTransport { request in
      sent.append(request.url.path())
      if request.url.path() == "/held" { try await gate.wait() }
      return .text("one", fields: [.cacheControl: "max-age=5, stale-while-revalidate=60"])
    }
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: MemoryCacheStore()) { wall.now }
    configuration.clock = clock
    configuration.limits.concurrency = ConcurrencyLimit(1, waitLimit: .seconds(10))
    let session = HTTPSession(transport: transport, configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, origin))
    wall.advance(10)
    async let held = session.data(for: HTTPRequest(.get, url("http://a.example/held")))
    try await until { sent.entries.count == 2 }

    let (body, response) = try await session.bytes(for: HTTPRequest(.get, origin))

    #expect(response.source == .stale)
    // The validation waits, which the clock limits, or it was sent.
    try await until { clock.pendingWakeUps == [.seconds(10)] || sent.entries.count > 2 }
    #expect(sent.entries == ["/", "/held"])
    gate.open()
    _ = try await held
    try await until { sent.entries.count > 2 }
    #expect(sent.entries == ["/", "/held", "/"])
    #expect(try await body.collect(upTo: 10) == Data("one".utf8))
  }

  /// A body of 100 chunks.
  private final class LongBody: BodySource {
    let isOver = Gate()
    let count = Mutex(0)

    func next() async throws -> Data? {
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number <= 100 else {
        isOver.open()
        return nil
      }
      return Data(repeating: 97, count: 50)
    }

    func cancel() { isOver.open() }
  }

  @Test(arguments: [(entryLimit: 200, bodyLimit: nil), (10_000, 200)] as [(Int64, Int64?)])
  func aValidationInTheBackgroundStopsReadingABodyThatIsNotStored(entryLimit: Int64, bodyLimit: Int64?) async throws {
    let (body, isFirst) = (LongBody(), Once())
    let fields: HTTPFields = [.cacheControl: "max-age=5, stale-while-revalidate=60"]
    let transport = TestTransport { _ in
      if isFirst.first() { return .text("one", fields: fields) }
      return HTTPResponse(status: .ok, fields: fields, body: ResponseBody(length: nil, from: body), url: origin)
    }
    let fixture = CacheFixture(
      store: MemoryCacheStore(capacity: 40_000, entryLimit: entryLimit), transport: transport)
    var request = HTTPRequest(.get, origin)
    request.options.bodyLimit = bodyLimit
    _ = try await fixture.send(request)
    fixture.wall.advance(10)

    #expect(try await fixture.send(request).source == .stale)

    try await body.isOver.wait()
    #expect(body.count.withLock(\.self) < 10)
  }

  @Test func noStaleResponseIsUsedAfterTheWindow() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5, stale-while-revalidate=60"), .cacheable("two", "max-age=60"))

    _ = try await fixture.get()
    fixture.wall.advance(66)

    #expect(try await fixture.get().text == "two")
  }

  @Test func aValidationThatFailsKeepsTheStaleResponse() async throws {
    let failed = Gate()
    let fixture = CacheFixture { request in
      guard request.fields.contains(.ifNoneMatch) else {
        return .cacheable("one", "max-age=5, stale-while-revalidate=60", [.eTag: "\"a\""])
      }
      failed.open()
      throw HTTPError(.cannotConnect, "no network")
    }
    _ = try await fixture.get()
    fixture.wall.advance(10)

    #expect(try await fixture.get().text == "one")
    try await failed.wait()
    #expect(try await fixture.get().text == "one")
  }

  @Test(arguments: [false, true])
  func aValidationInTheBackgroundDoesNotCountAsARequest(succeeds: Bool) async throws {
    let validations = Counter()
    let fixture = CacheFixture { request in
      guard request.fields.contains(.ifNoneMatch) else {
        let directives = "max-age=5, stale-while-revalidate=60, stale-if-error=60"
        return .cacheable("one", directives, [.eTag: "\"a\""])
      }
      _ = validations.next()
      guard succeeds else { throw HTTPError(.cannotConnect, "no network") }
      return MockResponse(status: .notModified, fields: [.eTag: "\"a\""])
    }
    _ = try await fixture.get()
    fixture.wall.advance(10)

    var answers = 0
    // The next validation begins only after the one before has ended.
    try await until {
      answers += 1
      let source = try await fixture.get().source
      return succeeds ? source == .cache : validations.value == 2
    }

    let counts = fixture.cache.statistics
    #expect((counts.misses, counts.revalidations) == (1, 0))
    #expect(counts.staleHits + counts.hits == answers)
  }

  @Test(arguments: [500, 502, 503, 504])
  func aStaleResponseIsUsedInsteadOfAServerError(status: Int) async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5, stale-if-error=60"), .status(HTTPStatus(status)), .status(HTTPStatus(status)))

    _ = try await fixture.get()
    fixture.wall.advance(10)
    let second = try await fixture.get()
    fixture.wall.advance(60)
    let third = try await fixture.get()

    #expect(second.text == "one")
    #expect(second.source == .stale)
    #expect(third.status.code == status)
  }

  @Test func aStaleResponseIsUsedInsteadOfALostConnection() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5, stale-if-error=60"), .failure(HTTPError(.connectionLost, "gone")))

    _ = try await fixture.get()
    fixture.wall.advance(10)

    #expect(try await fixture.get().source == .stale)
  }

  @Test func aStaleResponseIsUsedWhenTheRequestIsNotSentAgainAnyMore() async throws {
    let sent = Counter()
    let fixture = CacheFixture { _ in
      guard sent.next() > 1 else { return .cacheable("one", "max-age=5, stale-if-error=60") }
      var refusal = HTTPError(.connectionLost, "refused unread")
      refusal.delivery = .refused
      throw refusal
    }

    _ = try await fixture.get()
    fixture.wall.advance(10)

    #expect(try await fixture.get().source == .stale)
    #expect(fixture.sent.count == 7)  // the first request, and one that was replaced five times
  }

  @Test(arguments: [1, 2, 3])
  func aStaleResponseIsUsedWhenTheCallHasNoAttemptLeft(limit: Int) async throws {
    let (sent, wall) = (Counter(), WallClock())
    let transport = MockTransport { _ in
      guard sent.next() > 1 else { return .cacheable("one", "max-age=5, stale-if-error=60") }
      var refusal = HTTPError(.connectionLost, "refused unread")
      refusal.delivery = .refused
      throw refusal
    }
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: MemoryCacheStore()) { wall.now }
    configuration.attemptLimit = limit
    let session = HTTPSession(transport: transport, configuration: configuration)

    _ = try await session.data(for: HTTPRequest(.get, origin))
    wall.advance(10)

    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.source == .stale)
    #expect(sent.value == 1 + limit)
  }

  @Test(arguments: [
    ("max-age=5", HTTPError.Kind.cannotResolveHost, true), ("max-age=5", .cannotConnect, true),
    ("max-age=5", .responseTimeout, true), ("max-age=5", .connectionLost, true),
    ("max-age=5", .untrustedCertificate, false), ("max-age=5", .cancelled, false),
    ("max-age=5, must-revalidate", .cannotConnect, false), ("no-cache", .cannotConnect, false),
  ])
  func offlineAStoredResponseIsUsedIfThePolicyAllowsIt(control: String, kind: HTTPError.Kind, answers: Bool)
    async throws
  {
    let fixture = CacheFixture(.cacheable("one", control), .failure(HTTPError(kind, "no network")))

    _ = try await fixture.get(policy: .returnCacheDataIfOffline)
    fixture.wall.advance(1_000_000)

    if answers {
      let answer = try await fixture.get(policy: .returnCacheDataIfOffline)
      #expect(answer.text == "one")
      #expect(answer.source == .offline)
    } else {
      await #expect { try await fixture.get(policy: .returnCacheDataIfOffline) } throws: {
        ($0 as? HTTPError)?.kind == kind
      }
    }
  }

  @Test func offlineTheRequestFailsIfThePolicyDoesNotAllowAStoredResponse() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=5"), .failure(HTTPError(.cannotConnect, "no network")))

    _ = try await fixture.get()
    fixture.wall.advance(10)

    await #expect(throws: HTTPError.self) { try await fixture.get() }
  }

  @Test func aResponseWithoutCachingFieldsIsStoredForUseOffline() async throws {
    let fixture = CacheFixture(.text("one"), .failure(HTTPError(.cannotConnect, "no network")))

    _ = try await fixture.get(policy: .returnCacheDataIfOffline)

    #expect(try await fixture.get(policy: .returnCacheDataIfOffline).source == .offline)
  }
}
