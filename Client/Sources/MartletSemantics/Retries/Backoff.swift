/// The delay before a retry: a random time below a limit that doubles, "exponential backoff with full jitter".
///
/// The random part prevents clients that failed at the same time from retrying at the same time.
///
/// | retry | with the default, at most |
/// |---|---|
/// | 1 | 250 ms |
/// | 2 | 500 ms |
/// | 3 | 1 s |
/// | 8 and later | 20 s, with a `delayLimit` of 20 s |
public struct Backoff: Sendable, Hashable {
  /// The maximum delay before the first retry, which doubles for each further retry. 250 milliseconds by default.
  public var base: Duration
  /// The maximum delay before any retry. 20 seconds by default.
  public var delayLimit: Duration

  /// Makes a backoff.
  public init(base: Duration = .milliseconds(250), delayLimit: Duration = .seconds(20)) {
    self.base = base
    self.delayLimit = delayLimit
  }

  /// Returns the delay before a retry.
  ///
  /// - Parameters:
  ///   - retry: the number of the retry, 1 for the first.
  ///   - fraction: the random part, from 0 (no delay) to 1 (the maximum); other values are clamped.
  @_spi(Toolkit) public func delay(beforeRetry retry: Int, fraction: Double) -> Duration {
    let delayLimit = delayLimit.bounded
    var window = min(base, delayLimit)
    guard window > .zero else { return .zero }
    var doublings = retry - 1
    while doublings > 0, window < delayLimit {
      window = min(window * 2, delayLimit)
      doublings -= 1
    }
    return window * min(max(fraction, 0), 1)
  }
}

extension Duration {
  /// The duration, limited to a hundred years in both directions, so that it can be added to any time. Callers use
  /// `.seconds(.max)` for "never", which cannot be added.
  @_spi(Toolkit) public var bounded: Duration { min(max(self, .zero - Self.century), Self.century) }

  private static let century = Duration.seconds(100 * 365 * 86_400)
}

/// The delay that a server requests with `Retry-After` (RFC 9110 §10.2.3).
@_spi(Toolkit) public enum RetryAfter {
  /// Returns the requested delay; nil if there is none, or none that can be parsed.
  ///
  /// A date is compared with the `Date` of the response, if there is one, so that different clocks do not matter. A
  /// date in the past requests no delay. The longest of several delays counts.
  ///
  /// - Parameters:
  ///   - fields: the fields of the response.
  ///   - now: the current time, for a response without `Date`.
  public static func delay(in fields: HTTPFields, now: Date) -> Duration? {
    let present = present(in: fields, now: now)
    return fields[values: .retryAfter].compactMap { seconds($0) ?? date($0, present) }.max()
  }

  /// The time of a response according to its server; the current time if it has no valid `Date`.
  static func present(in fields: HTTPFields, now: Date) -> Date {
    fields[.date].flatMap { HTTPDate.parse($0, now: now) } ?? now
  }

  /// Parses `delay-seconds = 1*DIGIT`, limited to ``secondsLimit``. Some servers send a fraction, which is rounded up:
  /// a request that comes too early is refused again.
  static func seconds(_ value: String) -> Duration? {
    let parts = ASCII.trimmed(value).utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(ASCII.isDigit) }) else { return nil }
    let whole = min(Int64(Substring(parts[0])) ?? .max, secondsLimit)
    let isFraction = parts.count == 2 && parts[1].contains { $0 != UInt8(ascii: "0") }
    return .seconds(isFraction ? whole + 1 : whole)
  }

  private static func date(_ value: String, _ present: Date) -> Duration? {
    guard let date = HTTPDate.parse(value, now: present) else { return nil }
    return .seconds(max(0, date.timeIntervalSince(present)))
  }

  /// A hundred years, which can be added to any time without overflow.
  private static let secondsLimit: Int64 = 100 * 365 * 86_400
}
