public import MartletSemantics
import Synchronization

/// Which failed requests are sent again, how often, and after which delay.
///
/// There are two cases:
/// - A request whose pooled connection was closed, or that an HTTP/2 server refused without processing it, is
///   *replaced*: it is sent again at once, up to five times a call. This is on by default.
/// - Any other failure is *retried* after a delay, up to ``limit`` times: not at all by default.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.retry = .standard                 // 3 retries with backoff
/// var request = HTTPRequest(.post, url, fields: ["Idempotency-Key": key], body: .data(order))
/// request.options.retryPolicy = .never            // but not this one
/// ```
///
/// Only requests that may be repeated are sent again (RFC 9110 §9.2.2): with an idempotent method, with an
/// `Idempotency-Key` field, marked with ``RequestOptions/isIdempotent``, or certainly not processed (no connection, or
/// the server said so). The body must be repeatable. Nothing is retried after a response has been delivered, so a body
/// that is cut off is not.
///
/// There is no retry if its delay would exceed the deadline. All retries of a session share its
/// ``SessionConfiguration/retryBudget``. Resends are reported as ``Event/resend(_:after:reason:)``, decisions against
/// one as ``Event/note(_:)``.
public struct RetryPolicy: Sendable {
  /// The largest number of retries of a call, without replacements; 0 by default.
  public var limit: Int
  /// The delay before a retry; by default at most 250 milliseconds before the first one, doubling up to 20 seconds.
  public var backoff = Backoff()
  /// The statuses that are retried: by default 408, 429, 502, 503 and 504.
  public var statuses = usualStatuses
  /// The failures that are retried: by default ``HTTPError/Kind/cannotConnect`` and ``HTTPError/Kind/connectionLost``.
  /// Timeouts and unknown hosts may be added; a cancellation or the end of the deadline is never retried.
  public var failures = usualFailures
  /// The longest delay of a `Retry-After` field that is accepted; with a longer one there is no retry. 60 seconds by
  /// default. The delay is never shorter than the backoff.
  public var retryAfterLimit = Duration.seconds(60)
  /// Whether a request is sent again at once if its pooled connection was closed, or an HTTP/2 server refused it
  /// without processing it. True by default.
  public var replacesStaleConnections = true
  /// Returns the random factor of a delay, from 0 to 1; tests can replace it.
  public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

  /// Makes a policy with a number of retries; by default none, but stale connections are replaced.
  public init(limit: Int = 0) { self.limit = limit }

  // made once: every request has a policy
  private static let usualStatuses: Set<HTTPStatus> = [
    .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout,
  ]
  private static let usualFailures: Set<HTTPError.Kind> = [.cannotConnect, .connectionLost]

  /// Three retries.
  public static let standard = RetryPolicy(limit: 3)

  /// No retries, and stale connections are not replaced.
  public static let never: RetryPolicy = {
    var policy = RetryPolicy()
    policy.replacesStaleConnections = false
    return policy
  }()
}

extension HTTPRequest {
  /// Whether a transport may send the request again if its connection was stale.
  package var replacesStaleConnection: Bool {
    options.retryPolicy.replacesStaleConnections && RetryRule.mayRepeat(head, isIdempotent: options.isIdempotent)
  }
}

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
      let error = HTTPError(wrapping: error)
      if error.isCancelled || error.kind == .deadlineExceeded { return nil }
      guard failures.contains(error.kind) || replacesStaleConnections && error.delivery != .unknown else { return nil }
      switch error.delivery {
      case .staleConnection: return .staleConnection("the connection from the pool was closed")
      case .refused: return .refused("the server refused the request unread")
      case .unknown:
        // a request that failed while it was prepared was not sent
        return .failure(error.kind.name, isUnprocessed: error.isConnectionFailure || error.phase == .preparing)
      }
    }
  }
}

/// Sends failed requests again within the limits of the request's ``RetryPolicy`` and the session's ``RetryBudget``, as
/// decided by `RetryRule`.
struct RetryInterceptor: QuickInterceptor {
  private struct Sent {
    var retries = 0
    var replacements = 0
  }

  private let budget: SharedBudget
  private let attemptLimit: Int
  private let now: @Sendable () -> Date
  private let sent = CallLocal(Sent())
  var stages: InterceptorStages { .review }

  /// - Parameters:
  ///   - attemptLimit: the largest number of attempts of a call.
  ///   - clock: measures the time for the budget.
  ///   - now: returns the date, for a `Retry-After` with a date.
  init(
    budget: RetryBudget, attemptLimit: Int, clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Date = { Date.now }
  ) {
    self.budget = SharedBudget(budget, clock)
    self.attemptLimit = attemptLimit
    self.now = now
  }

  func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool {
    if attempt.number == 1 { budget.deposit() }
    return status.map { !attempt.request.options.retryPolicy.statuses.contains($0) } ?? false
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let policy = attempt.request.options.retryPolicy
    guard let cause = policy.cause(of: outcome) else { return .accept }
    let decision = policy.rule.decide(
      cause, for: facts(of: attempt, in: call), now: now(), fraction: policy.random())
    switch decision {
    case .decline(let reason):
      // without a policy of retries, that nothing is retried is not worth a note
      return policy.limit > 0 || cause.isReplaceable ? decline(reason, in: call) : .accept
    case .retry, .replace:
      guard attempt.number < attemptLimit else {
        return decline("the limit of \(attemptLimit) attempts is reached", in: call)
      }
      return resend(attempt.request, decision, in: call)
    }
  }

  private func facts(of attempt: Attempt, in call: Call) -> RetryRule.Request {
    let request = attempt.request
    let counts = call[sent]
    return RetryRule.Request(
      attempt.sent.head, isIdempotent: request.options.isIdempotent, isReplayable: request.body.canBeSent,
      sent: (counts.retries, counts.replacements), remaining: call.remainingTime)
  }

  private func resend(
    _ request: HTTPRequest, _ decision: RetryDecision, in call: Call
  ) -> Verdict {
    switch decision {
    case .replace(let reason):
      call[sent].replacements += 1
      return .resend(request, after: .zero, reason: reason)
    case .retry(let delay, let reason):
      guard budget.withdraw() else {
        return decline("\(reason), but the session's retry budget is used up", in: call)
      }
      call[sent].retries += 1
      return .resend(request, after: delay, reason: reason)
    case .decline(let reason): return decline(reason, in: call)
    }
  }

  /// Accepts the outcome, and tells listeners why.
  private func decline(_ reason: String, in call: Call) -> Verdict {
    call.emit(.note("not retried: \(reason)"))
    return .accept
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
