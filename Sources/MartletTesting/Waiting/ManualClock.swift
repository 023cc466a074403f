/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let task = Task { try await clock.sleep(for: .seconds(30)) }
/// try await clock.sleepers(1)          // now it really sleeps
/// clock.advance(by: .seconds(30))      // and now it wakes
/// ```
public final class ManualClock: Clock {
  /// What lies between two moments.
  public typealias Duration = Swift.Duration

  /// A moment of the clock: how long after its making.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public let elapsed: Swift.Duration

    /// The moment that much later.
    public func advanced(by duration: Swift.Duration) -> Instant { Instant(elapsed: elapsed + duration) }
    /// How long it is from this moment to the other; negative if that came before.
    public func duration(to other: Instant) -> Swift.Duration { other.elapsed - elapsed }
    /// Whether the left moment comes first.
    public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
  }

  private struct Time: Sendable {
    var now = Instant(elapsed: .zero)
    var sleepers: [Int: Instant] = [:]
    var lastID = 0
  }

  private let time = Watched(Time())

  /// Makes a clock at zero.
  public init() {}

  /// The moment that the clock shows.
  public var now: Instant { time.state.now }

  /// Zero: every moment can be shown.
  public var minimumResolution: Swift.Duration { .zero }

  /// Sleeps until the clock is moved to the deadline or beyond. The tolerance has no meaning here.
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

  /// Moves the clock. It passes through every deadline on the way and wakes who sleeps until then, the earliest first;
  /// what the woken do, they do on their own tasks. A negative duration moves nothing.
  public func advance(by duration: Swift.Duration) {
    let end = now.advanced(by: max(duration, .zero))
    while let deadline = nextDeadline(upTo: end) { move(to: deadline) }
    move(to: end)
  }

  /// Suspends until at least so many tasks sleep.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleepers(_ count: Int) async throws {
    _ = try await time.wait { $0.sleepers.count >= count ? true : nil }
  }

  private func nextDeadline(upTo end: Instant) -> Instant? {
    let time = time.state
    return time.sleepers.values.filter { $0 > time.now && $0 <= end }.min()
  }

  /// Who has slept enough is no sleeper any more from this moment on, and not only when its task has run.
  private func move(to instant: Instant) {
    time.update { time in
      time.now = max(time.now, instant)
      time.sleepers = time.sleepers.filter { $0.value > instant }
    }
  }
}
