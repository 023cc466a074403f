extension Array where Element == Double {
  /// The middle value, or the mean of the two in the middle; nil if there are none.
  var median: Double? {
    guard !isEmpty else { return nil }
    let sorted = sorted()
    let middle = count / 2
    return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

/// A measured value: the median of some rounds, and their range.
struct Figure: Codable, Equatable {
  var median: Double
  /// The minimum and the maximum; nil if there was one measurement.
  var low: Double?
  var high: Double?

  init(_ value: Double) { median = value }

  /// nil if there are no rounds.
  init?(_ rounds: [Double]) {
    guard let median = rounds.median else { return nil }
    self.median = median
    guard rounds.count > 1 else { return }
    (low, high) = (rounds.min(), rounds.max())
  }
}
