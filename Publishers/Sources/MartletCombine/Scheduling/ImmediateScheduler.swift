#if !canImport(Darwin)
/// Runs work immediately, on the caller's thread. Delays are ignored: its time does not pass.
public struct ImmediateScheduler: Scheduler, Sendable {
  /// There are no options.
  public typealias SchedulerOptions = Never

  /// The only point in its time.
  public struct SchedulerTimeType: Strideable, Sendable {
    /// Zero: there is no other time.
    public func distance(to other: SchedulerTimeType) -> Stride { 0 }

    /// The same time.
    public func advanced(by n: Stride) -> SchedulerTimeType { self }
  }

  /// The shared instance.
  public static let shared = ImmediateScheduler()

  /// Always the same time.
  public var now: SchedulerTimeType { SchedulerTimeType() }

  /// Zero.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Runs the work immediately.
  public func schedule(options: Never?, _ action: @escaping () -> Void) { action() }

  /// Runs the work immediately.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: Never?, _ action: @escaping () -> Void
  ) { action() }

  /// Runs the work immediately, and only once.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: Never?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    action()
    return Subscriptions.empty
  }
}

extension ImmediateScheduler.SchedulerTimeType {
  /// A number without a unit. Durations in seconds and fractions of them are zero.
  public struct Stride: SchedulerTimeIntervalConvertible, ExpressibleByFloatLiteral, SignedNumeric, Comparable,
    Codable, Sendable
  {
    /// The number, with its sign.
    public var magnitude: Int

    /// Makes a stride of a number.
    public init(_ value: Int) { magnitude = value }

    /// Makes a stride of a number.
    public init(integerLiteral value: Int) { self.init(value) }

    /// Makes a stride of a number without its fraction.
    public init(floatLiteral value: Double) { self.init(Int(value)) }

    /// Makes a stride of a number, if it is not too large.
    public init?<T: BinaryInteger>(exactly source: T) {
      guard let value = Int(exactly: source) else { return nil }
      self.init(value)
    }

    public static func seconds(_ s: Int) -> Self { 0 }
    public static func seconds(_ s: Double) -> Self { 0 }
    public static func milliseconds(_ ms: Int) -> Self { 0 }
    public static func microseconds(_ us: Int) -> Self { 0 }
    public static func nanoseconds(_ ns: Int) -> Self { 0 }

    /// Compares the numbers.
    public static func < (left: Self, right: Self) -> Bool { left.magnitude < right.magnitude }

    /// The sum.
    public static func + (left: Self, right: Self) -> Self { Self(left.magnitude + right.magnitude) }

    /// The difference.
    public static func - (left: Self, right: Self) -> Self { Self(left.magnitude - right.magnitude) }

    /// The product.
    public static func * (left: Self, right: Self) -> Self { Self(left.magnitude * right.magnitude) }

    /// Multiplies the number.
    public static func *= (left: inout Self, right: Self) { left = left * right }
  }
}
#endif
