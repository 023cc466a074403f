@_spi(Toolkit) import MartletSemantics

/// Measures time since its creation, on a clock of any type.
@_spi(Toolkit) public struct Stopwatch: Sendable {
  /// The usual clock has its own case for speed, because each call may start a stopwatch.
  private enum Start: Sendable {
    case continuous(ContinuousClock.Instant)
    case other(any ClockReading)
  }

  private let start: Start

  /// Starts a stopwatch.
  public init(_ clock: any Clock<Duration>) {
    start = type(of: clock) == ContinuousClock.self ? .continuous(.now) : .other(Self.read(clock))
  }

  private static func read(_ clock: some Clock<Duration>) -> any ClockReading { Reading(clock: clock, time: clock.now) }

  /// The time since the start.
  public var elapsed: Duration {
    switch start {
    case .continuous(let instant): instant.duration(to: .now)
    case .other(let reading): reading.elapsed
    }
  }

  /// The instant at which a stopwatch on a `ContinuousClock` measures this time; nil on another clock.
  func continuousInstant(at time: Duration) -> ContinuousClock.Instant? {
    guard case .continuous(let instant) = start else { return nil }
    return instant + time.bounded
  }

  /// Suspends until the stopwatch has measured this time.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func sleep(until time: Duration) async throws {
    switch start {
    case .continuous(let instant): try await ContinuousClock().sleep(until: instant + time.bounded)
    case .other(let reading): try await reading.sleep(until: time)
    }
  }
}

/// A clock together with one of its instants.
private protocol ClockReading: Sendable {
  var elapsed: Duration { get }
  func sleep(until offset: Duration) async throws
}

private struct Reading<C: Clock<Duration>>: ClockReading {
  let clock: C
  let time: C.Instant

  var elapsed: Duration { time.duration(to: clock.now) }

  func sleep(until offset: Duration) async throws {
    try await clock.sleep(until: time.advanced(by: offset.bounded), tolerance: nil)
  }
}
