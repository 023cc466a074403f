public import MartletSemantics

/// Which failures are sent again without the caller's doing, how often, and after how long.
///
/// Two things are kept apart:
/// - A connection from the pool that turns out to be closed, and a request that an HTTP/2 server refused unread, are
///   *replaced*: sent again at once, up to five times an exchange. That is on by default.
/// - Everything else is *retried* after a wait, as often as ``limit`` says: not at all by default.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.retry = .standard                 // 3 retries with backoff
/// var request = HTTPRequest(.post, url, fields: ["Idempotency-Key": key], body: .data(order))
/// request.options.retryPolicy = .never            // but not this one
/// ```
///
/// Only a request that may be repeated is sent again (RFC 9110 §9.2.2): one whose method is idempotent, that carries an
/// `Idempotency-Key`, that the caller marked with ``RequestOptions/isIdempotent``, or that certainly was not acted on
/// (nobody answered at the address, or the server said so). Its body must be there to be sent again. Once a response has
/// been delivered nothing is retried: a body that breaks off is the caller's to resume.
///
/// A wait that would not end before the deadline is not begun, and all retries of a session share its
/// ``SessionConfiguration/retryBudget``. Resends show as ``Event/resend(_:after:reason:)``, the decision against one as
/// ``Event/note(_:)``.
public struct RetryPolicy: Sendable {
  /// How many retries one exchange may make; replacements do not count. 0 by default.
  public var limit: Int
  /// The wait before a retry. By default at most 250 milliseconds before the first, doubling up to 20 seconds.
  public var backoff = Backoff()
  /// The statuses that are retried: by default 408, 429, 502, 503 and 504.
  public var statuses: Set<HTTPStatus> = [
    .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout,
  ]
  /// The failures that are retried: by default ``HTTPError/Kind/cannotConnect`` and ``HTTPError/Kind/connectionLost``.
  /// Timeouts and unknown hosts may be added; a cancellation or the end of the deadline is never retried.
  public var failures: Set<HTTPError.Kind> = [.cannotConnect, .connectionLost]
  /// The longest wait that a server may ask for with `Retry-After`: if it asks for more, there is no retry. 60 seconds by
  /// default. What it asks for within this limit is waited, and never less than the backoff.
  public var retryAfterLimit = Duration.seconds(60)
  /// Whether a request is sent again at once if its pooled connection was closed, or an HTTP/2 server refused it unread.
  /// On by default.
  public var replacesStaleConnections = true
  /// The random part of a wait, from 0 to 1; a test may take the chance out of it.
  public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

  /// Makes a policy of so many retries; by default none, except that stale connections are replaced.
  public init(limit: Int = 0) { self.limit = limit }

  /// Three retries.
  public static let standard = RetryPolicy(limit: 3)

  /// Nothing is sent again, stale connections included.
  public static let never: RetryPolicy = {
    var policy = RetryPolicy()
    policy.replacesStaleConnections = false
    return policy
  }()
}

extension HTTPRequest {
  /// Whether a transport may send it again by itself, if its connection was stale.
  package var replacesStaleConnection: Bool {
    options.retryPolicy.replacesStaleConnections && RetryRule.mayRepeat(head, isIdempotent: options.isIdempotent)
  }
}

extension RetryPolicy {
  var rule: RetryRule {
    RetryRule(
      limit: limit, backoff: backoff, retryAfterLimit: retryAfterLimit, replaces: replacesStaleConnections)
  }

  /// What there is to retry in an outcome; nil where there is nothing: an answer, or a failure that is final.
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
        // One that failed while it was prepared was not sent at all.
        return .failure(error.kind.name, isUnprocessed: error.isConnectionFailure || error.phase == .preparing)
      }
    }
  }
}
