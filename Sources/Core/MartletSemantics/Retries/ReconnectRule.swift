/// Decides how long to wait before a lost connection is made again.
///
/// The random part of the delay becomes longer with each failure in a row. The series begins anew after a connection
/// that lasted longer than the longest possible delay before it, whatever was received on it. So a server that greets
/// and drops is not asked at full speed, and clients that lost a server at the same time do not return all at once.
package struct ReconnectRule: Sendable {
  /// The shortest delay, to which the random part is added; zero by default.
  package var minimumDelay: Duration
  /// The number of failures in a row.
  package private(set) var failures = 0
  private let backoff: Backoff

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - backoff: the random part of the delays.
  ///   - minimumDelay: the shortest delay; zero by default.
  package init(backoff: Backoff, minimumDelay: Duration = .zero) {
    self.backoff = backoff
    self.minimumDelay = minimumDelay
  }

  /// Counts a failure: of an attempt, or of a connection that ``ended(after:)``.
  package mutating func failed() { failures += 1 }

  /// Begins the series anew if a connection that has ended lasted long enough. Without ``failed()`` the end counts as
  /// no failure.
  ///
  /// - Parameter time: how long the connection lasted.
  package mutating func ended(after time: Duration) { if time > delay(fraction: 1) { succeeded() } }

  /// Begins the series anew.
  package mutating func succeeded() { failures = 0 }

  /// Returns the delay before the next attempt.
  ///
  /// - Parameter fraction: the random part, from 0 (the minimum) to 1 (the maximum); other values are clamped.
  package func delay(fraction: Double) -> Duration {
    (minimumDelay + backoff.delay(beforeRetry: max(1, failures), fraction: fraction)).bounded
  }
}
