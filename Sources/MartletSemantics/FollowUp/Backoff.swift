/// How long to wait before a retry: a random time below a limit that doubles, "exponential backoff with full jitter".
///
/// The random part keeps clients that failed together from coming back together.
///
/// | retry | with the default, at most |
/// |---|---|
/// | 1 | 250 ms |
/// | 2 | 500 ms |
/// | 3 | 1 s |
/// | 8 and later | 20 s, with a `cap` of 20 s |
public struct Backoff: Sendable, Hashable {
  /// The longest wait before the first retry; each further one may take twice as long. 250 milliseconds by default.
  public var base: Duration
  /// The longest wait before any retry. 20 seconds by default.
  public var cap: Duration

  /// Makes a backoff.
  public init(base: Duration = .milliseconds(250), cap: Duration = .seconds(20)) {
    self.base = base
    self.cap = cap
  }

  /// The wait before a retry.
  ///
  /// - Parameters:
  ///   - retry: 1 for the first.
  ///   - fraction: The random part, from 0 (no wait) to 1 (the longest); what lies outside becomes the nearest inside.
  package func delay(beforeRetry retry: Int, fraction: Double) -> Duration {
    let cap = cap.bounded
    var window = min(base, cap)
    guard window > .zero else { return .zero }
    var doublings = retry - 1
    while doublings > 0, window < cap {
      window = min(window * 2, cap)
      doublings -= 1
    }
    return window * min(max(fraction, 0), 1)
  }
}

extension Duration {
  /// The time, but no more than a hundred years, and no less than as many before zero: it can be added to any time, while
  /// `.seconds(.max)`, somebody's "for ever", cannot.
  package var bounded: Duration { min(max(self, .zero - Self.century), Self.century) }

  private static let century = Duration.seconds(100 * 365 * 86_400)
}
