import MartletSemantics
import Synchronization

/// Sends again what may be sent again, as far as the request's ``RetryPolicy`` and the session's ``RetryBudget`` go. What
/// may be is decided by `RetryRule`.
struct RetryInterceptor: Interceptor {
  private struct Sent {
    var retries = 0
    var replacements = 0
  }

  private let budget: SharedBudget
  private let attemptLimit: Int
  private let now: @Sendable () -> Date
  private let sent = ExchangeLocal(Sent())

  /// - Parameters:
  ///   - attemptLimit: How often an exchange may send in all.
  ///   - clock: Measures how the budget comes back.
  ///   - now: The wall clock, for a `Retry-After` with a date.
  init(
    budget: RetryBudget, attemptLimit: Int, clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Date = { Date.now }
  ) {
    self.budget = SharedBudget(budget, clock)
    self.attemptLimit = attemptLimit
    self.now = now
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    if attempt.number == 1 { budget.deposit() }
    let policy = attempt.request.options.retryPolicy
    guard let cause = policy.cause(of: outcome) else { return .accept }
    let decision = policy.rule.decide(
      cause, for: facts(of: attempt, in: exchange), now: now(), fraction: policy.random())
    switch decision {
    case .decline(let reason):
      // where the policy wants nothing to be retried, that nothing is retried is no news
      return policy.limit > 0 || cause.isReplaceable ? decline(reason, in: exchange) : .accept
    case .retry, .replace:
      guard attempt.number < attemptLimit else {
        return decline("the exchange has no attempt left of its \(attemptLimit)", in: exchange)
      }
      return resend(attempt.request, decision, in: exchange)
    }
  }

  private func facts(of attempt: Attempt, in exchange: Exchange) -> RetryRule.Request {
    let request = attempt.request
    let counts = exchange[sent]
    return RetryRule.Request(
      attempt.sent.head, isIdempotent: request.options.isIdempotent, isReplayable: request.body.canBeSent,
      sent: (counts.retries, counts.replacements), remaining: exchange.remainingTime)
  }

  private func resend(
    _ request: HTTPRequest, _ decision: RetryDecision, in exchange: Exchange
  ) -> Verdict {
    switch decision {
    case .replace(let reason):
      exchange[sent].replacements += 1
      return .resend(request, after: .zero, reason: reason)
    case .retry(let delay, let reason):
      guard budget.withdraw() else {
        return decline("\(reason), but the session's retry budget is used up", in: exchange)
      }
      exchange[sent].retries += 1
      return .resend(request, after: delay, reason: reason)
    case .decline(let reason): return decline(reason, in: exchange)
    }
  }

  /// The outcome stays what it is, and whoever watches learns why.
  private func decline(_ reason: String, in exchange: Exchange) -> Verdict {
    exchange.emit(.note("not retried: \(reason)"))
    return .accept
  }
}

/// The session's budget, and the clock that it is counted on.
private final class SharedBudget: Sendable {
  private let budget: Mutex<RetryBudget>
  private let elapsed: @Sendable () -> Duration

  init(_ budget: RetryBudget, _ clock: any Clock<Duration>) {
    self.budget = Mutex(budget)
    elapsed = Self.stopwatch(clock)
  }

  func deposit() {
    let now = elapsed()
    budget.withLock { $0.deposit(at: now) }
  }

  func withdraw() -> Bool {
    let now = elapsed()
    return budget.withLock { $0.withdraw(at: now) }
  }

  private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
