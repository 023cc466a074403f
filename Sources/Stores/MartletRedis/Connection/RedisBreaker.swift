/// Decides when a server is left alone: after time-outs in a row, lost connections in a row, or a failed attempt to connect.
///
/// Times are those of any clock that only goes forward.
struct RedisBreaker: Sendable {
  private let waitLimit: Duration
  private let rest: Duration
  private let longestRest: Duration
  /// The failures since the last answer in time.
  private var failures = 0
  private var firstFailure: Duration?
  /// How often the server was left alone since the last answer in time.
  private var rests = 0

  /// After how many failures in a row the server is left alone.
  static let threshold = 3

  init(_ configuration: RedisConfiguration) {
    (waitLimit, rest) = (configuration.waitLimit, configuration.rest)
    longestRest = max(rest, configuration.longestRest)
  }

  /// The server has answered in time.
  mutating func succeeded() { (failures, firstFailure, rests) = (0, nil, 0) }

  /// A call has got no answer in time. Many calls that began together fail together, which a short stall is enough for: so the
  /// failures have to be as far apart as the limit.
  ///
  /// - Parameter jitter: A number from 0 to 1.
  /// - Returns: How long to leave the server alone; nil if it may be asked.
  mutating func timedOut(at now: Duration, jitter: Double) -> Duration? {
    failures += 1
    let first = firstFailure ?? now
    firstFailure = first
    return failures >= Self.threshold && now - first >= waitLimit ? leaveAlone(jitter: jitter) : nil
  }

  /// The connection was lost. A new one is made at once, unless that has happened too often.
  mutating func lostConnection(at now: Duration, jitter: Double) -> Duration? {
    failures += 1
    firstFailure = firstFailure ?? now
    return failures >= Self.threshold ? leaveAlone(jitter: jitter) : nil
  }

  /// No connection could be made.
  mutating func failedToConnect(jitter: Double) -> Duration { leaveAlone(jitter: jitter) }

  /// The time is doubled each time, and varied by a fifth, so that the processes of a fleet do not come back together.
  private mutating func leaveAlone(jitter: Double) -> Duration {
    (failures, firstFailure) = (0, nil)
    let time = min(longestRest, rest * (1 << min(rests, 16)))
    rests += 1
    return time * (0.9 + 0.2 * jitter)
  }
}
