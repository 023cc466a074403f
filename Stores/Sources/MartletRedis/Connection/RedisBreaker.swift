/// Decides when the client stops using a server for a while: after consecutive timeouts, consecutive lost connections,
/// or a failed attempt to connect.
///
/// Times are read from any clock that only goes forward.
struct RedisBreaker: Sendable {
  private let waitLimit: Duration
  private let rest: Duration
  private let restLimit: Duration
  /// The failures since the last timely answer.
  private var failures = 0
  private var firstFailure: Duration?
  /// How many times the server was avoided since the last timely answer.
  private var rests = 0

  /// How many consecutive failures it takes to avoid the server.
  static let threshold = 3

  init(_ configuration: RedisConfiguration) {
    (waitLimit, rest) = (configuration.waitLimit, max(.milliseconds(1), configuration.rest))
    restLimit = max(rest, configuration.restLimit)
  }

  /// Records a timely answer.
  mutating func succeeded() { (failures, firstFailure, rests) = (0, nil, 0) }

  /// Records a call without a timely answer. Many calls that began together fail together, for which a short stall is
  /// enough. So the failures must span at least the limit.
  ///
  /// - Parameter jitter: a number from 0 to 1.
  /// - Returns: how long to avoid the server; nil if it may be used.
  mutating func timedOut(at now: Duration, jitter: Double) -> Duration? {
    failures += 1
    let first = firstFailure ?? now
    firstFailure = first
    return failures >= Self.threshold && now - first >= waitLimit ? leaveAlone(jitter: jitter) : nil
  }

  /// Records a lost connection. A new one is made at once, unless that has happened too often.
  mutating func lostConnection(at now: Duration, jitter: Double) -> Duration? {
    failures += 1
    firstFailure = firstFailure ?? now
    return failures >= Self.threshold ? leaveAlone(jitter: jitter) : nil
  }

  /// Records a failed attempt to connect.
  mutating func failedToConnect(jitter: Double) -> Duration { leaveAlone(jitter: jitter) }

  /// The time doubles each time, and varies by a fifth, so that the processes of a fleet do not return together.
  private mutating func leaveAlone(jitter: Double) -> Duration {
    (failures, firstFailure) = (0, nil)
    let time = min(restLimit, rest * (1 << min(rests, 16)))
    rests += 1
    return time * (0.9 + 0.2 * jitter)
  }
}
