#if !canImport(Combine)
import Dispatch
public import Foundation
public import MartletCombine

/// The main run loop's work runs through `DispatchQueue.main`, which that run loop also serves. Therefore it also runs
/// in programs without a main run loop, such as those with an `async` entry point. Other run loops perform it in their
/// default mode.
extension RunLoop: Scheduler {
  /// A point in the run loop's time.
  public struct SchedulerTimeType: Strideable, Hashable, Sendable {
    /// The time as a date.
    public var date: Date

    /// Makes a time from a date.
    public init(_ date: Date) { self.date = date }

    public func distance(to other: SchedulerTimeType) -> Stride {
      Stride(other.date.timeIntervalSinceReferenceDate - date.timeIntervalSinceReferenceDate)
    }

    public func advanced(by n: Stride) -> SchedulerTimeType {
      SchedulerTimeType(date.addingTimeInterval(n.timeInterval))
    }
  }

  /// No options are supported.
  public struct SchedulerOptions {}

  /// The current time.
  public var now: SchedulerTimeType { SchedulerTimeType(Date()) }

  /// Zero.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Performs the work in the run loop.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let action = Locked(action)
    guard self !== RunLoop.main else { return DispatchQueue.main.async { action.withLock { $0 }() } }
    perform { action.withLock { $0 }() }
    // `perform` does not wake a sleeping run loop, but a timer that is due does.
    add(Timer(fire: Date(), interval: 0, repeats: false) { _ in }, forMode: .default)
  }

  /// Performs the work in the run loop at a time.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let action = Locked(action)
    guard self !== RunLoop.main else {
      let deadline = DispatchTime.now() + max(0, date.date.timeIntervalSinceNow)
      return DispatchQueue.main.asyncAfter(deadline: deadline) { action.withLock { $0 }() }
    }
    let timer = Timer(fire: date.date, interval: 0, repeats: false) { _ in action.withLock { $0 }() }
    timer.tolerance = tolerance.timeInterval
    add(timer, forMode: .default)
  }

  /// Performs the work in the run loop repeatedly.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    repeating(after: date, interval: interval, tolerance: tolerance, options: options, action)
  }
}

extension RunLoop.SchedulerTimeType {
  /// A duration in seconds. A literal is a number of seconds.
  public struct Stride: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable, Hashable, Sendable {
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

extension RunLoop.SchedulerTimeType.Stride: ExpressibleByFloatLiteral {}
#endif
