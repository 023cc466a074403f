import MartletSemantics

/// Measures time since its creation, on a clock of any type.
package struct Stopwatch: Sendable {
  private let start: any ClockReading

  /// Starts a stopwatch.
  package init(_ clock: any Clock<Duration>) { start = Self.read(clock) }

  private static func read(_ clock: some Clock<Duration>) -> any ClockReading { Reading(clock: clock, time: clock.now) }

  /// The time since the start.
  package var elapsed: Duration { start.elapsed }

  /// Suspends until the stopwatch has measured this time.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func sleep(until time: Duration) async throws { try await start.sleep(until: time) }
}

/// A clock together with one of its instants. For `ContinuousClock` it is small enough to be stored without an
/// allocation.
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

extension Duration {
  /// The duration in milliseconds, with fractions.
  package var inMilliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1_000_000_000_000_000
  }
}
