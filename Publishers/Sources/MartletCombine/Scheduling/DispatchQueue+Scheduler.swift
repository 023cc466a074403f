#if !canImport(Darwin)
public import Dispatch

extension DispatchQueue: Scheduler {
  /// A point in the queue's time.
  public struct SchedulerTimeType: Strideable, Hashable, Codable, Sendable {
    /// The time as a type of Dispatch.
    public var dispatchTime: DispatchTime

    /// Makes a time from one of Dispatch's.
    public init(_ time: DispatchTime) { dispatchTime = time }

    public func distance(to other: SchedulerTimeType) -> Stride {
      let (from, to) = (dispatchTime.uptimeNanoseconds, other.dispatchTime.uptimeNanoseconds)
      return .nanoseconds(from <= to ? Int(clamping: to - from) : -Int(clamping: from - to))
    }

    public func advanced(by n: Stride) -> SchedulerTimeType { SchedulerTimeType(dispatchTime + n.timeInterval) }

    /// Hashes the time.
    public func hash(into hasher: inout Hasher) { hasher.combine(dispatchTime.rawValue) }

    /// Reads the number of nanoseconds since the start of the system.
    public init(from decoder: any Decoder) throws {
      let nanoseconds = try decoder.singleValueContainer().decode(UInt64.self)
      self.init(DispatchTime(uptimeNanoseconds: nanoseconds))
    }

    /// Writes the number of nanoseconds since the start of the system.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(dispatchTime.uptimeNanoseconds)
    }
  }

  /// The options for running work.
  public struct SchedulerOptions {
    /// The priority; unspecified for that of the queue.
    public var qos: DispatchQoS
    /// The flags of the work item.
    public var flags: DispatchWorkItemFlags
    /// The group of the work item.
    public var group: DispatchGroup?

    /// Makes options.
    public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], group: DispatchGroup? = nil) {
      self.qos = qos
      self.flags = flags
      self.group = group
    }
  }

  /// The current time.
  public var now: SchedulerTimeType { SchedulerTimeType(.now()) }

  /// Zero: timers are not coalesced.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Runs the work on the queue.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let action = Locked(action)
    async(group: options?.group, qos: options?.qos ?? .unspecified, flags: options?.flags ?? []) {
      action.value()
    }
  }

  /// Runs the work on the queue at a time.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let action = Locked(action)
    let item = DispatchWorkItem(qos: options?.qos ?? .unspecified, flags: options?.flags ?? []) {
      action.value()
    }
    if let group = options?.group {
      group.enter()
      item.notify(queue: self) { group.leave() }
    }
    asyncAfter(deadline: date.dispatchTime, execute: item)
  }

  /// Runs the work on the queue repeatedly.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    repeating(after: date, interval: interval, tolerance: tolerance, options: options, action)
  }
}

extension DispatchQueue.SchedulerTimeType {
  /// A duration in whole nanoseconds, limited to the range of `Int`. A plain number is a number of seconds.
  public struct Stride: SchedulerTimeIntervalConvertible, ExpressibleByFloatLiteral, SignedNumeric, Comparable,
    Hashable, Codable, Sendable
  {
    private enum CodingKeys: String, CodingKey {
      case magnitude = "_nanoseconds"
    }

    private static let second = 1_000_000_000

    /// The number of nanoseconds, with its sign.
    public var magnitude: Int

    private init(nanoseconds: Int) { magnitude = nanoseconds }

    /// Makes a duration from one of Dispatch's. `.never` is the longest.
    public init(_ timeInterval: DispatchTimeInterval) {
      switch timeInterval {
      case .seconds(let seconds): self = .seconds(seconds)
      case .milliseconds(let milliseconds): self = .milliseconds(milliseconds)
      case .microseconds(let microseconds): self = .microseconds(microseconds)
      case .nanoseconds(let nanoseconds): self = .nanoseconds(nanoseconds)
      case .never: self.init(nanoseconds: .max)
      @unknown default: self.init(nanoseconds: .max)
      }
    }

    /// Makes a duration in seconds.
    public init(floatLiteral value: Double) { self = .seconds(value) }

    /// Makes a duration in seconds.
    public init(integerLiteral value: Int) { self = .seconds(value) }

    /// Makes a duration in seconds, if it is not too long.
    public init?<T: BinaryInteger>(exactly source: T) {
      guard let seconds = Int(exactly: source) else { return nil }
      self = .seconds(seconds)
    }

    /// The duration as a type of Dispatch.
    public var timeInterval: DispatchTimeInterval { .nanoseconds(magnitude) }

    public static func seconds(_ s: Int) -> Self { limited(Int128(s) * Int128(second)) }

    public static func seconds(_ s: Double) -> Self {
      let nanoseconds = s * Double(second)
      return Self(nanoseconds: Int(exactly: nanoseconds.rounded()) ?? (nanoseconds < 0 ? .min : .max))
    }

    public static func milliseconds(_ ms: Int) -> Self { limited(Int128(ms) * 1_000_000) }

    public static func microseconds(_ us: Int) -> Self { limited(Int128(us) * 1_000) }

    public static func nanoseconds(_ ns: Int) -> Self { Self(nanoseconds: ns) }

    private static func limited(_ nanoseconds: Int128) -> Self { Self(nanoseconds: Int(clamping: nanoseconds)) }

    /// The sum.
    public static func + (left: Self, right: Self) -> Self {
      limited(Int128(left.magnitude) + Int128(right.magnitude))
    }

    /// The difference.
    public static func - (left: Self, right: Self) -> Self {
      limited(Int128(left.magnitude) - Int128(right.magnitude))
    }

    /// The product of the numbers of seconds: `.milliseconds(300) * 2` is 600 milliseconds.
    public static func * (left: Self, right: Self) -> Self {
      limited(Int128(left.magnitude) * Int128(right.magnitude) / Int128(second))
    }

    /// Multiplies the numbers of seconds.
    public static func *= (left: inout Self, right: Self) { left = left * right }

    /// Compares lengths.
    public static func < (left: Self, right: Self) -> Bool { left.magnitude < right.magnitude }
  }
}
#endif
