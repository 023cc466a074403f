/// Estimates how long an origin takes to answer, in bounded memory: it counts latencies in ranges that grow by a
/// quarter of an octave. From time to time it halves the counts, so that old latencies count less.
package struct LatencyEstimate: Sendable, Hashable {
  /// The ranges of an octave.
  private static let steps = 4
  /// The upper end of the first range.
  private static let shortest = Duration.microseconds(100)
  /// Up to about a minute and a half; the last range counts all longer latencies.
  private static let count = 20 * steps
  /// How many latencies are counted before the counts are halved.
  private static let halving = 1000.0

  private var counts: [Double] = []
  private var total = 0.0
  private var sinceHalving = 0.0

  /// Makes an estimate without latencies.
  package init() {}

  /// How many latencies the estimate has; older ones count less.
  package var weight: Double { total }

  /// Adds a latency.
  package mutating func add(_ latency: Duration) {
    if counts.isEmpty { counts = Array(repeating: 0, count: Self.count) }
    counts[Self.index(of: latency)] += 1
    total += 1
    sinceHalving += 1
    guard sinceHalving >= Self.halving else { return }
    for index in counts.indices { counts[index] /= 2 }
    total /= 2
    sinceHalving = 0
  }

  /// Returns the time that this share of the answers does not exceed; nil without latencies. It is at most 19 % too
  /// long, and not too short: answers that are only a little slower than most then need no second request.
  package func quantile(_ share: Double) -> Duration? {
    guard total > 0 else { return nil }
    var rest = min(1, max(0, share)) * total
    for (index, count) in counts.enumerated() where count > 0 {
      rest -= count
      if rest <= 1e-9 { return Self.end(of: index) }
    }
    return counts.lastIndex { $0 > 0 }.map(Self.end)
  }

  private static func index(of latency: Duration) -> Int {
    let ratio = latency / shortest
    guard ratio > 1 else { return 0 }
    // Rounded up, without Foundation's logarithm.
    let octave = min(ratio, Double(1 << 21)).exponent
    var index = Int(octave) * steps
    while index < count - 1, end(of: index) < latency { index += 1 }
    return min(index, count - 1)
  }

  private static func end(of index: Int) -> Duration { shortest * ends[index] }

  /// The upper ends of the ranges, as multiples of the shortest.
  private static let ends: [Double] = {
    let step = 1.189207115002721  // the fourth root of 2
    var end = 1.0
    return (0..<count).map { index in
      if index > 0 { end = index % steps == 0 ? Double(1 << (index / steps)) : end * step }
      return end
    }
  }()
}
