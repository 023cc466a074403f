/// The decision after an attempt that failed, or got a status that the policy retries.
package enum RetryDecision: Sendable, Hashable {
  /// Send the request again after the delay. The reason is for messages.
  case retry(after: Duration, reason: String)
  /// Send the request again after the delay, without counting it as a retry: the peer has probably not processed it.
  /// The first time, there is no delay.
  case replace(after: Duration, reason: String)
  /// Do not retry. The reason is a sentence for messages.
  case decline(reason: String)
}

/// Decides whether a request is retried automatically (RFC 9110 §9.2.2, RFC 9112 §9.3.1, RFC 9113 §8.7).
package struct RetryRule: Sendable {
  /// The reason for a retry.
  package enum Cause: Sendable {
    /// A response with a status that the policy retries.
    case response(ResponseHead)
    /// A failure without a response: what failed, and whether the request is known not to have been processed.
    case failure(String, isUnprocessed: Bool)
    /// A reused connection was closed before the first byte of the response.
    case staleConnection(String)
    /// The peer states that it has not processed the request: REFUSED_STREAM, or GOAWAY with a lower stream ID.
    case refused(String)
  }

  /// The properties of the request that matter.
  package struct Request: Sendable {
    package var head: RequestHead
    /// Whether the caller declared the request idempotent; nil if the method determines it.
    package var isIdempotent: Bool?
    package var isReplayable: Bool
    /// How many times the request was sent again: as a retry, which counts against the limit, and as a replacement, by
    /// the loop or within the transport.
    package var retries: Int
    package var replacements: Int
    /// What the call has left for more attempts.
    package var rest: Rest

    package init(
      _ head: RequestHead, isIdempotent: Bool?, isReplayable: Bool, sent: (retries: Int, replacements: Int), rest: Rest
    ) {
      self.head = head
      self.isIdempotent = isIdempotent
      self.isReplayable = isReplayable
      retries = sent.retries
      replacements = sent.replacements
      self.rest = rest
    }
  }

  /// What a call has left for more attempts.
  package struct Rest: Sendable {
    /// The number of attempts that are still allowed.
    package var attempts: Int
    /// The time until the deadline; nil if there is none.
    package var time: Duration?

    package init(attempts: Int, time: Duration?) {
      self.attempts = attempts
      self.time = time
    }
  }

  private let limit: Int
  private let backoff: Backoff
  private let retryAfterLimit: Duration
  private let replaces: Bool

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of retries of one call.
  ///   - backoff: the delays before retries.
  ///   - retryAfterLimit: the maximum delay that a server may request.
  ///   - replaces: whether requests on stale connections are sent again.
  package init(limit: Int, backoff: Backoff, retryAfterLimit: Duration, replaces: Bool) {
    self.limit = limit
    self.backoff = backoff
    self.retryAfterLimit = retryAfterLimit
    self.replaces = replaces
  }

  /// Decides. The budget of the session is checked afterwards, and only if the decision is a retry.
  ///
  /// - Parameters:
  ///   - cause: the reason for a retry.
  ///   - request: the request.
  ///   - now: the current time, for a `Retry-After` with a date.
  ///   - fraction: the random part of the delay, from 0 to 1.
  package func decide(_ cause: Cause, for request: Request, now: Date, fraction: Double) -> RetryDecision {
    if let objection = Self.objection(to: cause, request) { return .decline(reason: cause.notRetried(objection)) }
    guard request.rest.attempts > 0 else {
      return .decline(reason: cause.notRetried("the call has reached the session's attemptLimit"))
    }
    if replaces, cause.isReplaceable, request.replacements < Self.replacementLimit {
      return replacement(cause, for: request, fraction: fraction)
    }
    guard limit > 0 else { return .decline(reason: cause.notRetried("the policy allows no retries")) }
    guard request.retries < limit else {
      let count = limit == 1 ? "once" : "\(limit) times"
      return .decline(reason: cause.notRetried("it was already retried \(count)"))
    }
    var delay = backoff.delay(beforeRetry: request.retries + 1, fraction: fraction)
    if case .response(let head) = cause, let asked = RetryAfter.delay(in: head.fields, now: now) {
      guard asked <= retryAfterLimit else {
        let (wait, limit) = (Quantity.text(asked), Quantity.text(retryAfterLimit))
        return .decline(reason: cause.notRetried("the server asks to wait \(wait), more than the limit of \(limit)"))
      }
      delay = max(delay, asked)
    }
    if let remaining = request.rest.time, delay >= remaining {
      return .decline(
        reason: cause.notRetried("a retry after \(Quantity.text(delay)) would come too late for the deadline"))
    }
    let number = request.retries + 1
    return .retry(after: delay, reason: "\(cause.name): retry \(number) of \(limit)")
  }

  /// Replaces a request: at once the first time, then after a pause, because a server that refuses again would
  /// otherwise get a burst of connections.
  private func replacement(_ cause: Cause, for request: Request, fraction: Double) -> RetryDecision {
    let count = request.replacements
    let delay = count == 0 ? .zero : backoff.delay(beforeRetry: count, fraction: fraction)
    if let remaining = request.rest.time, delay > .zero, delay >= remaining {
      let reason = "sending it again after \(Quantity.text(delay)) would come too late for the deadline"
      return .decline(reason: cause.notRetried(reason))
    }
    return .replace(after: delay, reason: "\(cause.name): sent again on another connection")
  }

  /// How many times a call may replace a request, including replacements within its transport. A client should not
  /// retry a failed automatic retry endlessly (RFC 9110 §9.2.2); a pool may contain several stale connections.
  package static let replacementLimit = 5

  private static func objection(to cause: Cause, _ request: Request) -> String? {
    guard request.isReplayable else { return "the body cannot be sent twice; use RequestBody.stream" }
    guard !cause.isUnprocessed, !mayRepeat(request.head, isIdempotent: request.isIdempotent) else { return nil }
    return request.isIdempotent == false
      ? "the request is marked as not idempotent"
      : "\(request.head.method) is not idempotent, and the server may have acted on it"
  }

  /// Whether the request may be sent twice: its method is idempotent, or it is otherwise known to be idempotent, for
  /// example by an idempotency key (RFC 9110 §9.2.2).
  ///
  /// - Parameter isIdempotent: whether the caller declared it idempotent; nil if the request determines it.
  package static func mayRepeat(_ request: RequestHead, isIdempotent: Bool?) -> Bool {
    isIdempotent ?? (request.method.isIdempotent || request.fields.contains("Idempotency-Key"))
  }
}

extension RetryRule.Cause {
  /// Whether the peer has probably not received the request.
  package var isReplaceable: Bool {
    switch self {
    case .refused, .staleConnection: true
    case .failure, .response: false
    }
  }

  /// Returns the sentence for messages if there is no retry.
  ///
  /// - Parameter reason: a clause that says why.
  package func notRetried(_ reason: String) -> String { "the request is not retried after \(name): \(reason)" }

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
