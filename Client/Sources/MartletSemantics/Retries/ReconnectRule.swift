/// Decides how long to wait before a lost connection is made again.
///
/// The random part of the delay becomes longer with each failure in a row. The series begins anew after a connection
/// that lasted longer than the longest possible delay before it, whatever was received on it. So a server that greets
/// and drops is not asked at full speed, and clients that lost a server at the same time do not return all at once.
@_spi(Toolkit) public struct ReconnectRule: Sendable {
  /// The shortest delay, to which the random part is added; zero by default. A server may have set it: more than an
  /// hour counts as an hour.
  package var minimumDelay: Duration
  /// The number of failures in a row.
  public private(set) var failures = 0
  private let backoff: Backoff

  /// Makes a rule.
  ///
  /// - Parameters:
  ///   - backoff: the random part of the delays.
  ///   - minimumDelay: the shortest delay; zero by default.
  public init(backoff: Backoff, minimumDelay: Duration = .zero) {
    self.backoff = backoff
    self.minimumDelay = minimumDelay
  }

  /// Counts a failure: of an attempt, or of a connection that ``ended(after:)``.
  public mutating func failed() { failures += 1 }

  /// Begins the series anew if a connection that has ended lasted long enough. Without ``failed()`` the end counts as
  /// no failure.
  ///
  /// - Parameter time: how long the connection lasted.
  public mutating func ended(after time: Duration) { if time > delay(fraction: 1) { succeeded() } }

  /// Begins the series anew.
  package mutating func succeeded() { failures = 0 }

  /// Returns the delay before the next attempt.
  ///
  /// - Parameters:
  ///   - fraction: the random part, from 0 (the minimum) to 1 (the maximum); other values are clamped.
  ///   - asked: the shortest delay that the server has asked for this time (`Retry-After`); more than an hour counts as
  ///     an hour.
  public func delay(fraction: Double, asked: Duration = .zero) -> Duration {
    let delay = min(minimumDelay, Self.askedLimit) + backoff.delay(beforeRetry: max(1, failures), fraction: fraction)
    return max(delay, min(asked, Self.askedLimit))
  }

  /// The longest delay that a server can ask for, as for a `RateLimit` and a login of a device. A server that asks for
  /// years is mistaken, for example about the unit.
  private static let askedLimit = Duration.seconds(3600)
}
