import MartletSemantics
import Synchronization

extension RetryPolicy {
  var rule: RetryRule {
    RetryRule(
      limit: limit, backoff: backoff, retryAfterLimit: retryAfterLimit, replaces: replacesStaleConnections)
  }

  /// Returns why an outcome may be retried; nil for a response or a final failure.
  func cause(of outcome: Outcome) -> RetryRule.Cause? {
    switch outcome {
    case .success(let response):
      return statuses.contains(response.status) ? .response(response.head) : nil
    case .failure(let error):
      if error.isCancellationOrDeadline { return nil }
      guard failures.contains(error.kind) || replacesStaleConnections && error.delivery != .unknown else { return nil }
      switch error.delivery {
      case .staleConnection: return .staleConnection("the connection from the pool was closed")
      case .refused: return .refused("the server refused the request unread")
      case .unknown:
        return .failure(error.kind.name, isUnprocessed: error.isUnsent)
      }
    }
  }
}

/// Sends failed requests again within the limits of the request's ``RetryPolicy`` and the session's ``RetryBudget``, as
/// decided by `RetryRule`. Requests that were misdirected are sent again as `Misdirection` says.
struct RetryInterceptor: ImmediateInterceptor {
  private struct Sent {
    var retries = 0
    /// The replacements so far, including replacements within the transport.
    var replacements = 0

    mutating func add(_ error: HTTPError) {
      replacements = min(RetryRule.replacementLimit, replacements + error.replacements)
    }
  }

  private let budget: SharedBudget
  private let now: @Sendable () -> Date
  private static let sent = CallLocal(Sent())
  var stages: InterceptorStages { .review }

  /// - Parameters:
  ///   - clock: measures the time for the budget.
  ///   - now: returns the date, for a `Retry-After` with a date.
  init(budget: RetryBudget, clock: any Clock<Duration>, now: @escaping @Sendable () -> Date) {
    self.budget = SharedBudget(budget, clock)
    self.now = now
  }

  func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>? {
    if attempt.number == 1, outcome.mayHaveBeenSent { budget.deposit() }
    if outcome.status == .misdirectedRequest, let verdict = Misdirection.verdict(on: attempt, in: call) {
      return { verdict }
    }
    let policy = attempt.request.options.retryPolicy
    guard let cause = policy.cause(of: outcome) else { return nil }
    if case .failure(let error) = outcome, error.replacements > 0 { call[Self.sent].add(error) }
    return { verdict(on: cause, by: policy, of: attempt, in: call) }
  }

  private func verdict(
    on cause: RetryRule.Cause, by policy: RetryPolicy, of attempt: Attempt, in call: Call
  ) -> Verdict {
    let facts = Self.facts(of: attempt.request, sentAs: attempt.sent.head, call[Self.sent], in: call)
    let decision = policy.rule.decide(cause, for: facts, now: now(), fraction: policy.random())
    switch decision {
    case .decline(let reason):
      // If the policy retries nothing, it is not worth noting that there is no retry.
      return policy.limit > 0 || cause.isReplaceable ? decline(reason, in: call) : .accept
    case .retry(let delay, let reason):
      guard budget.withdraw() else {
        return decline(cause.notRetried("the session's retry budget is used up"), in: call)
      }
      call[Self.sent].retries += 1
      return .resend(attempt.request, after: delay, reason: reason)
    case .replace(let delay, let reason):
      call[Self.sent].replacements += 1
      return .resend(attempt.request, after: delay, reason: reason)
    }
  }

  /// Whether a request that failed will be sent again on another connection, without counting as a retry.
  ///
  /// - Parameter now: the current time.
  static func replaces(_ request: HTTPRequest, after error: HTTPError, in call: Call, at now: Date) -> Bool {
    let policy = request.options.retryPolicy
    guard let cause = policy.cause(of: .failure(error)), cause.isReplaceable else { return false }
    var counts = call[sent]
    counts.add(error)
    let facts = facts(of: request, sentAs: request.head, counts, in: call)
    let decision = policy.rule.decide(cause, for: facts, now: now, fraction: 0)
    return if case .replace = decision { true } else { false }
  }

  /// - Parameter request: the request that would be sent again, as it was before interceptors prepared it.
  private static func facts(
    of request: HTTPRequest, sentAs head: RequestHead, _ counts: Sent, in call: Call
  ) -> RetryRule.Request {
    let attemptsLeft = call.runner.map { $0.attemptLimit - call.currentAttempt } ?? .max
    return RetryRule.Request(
      head, isIdempotent: request.options.isIdempotent, isReplayable: request.body.canBeSent,
      sent: (counts.retries, counts.replacements),
      rest: RetryRule.Rest(attempts: attemptsLeft, time: call.remainingTime))
  }

  /// Accepts the outcome, and reports the reason to listeners.
  private func decline(_ reason: String, in call: Call) -> Verdict {
    call.emit(.note(reason))
    return .accept
  }
}

extension Outcome {
  /// Whether the request may have been sent: not if the cache alone has answered it.
  fileprivate var mayHaveBeenSent: Bool {
    switch self {
    case .success(let response): response.networkHead != nil
    case .failure: true
    }
  }
}

/// The session's budget with its clock.
private final class SharedBudget: Sendable {
  private let budget: Mutex<RetryBudget>
  private let stopwatch: Stopwatch

  init(_ budget: RetryBudget, _ clock: any Clock<Duration>) {
    self.budget = Mutex(budget)
    stopwatch = Stopwatch(clock)
  }

  func deposit() {
    guard !budget.withLock({ $0.depositIfFull() }) else { return }
    let now = stopwatch.elapsed
    budget.withLock { $0.deposit(at: now) }
  }

  func withdraw() -> Bool {
    let now = stopwatch.elapsed
    return budget.withLock { $0.withdraw(at: now) }
  }
}
