#if !canImport(Darwin)
public import Foundation
public import MartletCombine

/// A point in the time of schedulers that measure it with dates: `RunLoop` and `OperationQueue`.
public struct SchedulerDate: Strideable, Hashable, Codable, Sendable {
  /// The time as a date.
  public var date: Date

  /// Makes a time from a date.
  public init(_ date: Date) { self.date = date }

  public func distance(to other: SchedulerDate) -> Stride {
    Stride(other.date.timeIntervalSinceReferenceDate - date.timeIntervalSinceReferenceDate)
  }

  public func advanced(by n: Stride) -> SchedulerDate { SchedulerDate(date.addingTimeInterval(n.timeInterval)) }

  /// A duration in seconds. A literal is a number of seconds.
  public struct Stride: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable, Hashable, Codable, Sendable {
    /// The number of seconds, with its sign.
    public var magnitude: TimeInterval

    /// Makes a duration in seconds.
    public init(_ timeInterval: TimeInterval) { magnitude = timeInterval }

    /// Makes a duration in seconds.
    public init(floatLiteral value: TimeInterval) { magnitude = value }

    /// Makes a duration in seconds.
    public init(integerLiteral value: Int) { magnitude = TimeInterval(value) }

    /// Makes a duration in seconds.
    public init?<T: BinaryInteger>(exactly source: T) {
      guard let seconds = TimeInterval(exactly: source) else { return nil }
      magnitude = seconds
    }

    /// The number of seconds.
    public var timeInterval: TimeInterval { magnitude }

    public static func seconds(_ s: Int) -> Self { Self(TimeInterval(s)) }

    public static func seconds(_ s: Double) -> Self { Self(s) }

    public static func milliseconds(_ ms: Int) -> Self { Self(TimeInterval(ms) / 1_000) }

    public static func microseconds(_ us: Int) -> Self { Self(TimeInterval(us) / 1_000_000) }

    public static func nanoseconds(_ ns: Int) -> Self { Self(TimeInterval(ns) / 1_000_000_000) }

    /// The sum.
    public static func + (left: Self, right: Self) -> Self { Self(left.magnitude + right.magnitude) }

    /// The difference.
    public static func - (left: Self, right: Self) -> Self { Self(left.magnitude - right.magnitude) }

    /// The product of the numbers of seconds.
    public static func * (left: Self, right: Self) -> Self { Self(left.magnitude * right.magnitude) }

    /// Multiplies the numbers of seconds.
    public static func *= (left: inout Self, right: Self) { left = left * right }

    /// Compares lengths.
    public static func < (left: Self, right: Self) -> Bool { left.magnitude < right.magnitude }
  }
}

extension SchedulerDate.Stride: ExpressibleByFloatLiteral {}
#endif
