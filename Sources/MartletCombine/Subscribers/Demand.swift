#if !canImport(Combine)
extension Subscribers {
  /// How many values a subscriber asks for.
  public struct Demand: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number; nil for any number.
    public let max: Int?

    /// As many as there are.
    public static let unlimited = Demand(max: nil)
    /// None.
    public static let none = Demand(max: 0)

    /// This many. A negative number is a mistake in the source and stops the program, as in Combine.
    public static func max(_ value: Int) -> Demand {
      precondition(value >= 0, "a demand of \(value): ask for 0 or more")
      return Demand(max: value)
    }

    /// The sum; with unlimited it is unlimited.
    public static func + (left: Demand, right: Demand) -> Demand {
      guard let left = left.max, let right = right.max else { return .unlimited }
      let (sum, isTooLarge) = left.addingReportingOverflow(right)
      return isTooLarge ? .unlimited : Demand(max: sum)
    }

    /// The sum with a number.
    public static func + (left: Demand, right: Int) -> Demand { left + .max(right) }

    /// The difference, at least none; unlimited less something is unlimited.
    public static func - (left: Demand, right: Demand) -> Demand {
      guard let whole = left.max else { return .unlimited }
      return Demand(max: Swift.max(0, whole - (right.max ?? whole)))
    }

    /// The difference with a number.
    public static func - (left: Demand, right: Int) -> Demand { left - .max(right) }

    /// Adds to the demand.
    public static func += (left: inout Demand, right: Demand) { left = left + right }

    /// Adds a number to the demand.
    public static func += (left: inout Demand, right: Int) { left = left + right }

    /// Takes from the demand.
    public static func -= (left: inout Demand, right: Demand) { left = left - right }

    /// Takes a number from the demand.
    public static func -= (left: inout Demand, right: Int) { left = left - right }

    /// Unlimited is more than any number.
    public static func < (left: Demand, right: Demand) -> Bool {
      guard let number = left.max else { return false }
      return right.max.map { number < $0 } ?? true
    }

    /// `max(3)`, `unlimited`.
    public var description: String { max.map { "max(\($0))" } ?? "unlimited" }
  }

  /// How a publisher ended.
  public enum Completion<Failure: Error> {
    /// As it should.
    case finished
    /// With an error.
    case failure(Failure)
  }
}

extension Subscribers.Completion: Sendable {}
extension Subscribers.Completion: Equatable where Failure: Equatable {}
extension Subscribers.Completion: Hashable where Failure: Hashable {}
#endif
