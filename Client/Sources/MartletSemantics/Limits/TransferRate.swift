/// Decides when bytes may pass that share a maximum rate: a token bucket without a reserve. Time is measured from any
/// fixed moment.
package struct RateBucket: Sendable, Hashable {
  /// The bytes that may pass within a second.
  private let bytesPerSecond: Int
  /// When all bytes that may pass so far have passed.
  private var free = Duration.zero

  /// - Parameter bytesPerSecond: values below 1 count as 1.
  package init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

  /// The number of bytes that pass at a time: those of a tenth of a second.
  package var pieceSize: Int { max(1, bytesPerSecond / 10) }

  /// Lets bytes pass after those before them.
  ///
  /// - Returns: when they may pass. They do not pass later than a moment after that, so no rate is lost by waiting.
  package mutating func take(_ count: Int, at now: Duration) -> Duration {
    let start = max(free, now)
    free = start + .seconds(Double(count) / Double(bytesPerSecond))
    return start
  }
}

/// Decides whether a transfer is too slow: whether fewer bytes than a rate requires have passed in the last span of
/// time in which it waited for the network. The span is watched in tenths, so the decision is late by a tenth at most.
package struct RateFloor: Sendable, Hashable {
  private static let partCount = 10

  /// The bytes that have to pass within a span.
  private let required: Double
  /// A tenth of the span.
  private let part: Duration
  /// The bytes of the last parts that are over, at most ten, the oldest first.
  private var parts: [Int] = []
  /// The bytes of the current part, and how long it has lasted.
  private var current = 0
  private var elapsed = Duration.zero

  /// - Parameters:
  ///   - bytesPerSecond: the rate; values below 1 count as 1.
  ///   - span: the time over which it is measured; from a second to a day.
  package init(bytesPerSecond: Int, over span: Duration) {
    let span = min(max(span, .seconds(1)), .seconds(86_400))
    required = Double(max(1, bytesPerSecond)) * (span / .seconds(1))
    part = span / Self.partCount
  }

  /// Counts bytes that have passed.
  package mutating func add(_ count: Int) { current = count > .max - current ? .max : current + count }

  /// Counts time in which the transfer has waited. Returns whether it has become too slow.
  package mutating func wait(_ time: Duration) -> Bool {
    elapsed += max(.zero, time)
    // A part includes its end: bytes that have arrived just then belong to it.
    while elapsed > part {
      elapsed -= part
      if endPart() { return true }
    }
    return false
  }

  private mutating func endPart() -> Bool {
    parts.append(current)
    current = 0
    if parts.count > Self.partCount { parts.removeFirst() }
    return parts.count == Self.partCount && parts.reduce(0.0, { $0 + Double($1) }) < required
  }

  /// How long the transfer may wait if no more bytes pass, before it is too slow.
  package var patience: Duration {
    var future = self
    for count in 1...(2 * Self.partCount) where future.endPart() { return part * count - elapsed }
    return part  // not reached: without bytes, a whole span is too slow
  }
}
