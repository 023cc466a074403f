import CallDoubles
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Requests that are sent again", .timeLimit(.minutes(5)))
struct RetryTests {
  private let log = EventLog()

  private func session(
    _ transport: any Transport, _ policy: RetryPolicy, clock: any Clock<Duration> = ContinuousClock(),
    change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = policy
    configuration.clock = clock
    configuration.listeners = [log]
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// Without waits.
  private func policy(_ limit: Int) -> RetryPolicy {
    var policy = RetryPolicy(limit: limit)
    policy.random = { 0 }
    return policy
  }

  private var notes: [String] { log.lines.filter { $0.hasPrefix("note") } }

  private static func lost(_ delivery: HTTPError.Delivery = .unknown) -> MockResponse {
    var error = HTTPError(.connectionLost, "gone", phase: .waiting)
    error.delivery = delivery
    return .failure(error)
  }

  @Test func aSessionRetriesNothingByDefault() async throws {
    let transport = ScriptedTransport(.status(.serviceUnavailable), .text("never"))
    let (_, response) = try await session(transport, RetryPolicy()).data(for: HTTPRequest(.get, origin))
    #expect(response.status == .serviceUnavailable)
    #expect(notes.isEmpty)
  }

  @Test func aBusyServerIsAskedAgain() async throws {
    let transport = ScriptedTransport(.status(.serviceUnavailable), .status(.tooManyRequests), .text("at last"))
    let (data, response) = try await session(transport, policy(3)).data(for: HTTPRequest(.get, origin))
    #expect(data == Data("at last".utf8))
    #expect(response.history.map(\.reason) == ["status 503: retry 1 of 3", "status 429: retry 2 of 3"])
    #expect(log.lines.contains("resend: status 503: retry 1 of 3"))
  }

  @Test func aBodyThatAnInterceptorReplacedIsMadeAgain() async throws {
    let sent = Counter()
    let transport = MockTransport { request in
      let body = try await request.readBody()
      #expect(body == Data("stamped".utf8))
      return sent.next() == 1 ? .status(.serviceUnavailable) : .text("at last")
    }
    let stamp = TestInterceptor(prepare: { request in
      var request = request
      let stamped = AsyncStream { chunks in
        chunks.yield(Data("stamped".utf8))
        chunks.finish()
      }
      request.body = .singleUse(stamped)
      return request
    })
    let session = session(transport, policy(1)) { $0.interceptors = [stamp] }
    let request = HTTPRequest(.put, origin, body: .data(Data("plain".utf8)))
    #expect(try await session.data(for: request).0 == Data("at last".utf8))
  }

  @Test func whenTheRetriesAreUsedUpTheLastResponseIsTheAnswer() async throws {
    let transport = ScriptedTransport(.status(.badGateway), .status(.gatewayTimeout), .text("never"))
    let (_, response) = try await session(transport, policy(1)).data(for: HTTPRequest(.get, origin))
    #expect(response.status == .gatewayTimeout)
    #expect(notes == ["note: the request is not retried after status 504: it was already retried once"])
  }

  @Test func theWaitIsTheRandomPartOfTheBackoff() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport(.status(.serviceUnavailable), .status(.serviceUnavailable), .text("done"))
    var policy = RetryPolicy(limit: 2)
    policy.backoff = Backoff(base: .seconds(10))
    policy.random = { 0.5 }
    let session = session(transport, policy, clock: clock)

    let call = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    for (number, wait) in [(1, 5), (2, 10)] {
      try await clock.sleepers(1)
      #expect(transport.requests.count == number)
      clock.advance(by: .seconds(wait) - .nanoseconds(1))
      #expect(transport.requests.count == number)
      clock.advance(by: .nanoseconds(1))
    }
    #expect(try await call.value == .ok)
  }

  @Test func aPostIsNotRetriedUnlessItIsMarked() async throws {
    func requests(_ change: (inout HTTPRequest) -> Void) async throws -> Int {
      let transport = ScriptedTransport(.status(.serviceUnavailable), .text("done"))
      var request = HTTPRequest(.post, origin, body: .data(Data("order".utf8)))
      change(&request)
      _ = try await session(transport, policy(1)).data(for: request)
      return transport.requests.count
    }
    #expect(try await requests { _ in } == 1)
    #expect(notes.last?.contains("POST is not idempotent") == true)
    #expect(try await requests { $0.options.isIdempotent = true } == 2)
    #expect(try await requests { $0.fields["Idempotency-Key"] = "1" } == 2)
  }

  @Test func aRequestsOwnPolicyWins() async throws {
    let transport = ScriptedTransport(.status(.serviceUnavailable), .text("never"))
    var request = HTTPRequest(.get, origin)
    request.options.retryPolicy = .never
    let (_, response) = try await session(transport, policy(3)).data(for: request)
    #expect(response.status == .serviceUnavailable)
  }

