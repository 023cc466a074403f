/// How long something has taken, on any clock.
package struct Stopwatch: Sendable {
  private let read: @Sendable () -> Duration

  /// Starts now.
  package init(_ clock: any Clock<Duration>) { read = Self.start(clock) }

  private static func start<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  package var elapsed: Duration { read() }
}

extension Duration {
  /// In milliseconds, with their fraction.
  var inMilliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1_000_000_000_000_000
  }
}
