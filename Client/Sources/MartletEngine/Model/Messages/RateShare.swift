@_spi(Toolkit) import MartletSemantics
import Synchronization

/// A maximum rate of bodies, for one request or shared by several.
///
/// ```swift
/// let background = RateShare(bytesPerSecond: 500_000)
/// request.options.maximumRate = background  // requests with the same share get 500 kB a second together
/// ```
///
/// It counts the bytes of request and response bodies as the program sees them: before they are compressed, and after
/// they are decompressed. Bytes wait where they are, so neither memory nor a thread is kept: the transport reads no
/// more from its connection, and the server has to wait. Up to 64 KiB, over HTTP/2 up to
/// ``ConnectionConfiguration/readAhead`` bytes, and what the system buffers may arrive at full speed. Bodies from the
/// cache are not limited.
///
/// Set it in ``SessionConfiguration/options`` to limit all requests of a session together.
public final class RateShare: Sendable {
  /// The bytes that may pass within a second.
  public let bytesPerSecond: Int
  private let bucket: Mutex<RateBucket>
  private let stopwatch: Stopwatch

  /// Makes a share.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the rate; values below 1 count as 1.
  ///   - clock: measures the time; the system's by default.
  public init(bytesPerSecond: Int, clock: any Clock<Duration> = ContinuousClock()) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    bucket = Mutex(RateBucket(bytesPerSecond: bytesPerSecond))
    stopwatch = Stopwatch(clock)
  }

  /// The number of bytes that pass at a time.
  var pieceSize: Int { bucket.withLock { $0.pieceSize } }

  /// Suspends until bytes may pass.
  func pass(_ count: Int) async throws {
    let now = stopwatch.elapsed
    let start = bucket.withLock { $0.take(count, at: now) }
    if start > now { try await stopwatch.sleep(until: start) }
  }
}

/// The rate below which a transfer fails, with ``HTTPError/Kind/tooSlow``: the equivalent of curl's `--speed-limit` and
/// `--speed-time`.
///
/// ```swift
/// request.options.minimumRate = MinimumRate(bytesPerSecond: 1_000, over: .seconds(20))
/// request.options.downloadResumptions = 3  // a download then continues over another connection
/// ```
public struct MinimumRate: Sendable, Hashable {
  /// The bytes that have to pass within a second, on average; values below 1 count as 1.
  public var bytesPerSecond: Int
  /// The time over which the average is taken; from a second to a day, 30 seconds by default.
  public var span: Duration

  /// Makes a rate.
  public init(bytesPerSecond: Int, over span: Duration = .seconds(30)) {
    self.bytesPerSecond = bytesPerSecond
    self.span = span
  }

  var floor: RateFloor { RateFloor(bytesPerSecond: bytesPerSecond, over: span) }

  func error(_ direction: String, _ phase: HTTPError.Phase) -> HTTPError {
    HTTPError(
      .tooSlow,
      "\(direction) fewer than \(bytesPerSecond) bytes a second for \(Quantity.text(span)): see minimumRate",
      phase: phase)
  }
}