  @Test(
    arguments: [
      (.cannotConnect, HTTPMethod.post, true), (.connectionLost, .get, true), (.connectionLost, .post, false),
      (.responseTimeout, .get, false), (.untrustedCertificate, .get, false), (.cancelled, .get, false),
      (.deadlineExceeded, .get, false), (.protocolViolation, .get, false),
    ] as [(HTTPError.Kind, HTTPMethod, Bool)])
  func failuresAreRetriedWhereThatIsSafe(kind: HTTPError.Kind, method: HTTPMethod, isRetried: Bool) async throws {
    let transport = ScriptedTransport(.failure(HTTPError(kind, "failed")), .text("done"))
    let outcome = await session(transport, policy(1)).outcome(of: HTTPRequest(method, origin))
    #expect(transport.requests.count == (isRetried ? 2 : 1))
    #expect((try? outcome.get()) == (isRetried ? .ok : nil))
  }

  @Test func aTimeoutIsRetriedWhereThePolicySaysSo() async throws {
    var policy = policy(1)
    policy.failures.insert(.responseTimeout)
    let transport = ScriptedTransport(.failure(HTTPError(.responseTimeout, "slow")), .text("done"))
    let (_, response) = try await session(transport, policy).data(for: HTTPRequest(.get, origin))
    #expect(response.status == .ok)
  }

