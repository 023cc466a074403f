public import MartletSemantics

/// Which failed requests are sent again, how many times, and after which delay.
///
/// There are three cases:
/// - If a pooled connection was closed, or an HTTP/2 server refused a request without processing it, the request is
///   *replaced*: it is sent again at once, up to five times a call. This is on by default.
/// - If a server answers 421 Misdirected Request (RFC 9110 §15.5.20), the request is sent once more in a call, over a
///   new connection that is opened for its origin, whatever its method. This is on by default, too.
/// - After any other failure a request is *retried* after a delay, up to ``limit`` times: not at all by default.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.options.retryPolicy = .standard                 // 3 retries with backoff
/// var request = HTTPRequest(.post, url, fields: ["Idempotency-Key": key], body: .data(order))
/// request.options.retryPolicy = .never            // but not this one
/// ```
///
/// Only requests that may be repeated are sent again (RFC 9110 §9.2.2). These have an idempotent method, an
/// `Idempotency-Key` field or ``RequestOptions/isIdempotent``, or were certainly not processed (there was no
/// connection, or the server said so). The body must be repeatable. Nothing is retried after a response was delivered,
/// so a body that is cut off is not retried either.
///
/// There is no retry if its delay would exceed the deadline. All retries of a session share its
/// ``SessionConfiguration/retryBudget``. An ``Event/resend(_:after:reason:failure:)`` reports each retry and each
/// replacement, and an ``Event/note(_:)`` each decision against one.
///
/// After a 421, only `SocketTransport` can choose the connection, so requests over others are not sent again. Nor is a
/// request through a forwarding proxy, one whose `Host` field names another host than its URL, or one whose connection
/// was opened for that purpose already: the second 421 is the response. The connection that was wrong gets no further
/// requests.
///
/// A transport may also replace a request by itself, within one attempt: `SocketTransport` does so once after a stale
/// connection, and up to five times if a closing connection did not process the request. Such a replacement is reported
/// only by an ``Event/note(_:)``. It is not in ``HTTPResponse/history``, and does not count as an attempt or a retry.
public struct RetryPolicy: Sendable {
  /// The maximum number of retries of a call, without replacements; 0 by default.
  public var limit: Int
  /// The delay before a retry; by default at most 250 milliseconds before the first one, doubling up to 20 seconds.
  public var backoff = Backoff()
  /// The statuses that are retried: by default 408, 429, 502, 503 and 504.
  public var statuses = usualStatuses
  /// The failures that are retried: by default ``HTTPError/Kind/cannotConnect`` and ``HTTPError/Kind/connectionLost``.
  /// Timeouts and unknown hosts may be added; a cancellation or the end of the deadline is never retried.
  public var failures = usualFailures
  /// The maximum delay of a `Retry-After` field that is accepted; with a longer one there is no retry. 60 seconds by
  /// default. The delay is never shorter than the backoff.
  public var retryAfterLimit = Duration.seconds(60)
  /// Whether a request is sent again if its pooled connection was closed, or an HTTP/2 server refused it
  /// without processing it: at once the first time, then after ``backoff``, and five times at most. Also whether it is
  /// sent once more after a 421. True by default.
  public var replacesStaleConnections = true
  /// Returns the random factor of a delay, from 0 to 1: before a retry, and before an event stream reconnects or a
  /// download is resumed. Tests can replace it.
  public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

  /// Makes a policy with a number of retries; by default none, but stale connections are replaced.
  public init(limit: Int = 0) { self.limit = limit }

  // Made once: every request has a policy.
  private static let usualStatuses: Set<HTTPStatus> = [
    .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout,
  ]
  private static let usualFailures: Set<HTTPError.Kind> = [.cannotConnect, .connectionLost]

  /// Three retries.
  public static let standard = RetryPolicy(limit: 3)

  /// No retries: neither stale nor wrong connections are replaced.
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
