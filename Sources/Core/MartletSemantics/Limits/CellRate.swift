/// What a rate limit says to a request.
public enum RateLimitDecision: Sendable, Hashable {
  /// The request may be sent after this time; so many more may follow at once.
  case allowed(after: Duration, remaining: Int)
  /// The request may not be sent. One that is sent after this time would be allowed at once.
  case refused(retryAfter: Duration)
}

/// The generic cell rate algorithm (ITU-T I.371 §A), by which a rate limit needs one number of state: the time at which the
/// next request would arrive if all before it had been spaced evenly.
///
/// Times are those of any monotonic clock that starts at zero.
package struct CellRate: Sendable, Hashable {
  /// The theoretical arrival time of the next request.
  private var arrival = Duration.zero
  /// Until when nothing may be sent, because a server has said so.
  private var pause = Duration.zero

  /// Creates the state before any request.
  package init() {}

  /// Asks for one request, and counts it if it is allowed.
  ///
  /// - Parameters:
  ///   - interval: The time between two requests in the long run.
  ///   - burst: How many requests may be sent at once, at least 1.
  ///   - wait: The longest time that the request may wait. What waits has its place: a later request waits longer.
  ///   - now: The time.
  package mutating func take(interval: Duration, burst: Int, wait: Duration, at now: Duration) -> RateLimitDecision {
    let burst = max(1, burst)
    let earliest = max(now, pause)
    let next = max(arrival, earliest)
    // the request conforms if it does not arrive more than the tolerance before its theoretical time
    let start = max(earliest, next - interval * (burst - 1))
    guard start - now <= max(.zero, wait) else { return .refused(retryAfter: start - now) }
    arrival = next + interval
    let free = interval > .zero ? Int((interval * burst - (arrival - start)) / interval) : burst - 1
    return .allowed(after: start - now, remaining: min(burst - 1, max(0, free)))
  }

  /// Allows nothing before a time has passed, as a server has asked. A longer pause stays.
  package mutating func pause(for time: Duration, at now: Duration) { pause = max(pause, now + max(.zero, time)) }

  /// Whether the state is that before any request, so that it need not be kept.
  package func isIdle(at now: Duration) -> Bool { max(arrival, pause) <= now }
}