  @Test func theLastFailureIsTheOneThatIsThrown() async throws {
    let transport = ScriptedTransport(Self.lost(), .failure(HTTPError(.cannotConnect, "nobody")))
    let error = await #expect(throws: HTTPError.self) {
      try await session(transport, policy(1)).data(for: HTTPRequest(.get, origin))
    }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.history.map(\.reason) == ["connectionLost: retry 1 of 1"])
  }

  @Test func aStaleConnectionIsReplacedWithoutPolicyOrBudget() async throws {
    let stale = Array(repeating: Self.lost(.staleConnection), count: 5)
    let transport = ScriptedTransport(stale + [.text("done")])
    let session = session(transport, policy(0)) { $0.retryBudget = RetryBudget(share: 0, reserve: 0) }
    let (_, response) = try await session.data(for: HTTPRequest(.put, origin, body: .data(Data("x".utf8))))
    #expect(response.history.count == 5)
    #expect(log.lines.contains { $0.hasPrefix("resend: the connection from the pool was closed") })
  }

  @Test func aStaleConnectionIsNoReasonToSendAPostTwice() async throws {
    let transport = ScriptedTransport(Self.lost(.staleConnection), .text("never"))
    let error = await #expect(throws: HTTPError.self) {
      try await session(transport, RetryPolicy()).data(for: HTTPRequest(.post, origin))
    }
    #expect(error?.kind == .connectionLost)
    #expect(notes.first?.contains("POST is not idempotent") == true)
  }

  @Test func aRefusedPostIsSentAgain() async throws {
    let transport = ScriptedTransport(Self.lost(.refused), .text("done"))
    let (_, response) = try await session(transport, RetryPolicy()).data(for: HTTPRequest(.post, origin))
    #expect(response.status == .ok)
  }

  @Test func neverMeansNever() async throws {
    let transport = ScriptedTransport(Self.lost(.staleConnection), .text("never"))
    await #expect(throws: HTTPError.self) {
      try await session(transport, .never).data(for: HTTPRequest(.get, origin))
    }
    #expect(transport.requests.count == 1)
  }

  @Test func theSessionsBudgetIsShared() async throws {
    let transport = MockTransport { _ in .status(.serviceUnavailable) }
    let sends = Mutex(0)
    let counter = EventHandler { event, _ in if case .attempt = event { sends.withLock { $0 += 1 } } }
    let clock = ManualClock()
    let session = session(transport, policy(3), clock: clock) {
      $0.listeners.append(counter)
      $0.retryBudget = RetryBudget(share: 0, reserve: 4)
    }
    for _ in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, origin)) }
    #expect(sends.withLock { $0 } == 5 + 4)
    #expect(notes.last?.contains("budget is used up") == true)

    clock.advance(by: .seconds(5))
    _ = try await session.data(for: HTTPRequest(.get, origin))
    #expect(sends.withLock { $0 } == 5 + 4 + 3)
  }

  @Test func aResponseFromTheCacheAddsNothingToTheBudget() async throws {
    let transport = MockTransport { request in
      request.url.path() == "/busy" ? .status(.serviceUnavailable) : .cacheable("stored", "max-age=60")
    }
    let session = session(transport, policy(5)) {
      $0.cache = HTTPCache(store: MemoryCacheStore())
      $0.retryBudget = RetryBudget(share: 1, reserve: 0)
    }
    var sources: [HTTPResponse.Source] = []
    for _ in 1...3 { sources.append(try await session.data(for: HTTPRequest(.get, origin)).1.source) }
    #expect(sources == [.network, .cache, .cache])

    let (_, response) = try await session.data(for: HTTPRequest(.get, url("http://a.example/busy")))

    #expect(response.history.count == 2, "one retry for each of the two requests that were sent")
  }

  @Test func aRetryThatCannotEndBeforeTheDeadlineIsNotBegun() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport(.status(.serviceUnavailable, fields: [.retryAfter: "30"]), .text("never"))
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(30)
    let (_, response) = try await session(transport, policy(1), clock: clock).data(for: request)
    #expect(response.status == .serviceUnavailable)
    #expect(notes.first?.contains("deadline") == true)
  }

  @Test func retryAfterIsWaitedOnTheClock() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport(.status(.tooManyRequests, fields: [.retryAfter: "30"]), .text("done"))
    let session = session(transport, policy(1), clock: clock)
    let call = Task { try await session.data(for: HTTPRequest(.get, origin)).1.status }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(29))
    #expect(transport.requests.count == 1)
    clock.advance(by: .seconds(1))
    #expect(try await call.value == .ok)
  }

  @Test func aRetryAfterDateIsMeasuredByTheSessionsTime() async throws {
    let now = Date(timeIntervalSince1970: 1_000_000_000)
    let later = HTTPDate.format(now.addingTimeInterval(30))
    let transport = ScriptedTransport(.status(.serviceUnavailable, fields: [.retryAfter: later]), .text("never"))
    var policy = policy(1)
    policy.retryAfterLimit = .seconds(10)
    let session = session(transport, policy) { $0.now = { now } }
    let (_, response) = try await session.data(for: HTTPRequest(.get, origin))
    #expect(response.status == .serviceUnavailable)
    #expect(notes.first?.contains("the server asks to wait 30 s, more than the limit of 10 s") == true)
  }

  @Test func theLastAttemptOfACallIsDeliveredAndNotAnError() async throws {
    let transport = MockTransport { _ in .status(.serviceUnavailable) }
    let session = session(transport, policy(100)) { $0.attemptLimit = 3 }
    let (_, response) = try await session.data(for: HTTPRequest(.get, origin))
    #expect(response.status == .serviceUnavailable)
    #expect(response.history.count == 2)
    #expect(
      notes == ["note: the request is not retried after status 503: the call has reached the session's attemptLimit"])
  }

  @Test func aBodyIsMadeAnewForARetry() async throws {
    let bodies = Mutex<[String]>([])
    let transport = MockTransport { request in
      let text = String(decoding: try await request.readBody(), as: UTF8.self)
      let count = bodies.withLock { bodies in
        bodies.append(text)
        return bodies.count
      }
      return count == 1 ? .status(.serviceUnavailable) : .text("done")
    }
    let body = RequestBody.stream {
      AsyncStream { continuation in
        continuation.yield(Data("whole".utf8))
        continuation.finish()
      }
    }
    _ = try await session(transport, policy(1)).data(for: HTTPRequest(.put, origin, body: body))
    #expect(bodies.withLock { $0 } == ["whole", "whole"])
  }

  @Test func aBodyThatBreaksOffIsNotRetried() async throws {
    struct Breaking: BodySource {
      func next() async throws -> Data? { throw HTTPError(.connectionLost, "gone", phase: .receiving) }
    }
    let transport = ScriptedTransport(MockResponse { ResponseBody(from: Breaking()) }, .text("never"))
    let error = await #expect(throws: HTTPError.self) {
      try await session(transport, policy(3)).data(for: HTTPRequest(.get, origin))
    }
    #expect(error?.kind == .connectionLost)
    #expect(transport.requests.count == 1)
  }

  @Test func aRetryGoesWhereTheRedirectLed() async throws {
    let transport = ScriptedTransport(.redirect(to: "/new"), .status(.serviceUnavailable), .text("done"))
    _ = try await session(transport, policy(1)).data(for: HTTPRequest(.get, origin))
    #expect(transport.requests.map(\.url.path) == ["/", "/new", "/new"])
  }

  @Test func cancellingEndsTheWait() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport(.status(.serviceUnavailable, fields: [.retryAfter: "30"]), .text("never"))
    let session = session(transport, policy(1), clock: clock)
    let call = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await clock.sleepers(1)
    call.cancel()
    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.isCancelled == true)
    #expect(transport.requests.count == 1)
  }
}

extension HTTPSession {
  fileprivate func outcome(of request: HTTPRequest) async -> Result<HTTPStatus, HTTPError> {
    do { return .success(try await data(for: request).1.status) } catch { return .failure(error) }
  }
}
