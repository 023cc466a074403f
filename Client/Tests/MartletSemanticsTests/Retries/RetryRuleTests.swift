@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Retry rule")
struct RetryRuleTests {
  private static let now = HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: Date(timeIntervalSince1970: 0))

  private func decide(
    _ cause: RetryRule.Cause, _ method: HTTPMethod = .get, fields: HTTPFields = [:], marked: Bool? = nil,
    change: (inout RetryRule.Request) -> Void = { _ in },
    rule: RetryRule = RetryRule(limit: 2, backoff: Backoff(), retryAfterLimit: .seconds(60), replaces: true)
  ) throws -> RetryDecision {
    let url = try #require(URL(string: "http://a.example/"))
    var request = RetryRule.Request(
      RequestHead(method: method, url: url, fields: fields), isIdempotent: marked, isReplayable: true, sent: (0, 0),
      rest: RetryRule.Rest(attempts: 20, time: nil))
    change(&request)
    return rule.decide(cause, for: request, now: try #require(Self.now), fraction: 1)
  }

  private func busy(_ fields: HTTPFields = [:]) -> RetryRule.Cause {
    .response(ResponseHead(status: .serviceUnavailable, fields: fields))
  }

  @Test(
    arguments: [
      // RFC 9110 §9.2.2: PUT, DELETE and the safe methods are idempotent; a client does not retry others by itself
      ("GET", nil, nil, true), ("HEAD", nil, nil, true), ("OPTIONS", nil, nil, true), ("TRACE", nil, nil, true),
      ("PUT", nil, nil, true), ("DELETE", nil, nil, true), ("POST", nil, nil, false), ("PATCH", nil, nil, false),
      ("CONNECT", nil, nil, false), ("QUERY", nil, nil, true), ("BREW", nil, nil, false), ("get", nil, nil, false),
      // "unless it has some means to know that the request semantics are actually idempotent"
      ("POST", true, nil, true), ("GET", false, nil, false), ("POST", nil, "key", true), ("POST", false, "key", false),
    ] as [(String, Bool?, String?, Bool)])
  func onlyIdempotentRequestsAreRetried(method: String, marked: Bool?, key: String?, isRetried: Bool) throws {
    let method = try #require(HTTPMethod(rawValue: method))
    let fields: HTTPFields = key.map { ["Idempotency-Key": $0] } ?? [:]
    for cause in [busy(), .failure("connectionLost", isUnprocessed: false)] {
      #expect(try decide(cause, method, fields: fields, marked: marked).isRetry == isRetried)
    }
    let stale = try decide(.staleConnection("gone"), method, fields: fields, marked: marked)
    #expect(stale.isReplacement == isRetried)
  }

  @Test func unprocessedRequestsAreRetriedWithAnyMethod() throws {
    #expect(try decide(.failure("cannotConnect", isUnprocessed: true), .post).isRetry)
    #expect(try decide(.refused("refused"), .post).isReplacement)
  }

  @Test func aRequestWithAOneShotBodyIsNeverRetried() throws {
    let causes: [RetryRule.Cause] = [
      busy(), .failure("x", isUnprocessed: true), .staleConnection("x"), .refused("x"),
    ]
    for cause in causes {
      let decision = try decide(cause, .put) { $0.isReplayable = false }
      #expect(decision.reason.contains("RequestBody.stream") && !decision.isRetry && !decision.isReplacement)
    }
  }

  @Test func retriesAreCountedAndReplacementsAreNot() throws {
    #expect(try decide(busy()) { $0.retries = 1 }.isRetry)
    #expect(try decide(busy()) { $0.replacements = 5 }.isRetry)
    #expect(try !decide(busy()) { $0.retries = 2 }.isRetry)
    #expect(try decide(.staleConnection("x")) { $0.retries = 2 }.isReplacement)
    // Stale connections are replaced first, then retries begin.
    #expect(try decide(.staleConnection("x")) { $0.replacements = 4 }.isReplacement)
    #expect(try decide(.staleConnection("x")) { $0.replacements = 5 }.isRetry)
  }

  /// A server that refuses again would otherwise get a burst of connections.
  @Test(arguments: [(0, 0), (1, 250), (2, 500), (3, 1000), (4, 2000)])
  func aReplacementIsDelayedFromTheSecondOn(count: Int, milliseconds: Int) throws {
    let decision = try decide(.refused("x")) { $0.replacements = count }
    guard case .replace(let delay, _) = decision else { return #expect(Bool(false), "\(decision)") }
    #expect(delay == .milliseconds(milliseconds))
  }

  @Test func aDelayedReplacementAfterTheDeadlineIsDeclined() throws {
    let decision = try decide(.refused("x")) { ($0.replacements, $0.rest.time) = (1, .milliseconds(250)) }
    #expect(decision.reason.contains("deadline") && !decision.isReplacement)
  }

  @Test func retriesAndReplacementsAreIndependent() throws {
    let first = RetryRule(limit: 0, backoff: Backoff(), retryAfterLimit: .zero, replaces: true)
    #expect(try decide(.staleConnection("x"), rule: first).isReplacement)
    #expect(try !decide(busy(), rule: first).isRetry)
    let second = RetryRule(limit: 1, backoff: Backoff(), retryAfterLimit: .zero, replaces: false)
    #expect(try decide(.staleConnection("x"), rule: second).isRetry)
  }

  @Test(
    arguments: [
      ("5", 5), ("60", 60), ("0", nil), ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
      // In the past: no delay beyond the backoff.
      ("Sun, 06 Nov 1994 08:00:00 GMT", nil), ("soon", nil), ("-5", nil), ("", nil), ("1.", nil), (".5", nil),
      ("1.5.1", nil),
      // Some servers send fractions.
      ("1.9", 2), ("1.01", 2), ("2.0", 2), ("0.2", 1),
    ] as [(String, Int?)])
  func retryAfterIsWaited(value: String, seconds: Int?) throws {
    let decision = try decide(busy([.retryAfter: value]))
    #expect(decision.delay == seconds.map { .seconds($0) } ?? .milliseconds(250))
  }

  @Test(arguments: ["61", "99999999999999999999999", "Sun, 06 Nov 1994 09:00:00 GMT"])
  func aRetryAfterBeyondTheLimitIsDeclined(value: String) throws {
    let decision = try decide(busy([.retryAfter: value]))
    #expect(!decision.isRetry)
    #expect(decision.reason.contains("limit"))
  }

  @Test func aDateIsComparedWithTheDateOfTheResponse() throws {
    let fields: HTTPFields = [
      .date: "Mon, 07 Nov 1994 00:00:00 GMT", .retryAfter: "Mon, 07 Nov 1994 00:00:20 GMT",
    ]
    #expect(try decide(busy(fields)).delay == .seconds(20))
  }

  @Test func theLongestRetryAfterCounts() throws {
    #expect(try decide(busy([.retryAfter: "3", .retryAfter: "7"])).delay == .seconds(7))
  }

  @Test func aRetryAfterTheDeadlineIsDeclined() throws {
    #expect(try decide(busy([.retryAfter: "5"])) { $0.rest.time = .seconds(6) }.delay == .seconds(5))
    let decision = try decide(busy([.retryAfter: "5"])) { $0.rest.time = .seconds(5) }
    #expect(decision.reason.contains("deadline"))
    // The first replacement has no delay.
    #expect(try decide(.staleConnection("x")) { $0.rest.time = .zero }.isReplacement)
  }

  @Test(arguments: [1, 0, -1])
  func aRequestIsSentAgainOnlyWhileAttemptsAreLeft(attempts: Int) throws {
    let causes: [RetryRule.Cause] = [busy(), .failure("x", isUnprocessed: true), .staleConnection("x"), .refused("x")]
    for cause in causes {
      let decision = try decide(cause) { $0.rest.attempts = attempts }
      #expect((decision.isRetry || decision.isReplacement) == (attempts > 0))
      #expect(decision.reason.contains("attemptLimit") == (attempts <= 0))
    }
  }

  @Test func aDecisionAgainstARetryIsASentence() throws {
    let reason = try decide(busy()) { $0.retries = 2 }.reason
    #expect(reason == "the request is not retried after status 503: it was already retried 2 times")
  }

  @Test func theDelayDoublesUpToItsCap() {
    let backoff = Backoff(base: .milliseconds(100), delayLimit: .seconds(1))
    let windows = (1...6).map { backoff.delay(beforeRetry: $0, fraction: 1) }
    #expect(windows == [100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
    #expect(backoff.delay(beforeRetry: 3, fraction: 0.5) == .milliseconds(200))
    #expect(backoff.delay(beforeRetry: 3, fraction: 0) == .zero)
  }

  @Test func invalidBackoffsAreClamped() {
    #expect(Backoff(base: .seconds(-1), delayLimit: .seconds(1)).delay(beforeRetry: 3, fraction: 1) == .zero)
    #expect(Backoff(base: .seconds(9), delayLimit: .seconds(1)).delay(beforeRetry: 1, fraction: 7) == .seconds(1))
    #expect(Backoff(base: .seconds(1), delayLimit: .seconds(-1)).delay(beforeRetry: 1, fraction: 1) == .zero)
    #expect(Backoff(base: .seconds(1), delayLimit: .seconds(Int64.max)).delay(beforeRetry: .max, fraction: 0) == .zero)
  }
}

@Suite("Retry budget")
struct RetryBudgetTests {
  /// The number of retries that are available at once.
  private func count(_ budget: inout RetryBudget, at now: Duration = .zero) -> Int {
    var count = 0
    while count < 1000, budget.withdraw(at: now) { count += 1 }
    return count
  }

  @Test func theReserveIsAvailableAtOnceAndRefilledInTenSeconds() {
    var budget = RetryBudget()
    #expect(count(&budget) == 10)
    #expect(count(&budget, at: .seconds(1)) == 1)
    #expect(count(&budget, at: .seconds(11)) == 10)
    #expect(count(&budget, at: .seconds(1000)) == 10)
  }

  @Test func eachRequestAddsItsShare() {
    var budget = RetryBudget(reserve: 0)
    #expect(count(&budget) == 0)
    for _ in 0..<50 { budget.deposit(at: .zero) }
    #expect((9...10).contains(count(&budget)))
  }

  @Test func aDepositNeedsNoTimeWhileTheReserveIsFull() {
    var (timed, untimed) = (RetryBudget(), RetryBudget())
    for _ in 0..<50 {
      timed.deposit(at: .seconds(1))
      let isDeposited = untimed.depositIfFull()
      #expect(isDeposited)
    }
    #expect(count(&timed, at: .seconds(5)) == count(&untimed, at: .seconds(5)))

    let isDeposited = untimed.depositIfFull()
    #expect(!isDeposited)
    #expect(count(&untimed, at: .seconds(5)) == 0)
    #expect(count(&untimed, at: .seconds(6)) == 1)
  }

  @Test func theBudgetIsLimitedByItsCapacity() {
    var budget = RetryBudget()
    for _ in 0..<100_000 { budget.deposit(at: .zero) }
    #expect(count(&budget) == 100)
  }

  @Test func anUnlimitedBudgetNeverEnds() {
    var budget = RetryBudget.unlimited
    budget.deposit(at: .seconds(1))
    #expect(count(&budget, at: .seconds(2)) == 1000)
  }

  @Test(arguments: [-1, .nan] as [Double])
  func invalidValuesCountAsZero(value: Double) {
    var budget = RetryBudget(share: value, reserve: value, capacity: value)
    budget.deposit(at: .seconds(1))
    #expect(count(&budget, at: .seconds(100)) == 0)
  }

  @Test func aClockThatGoesBackRemovesNothing() {
    var budget = RetryBudget()
    #expect(count(&budget, at: .seconds(100)) == 10)
    #expect(count(&budget, at: .seconds(1)) == 0)
    #expect(count(&budget, at: .seconds(105)) == 5)
  }
}

extension RetryDecision {
  fileprivate var isRetry: Bool { if case .retry = self { true } else { false } }
  fileprivate var isReplacement: Bool { if case .replace = self { true } else { false } }
  fileprivate var delay: Duration? { if case .retry(let delay, _) = self { delay } else { nil } }

  fileprivate var reason: String {
    switch self {
    case .retry(_, let reason), .replace(_, let reason), .decline(let reason): reason
    }
  }
}
