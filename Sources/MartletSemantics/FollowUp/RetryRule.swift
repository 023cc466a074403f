/// What follows an attempt that failed, or was answered with a status that says "later".
package enum RetryDecision: Sendable, Hashable {
  /// Send it again after the delay; the reason is for people.
  case retry(after: Duration, reason: String)
  /// Send it again at once, uncounted: the peer has not acted on it, as far as one can know.
  case replace(reason: String)
  /// Leave it: why, in words for people.
  case decline(reason: String)
}

/// The rule by which requests are sent again without anybody asking (RFC 9110 §9.2.2, RFC 9112 §9.3.1, RFC 9113 §8.7).
package struct RetryRule: Sendable {
  /// What went wrong.
  package enum Cause: Sendable {
    /// A response whose status is one of the policy's.
    case response(ResponseHead)
    /// No response; what it was, and whether the request is known not to have been acted on.
    case failure(String, isUnprocessed: Bool)
    /// A connection that had served before was closed before any byte of the response.
    case staleConnection(String)
    /// The peer says that it has not acted on the request: REFUSED_STREAM, or GOAWAY below its stream.
    case refused(String)
  }

  /// What has to be known of the request.
  package struct Request: Sendable {
    package var head: RequestHead
    /// What the caller says; nil leaves it to the method.
    package var isIdempotent: Bool?
    package var isReplayable: Bool
    /// How often it was sent again before, with and without counting.
    package var retries: Int
    package var replacements: Int
    /// The time that is left, nil for ever.
    package var remaining: Duration?

    package init(
      _ head: RequestHead, isIdempotent: Bool?, isReplayable: Bool, sent: (retries: Int, replacements: Int),
      remaining: Duration?
    ) {
      self.head = head
      self.isIdempotent = isIdempotent
      self.isReplayable = isReplayable
      retries = sent.retries
      replacements = sent.replacements
      self.remaining = remaining
    }
  }

  private let limit: Int
  private let backoff: Backoff
  private let retryAfterLimit: Duration
  private let replaces: Bool

  /// - Parameters:
  ///   - limit: How many retries one exchange may make.
  ///   - retryAfterLimit: The longest wait that a server may ask for.
  ///   - replaces: Whether stale connections are replaced.
  package init(limit: Int, backoff: Backoff, retryAfterLimit: Duration, replaces: Bool) {
    self.limit = limit
    self.backoff = backoff
    self.retryAfterLimit = retryAfterLimit
    self.replaces = replaces
  }

  /// Decides. Whether the session's budget has a retry left is asked afterwards, and only if there is to be one.
  ///
  /// - Parameters:
  ///   - now: The present, for a `Retry-After` with a date.
  ///   - fraction: The random part of the wait, from 0 to 1.
  package func decide(_ cause: Cause, for request: Request, now: Date, fraction: Double) -> RetryDecision {
    if let obstacle = Self.obstacle(to: cause, request) { return .decline(reason: "\(cause.name): \(obstacle)") }
    if replaces, cause.isReplaceable, request.replacements < Self.mostReplacements {
      return .replace(reason: "\(cause.name): sent again on another connection")
    }
    guard limit > 0 else { return .decline(reason: "\(cause.name): the policy allows no retries") }
    guard request.retries < limit else {
      return .decline(reason: "\(cause.name): it was retried \(limit == 1 ? "once" : "\(limit) times") already")
    }
    var delay = backoff.delay(beforeRetry: request.retries + 1, fraction: fraction)
    if case .response(let head) = cause, let asked = RetryAfter.delay(in: head.fields, now: now) {
      guard asked <= retryAfterLimit else {
        return .decline(
          reason: "\(cause.name): the server asks to wait \(asked), more than the limit of \(retryAfterLimit)")
      }
      delay = max(delay, asked)
    }
    if let remaining = request.remaining, delay >= remaining {
      return .decline(reason: "\(cause.name): a retry after \(delay) would come too late for the deadline")
    }
    let number = request.retries + 1
    return .retry(after: delay, reason: "\(cause.name): retry \(number) of \(limit)")
  }

  /// A failed automatic retry is not to be retried for ever (RFC 9110 §9.2.2); a pool may hold several stale connections.
  private static let mostReplacements = 5

  private static func obstacle(to cause: Cause, _ request: Request) -> String? {
    guard request.isReplayable else { return "the body cannot be sent twice; use RequestBody.stream" }
    guard !cause.isUnprocessed, !mayRepeat(request.head, isIdempotent: request.isIdempotent) else { return nil }
    return request.isIdempotent == false
      ? "the request is marked as not idempotent"
      : "\(request.head.method) is not idempotent, and nothing says that the server has not acted on it"
  }

  /// RFC 9110 §9.2.2: an idempotent method, or the knowledge that this request is idempotent all the same; an
  /// idempotency key is such knowledge.
  ///
  /// - Parameter isIdempotent: What the caller says; nil leaves it to the request.
  package static func mayRepeat(_ request: RequestHead, isIdempotent: Bool?) -> Bool {
    isIdempotent ?? (request.method.isIdempotent || request.fields.contains("Idempotency-Key"))
  }
}

extension RetryRule.Cause {
  /// Whether the peer has, as far as one can know, never seen the request.
  package var isReplaceable: Bool {
    switch self {
    case .refused, .staleConnection: true
    case .failure, .response: false
    }
  }

  fileprivate var name: String {
    switch self {
    case .response(let head): "status \(head.status.code)"
    case .failure(let name, _), .staleConnection(let name), .refused(let name): name
    }
  }

  fileprivate var isUnprocessed: Bool {
    switch self {
    case .refused: true
    case .failure(_, let isUnprocessed): isUnprocessed
    case .response, .staleConnection: false
    }
  }
}
