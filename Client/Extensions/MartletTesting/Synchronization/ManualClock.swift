@_spi(Toolkit) import MartletServer

/// A clock that advances only when a test says so.
///
/// ```swift
/// let clock = ManualClock()
/// let task = Task { try await clock.sleep(for: .seconds(30)) }
/// try await clock.sleepers(1)          // the task sleeps
/// clock.advance(by: .seconds(30))      // the task resumes
/// ```
public final class ManualClock: Clock {
  /// The time between two instants.
  public typealias Duration = Swift.Duration

  /// An instant of the clock: the time since it was made.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public let elapsed: Swift.Duration

    /// Returns an instant that is later by this duration.
    public func advanced(by duration: Swift.Duration) -> Instant { Instant(elapsed: elapsed + duration) }
    /// Returns the time from this instant to the other; negative if the other is earlier.
    public func duration(to other: Instant) -> Swift.Duration { other.elapsed - elapsed }
    /// Whether the left instant is earlier.
    public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
  }

  private struct Time: Sendable {
    var now = Instant(elapsed: .zero)
    var sleepers: [Int: Instant] = [:]
    var lastID = 0

    var wakeUps: [Swift.Duration] { sleepers.values.map { now.duration(to: $0) }.sorted() }
  }

  private let time = Awaitable(Time())

  /// Makes a clock at zero.
  public init() {}

  /// The current instant.
  public var now: Instant { time.value.now }

  /// Zero.
  public var minimumResolution: Swift.Duration { .zero }

  /// Sleeps until the clock reaches the deadline. The tolerance is ignored.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
    try Task.checkCancellation()
    let id: Int? = time.update { time in
      guard deadline > time.now else { return nil }
      time.lastID += 1
      time.sleepers[time.lastID] = deadline
      return time.lastID
    }
    guard let id else { return }
    defer { time.update { $0.sleepers[id] = nil } }
    _ = try await time.wait { $0.now >= deadline ? true : nil }
  }

  /// Advances the clock. It stops at every deadline on the way and resumes the tasks that sleep until then, the
  /// earliest first; these go on concurrently, on their own tasks. A negative duration does nothing.
  public func advance(by duration: Swift.Duration) {
    let end = now.advanced(by: max(duration, .zero))
    while let deadline = nextDeadline(upTo: end) { move(to: deadline) }
    move(to: end)
  }

  /// Suspends until at least `count` tasks sleep.
  ///
  /// A session sleeps for more than its delays: a deadline is a sleeper too, from the beginning of its call. To count
  /// only the intended ones, `within` leaves out the tasks that sleep for longer than that from now.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// try await clock.sleepers(1, within: .seconds(30))   // a retry, but not the deadline of five minutes
  /// ```
  ///
  /// A wait of more than 10 seconds is reported on standard error, with its line and the current sleepers.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleepers(
    _ count: Int, within duration: Swift.Duration? = nil, fileID: String = #fileID, line: Int = #line
  ) async throws {
    let description: @Sendable (Time) -> String = { time in
      let last = duration.map { " within \($0)" } ?? ""
      let sleepers = count == 1 ? "sleeper" : "sleepers"
      return "\(count) \(sleepers) of a ManualClock\(last); its sleepers wake up after \(time.wakeUps)"
    }
    _ = try await time.wait(at: .init(fileID, line), saying: description) { time in
      let last = duration.map { time.now.advanced(by: $0) }
      let counted = time.sleepers.values.count { sleeper in last.map { sleeper <= $0 } ?? true }
      return counted >= count ? true : nil
    }
  }

  /// The times until the sleeping tasks wake up, the earliest first: for debugging a test that does not end.
  public var pendingWakeUps: [Swift.Duration] { time.value.wakeUps }

  private func nextDeadline(upTo end: Instant) -> Instant? {
    let time = time.value
    return time.sleepers.values.filter { $0 > time.now && $0 <= end }.min()
  }

  /// Tasks that reach their deadline stop counting as sleepers here, before they run.
  private func move(to instant: Instant) {
    time.update { time in
      time.now = max(time.now, instant)
      time.sleepers = time.sleepers.filter { $0.value > instant }
    }
  }
}
