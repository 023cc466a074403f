#if !canImport(Darwin)
extension Subscribers {
  /// The number of values that a subscriber requests. It compares and calculates with other demands and with numbers.
  public struct Demand: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The number; nil if it is unlimited.
    public let max: Int?

    /// Any number of values.
    public static let unlimited = Demand(max: nil)
    /// No values.
    public static let none = Demand(max: 0)

    /// This number of values. A negative number is a programming error and stops the program, as in Combine.
    public static func max(_ value: Int) -> Demand {
      precondition(value >= 0, "a demand of \(value) is invalid: request 0 or more")
      return Demand(max: value)
    }

    private static let unlimitedSize = UInt(Int.max) + 1

    /// The number; one more than the largest `Int` stands for an unlimited demand.
    private var size: UInt { max.map { UInt($0) } ?? Self.unlimitedSize }

    /// `max(3)`, `unlimited`.
    public var description: String { max.map { "max(\($0))" } ?? "unlimited" }
  }
}

// MARK: - Arithmetic

extension Subscribers.Demand {
  /// The sum. With unlimited, or if it is too large for a number, it is unlimited.
  public static func + (left: Self, right: Self) -> Self {
    guard let left = left.max, let right = right.max else { return .unlimited }
    let (sum, isTooLarge) = left.addingReportingOverflow(right)
    return isTooLarge ? .unlimited : Self(max: sum)
  }

  /// The sum with a number. It is at least none.
  public static func + (left: Self, right: Int) -> Self {
    guard let number = left.max else { return .unlimited }
    let (sum, isTooLarge) = number.addingReportingOverflow(right)
    return isTooLarge ? .unlimited : Self(max: Swift.max(0, sum))
  }

  /// The difference. It is at least none; unlimited minus anything is unlimited, and any number minus unlimited is
  /// none.
  public static func - (left: Self, right: Self) -> Self {
    guard let whole = left.max else { return .unlimited }
    return Self(max: Swift.max(0, whole - (right.max ?? whole)))
  }

  /// The difference from a number. It is at least none.
  public static func - (left: Self, right: Int) -> Self {
    guard let number = left.max else { return .unlimited }
    let (rest, isTooLarge) = number.subtractingReportingOverflow(right)
    return isTooLarge ? .unlimited : Self(max: Swift.max(0, rest))
  }

  /// The product with a number, which must not be negative. If it is too large for a number, it is unlimited.
  public static func * (left: Self, right: Int) -> Self {
    precondition(right >= 0, "a demand cannot be multiplied by \(right): use 0 or more")
    guard let number = left.max else { return .unlimited }
    let (product, isTooLarge) = number.multipliedReportingOverflow(by: right)
    return isTooLarge ? .unlimited : Self(max: product)
  }

  /// Adds to the demand.
  public static func += (left: inout Self, right: Self) { left = left + right }

  /// Adds a number to the demand.
  public static func += (left: inout Self, right: Int) { left = left + right }

  /// Subtracts from the demand.
  public static func -= (left: inout Self, right: Self) { left = left - right }

  /// Subtracts a number from the demand.
  public static func -= (left: inout Self, right: Int) { left = left - right }

  /// Multiplies the demand by a number, which must not be negative.
  public static func *= (left: inout Self, right: Int) { left = left * right }
}

// MARK: - Comparison

extension Subscribers.Demand: Comparable {
  /// Orders demands. Unlimited equals itself and is greater than any number.
  public static func < (left: Self, right: Self) -> Bool { left.size < right.size }
}

extension Subscribers.Demand {
  /// Whether the demand is this number. An unlimited demand equals no number.
  public static func == (left: Self, right: Int) -> Bool { left.max == right }

  /// Whether the demand is another number, or unlimited.
  public static func != (left: Self, right: Int) -> Bool { left.max != right }

  /// Whether the demand is less than a number.
  public static func < (left: Self, right: Int) -> Bool { left.max.map { $0 < right } ?? false }

  /// Whether the demand is a number up to this one.
  public static func <= (left: Self, right: Int) -> Bool { left.max.map { $0 <= right } ?? false }

  /// Whether the demand is greater than a number.
  public static func > (left: Self, right: Int) -> Bool { left.max.map { $0 > right } ?? true }

  /// Whether the demand is a number or more.
  public static func >= (left: Self, right: Int) -> Bool { left.max.map { $0 >= right } ?? true }

  /// Whether the demand is this number. An unlimited demand equals no number.
  public static func == (left: Int, right: Self) -> Bool { right == left }

  /// Whether the demand is another number, or unlimited.
  public static func != (left: Int, right: Self) -> Bool { right != left }

  /// Whether a number is less than the demand.
  public static func < (left: Int, right: Self) -> Bool { right > left }

  /// Whether a number is at most the demand.
  public static func <= (left: Int, right: Self) -> Bool { right >= left }

  /// Whether a number is greater than the demand.
  public static func > (left: Int, right: Self) -> Bool { right < left }

  /// Whether a number is at least the demand.
  public static func >= (left: Int, right: Self) -> Bool { right <= left }
}

// MARK: - Codable

extension Subscribers.Demand {
  /// Reads a number, as Combine writes it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let size = try container.decode(UInt.self)
    guard size <= Self.unlimitedSize else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a demand of \(size) is too large")
    }
    self.init(max: size == Self.unlimitedSize ? nil : Int(size))
  }

  /// Writes a number; unlimited is one more than the largest `Int`, as in Combine.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(size)
  }
}

extension Subscribers {
  /// How a publisher has completed.
  public enum Completion<Failure: Error> {
    /// Normally.
    case finished
    /// With an error.
    case failure(Failure)
  }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}

extension Subscribers.Completion: Codable where Failure: Codable {
  private enum CodingKeys: String, CodingKey {
    case success
    case error
  }

  /// Reads `{"success": true}`, or `{"success": false, "error": …}`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let isSuccess = try container.decode(Bool.self, forKey: .success)
    self = isSuccess ? .finished : .failure(try container.decode(Failure.self, forKey: .error))
  }

  /// Writes `{"success": true}`, or `{"success": false, "error": …}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .finished: try container.encode(true, forKey: .success)
    case .failure(let error):
      try container.encode(false, forKey: .success)
      try container.encode(error, forKey: .error)
    }
  }
}
#endif
