#if os(Linux)
extension Duration {
  /// Nanoseconds, rounded down to whole seconds.
  var nanosecondsOfWholeSeconds: UInt64 { nanoseconds / 1_000_000_000 * 1_000_000_000 }

  /// Nanoseconds; 0 for a negative duration, and no more than what fits into a timer.
  var nanoseconds: UInt64 {
    guard self > .zero else { return 0 }
    // `components` takes ten times as long.
    let nanoseconds = attoseconds / 1_000_000_000
    return UInt64(truncatingIfNeeded: min(nanoseconds, 1_000_000_000 << 33))
  }
}
#endif
