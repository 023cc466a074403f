#if !canImport(Combine)
/// A length of time that can be written in seconds and their parts: `.seconds(1)`, `.milliseconds(300)`.
public protocol SchedulerTimeIntervalConvertible {
  /// So many seconds.
  static func seconds(_ s: Int) -> Self
  /// So many seconds.
  static func seconds(_ s: Double) -> Self
  /// So many thousandths of a second.
  static func milliseconds(_ ms: Int) -> Self
  /// So many millionths of a second.
  static func microseconds(_ us: Int) -> Self
  /// So many billionths of a second.
  static func nanoseconds(_ ns: Int) -> Self
}

/// Runs work now or later, somewhere: a `DispatchQueue`, a `RunLoop`, or at once in the caller's thread.
///
/// The protocol is Combine's. A scheduler for tests implements the three methods and a clock of its own.
public protocol Scheduler<SchedulerTimeType> {
  /// A point of the scheduler's time.
  associatedtype SchedulerTimeType: Strideable where SchedulerTimeType.Stride: SchedulerTimeIntervalConvertible
  /// What can be said about how work is run.
  associatedtype SchedulerOptions

  /// The time it is.
  var now: SchedulerTimeType { get }
  /// The least tolerance that makes a difference.
  var minimumTolerance: SchedulerTimeType.Stride { get }

  /// Runs the work as soon as it can.
  func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void)
  /// Runs the work at a time, or somewhat later.
  func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void)
  /// Runs the work at a time and then again and again, until what is returned is cancelled.
  func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable
}

extension Scheduler {
  /// Runs the work as soon as it can.
  public func schedule(_ action: @escaping () -> Void) { schedule(options: nil, action) }

  /// Runs the work at a time, or somewhat later.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, _ action: @escaping () -> Void
  ) { schedule(after: date, tolerance: tolerance, options: nil, action) }

  /// Runs the work at a time.
  public func schedule(after date: SchedulerTimeType, _ action: @escaping () -> Void) {
    schedule(after: date, tolerance: minimumTolerance, action)
  }

  /// Runs the work at a time and then again and again, until what is returned is cancelled.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    _ action: @escaping () -> Void
  ) -> any Cancellable { schedule(after: date, interval: interval, tolerance: tolerance, options: nil, action) }

  /// Runs the work at a time and then again and again, until what is returned is cancelled.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, _ action: @escaping () -> Void
  ) -> any Cancellable { schedule(after: date, interval: interval, tolerance: minimumTolerance, action) }

  /// Runs the work again and again by what runs it once. Where one run takes longer than the interval, the next one follows at
  /// once, and those that were missed are left out.
  func repeating(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> AnyCancellable {
    let repetition = Repetition(scheduler: self, interval: interval, tolerance: tolerance, options: options, action)
    repetition.run(at: date)
    return AnyCancellable { repetition.cancel() }
  }
}

private final class Repetition<Context: Scheduler> {
  private let scheduler: Context
  private let interval: Context.SchedulerTimeType.Stride
  private let tolerance: Context.SchedulerTimeType.Stride
  private let options: Context.SchedulerOptions?
  private let action: Guarded<(() -> Void)?>

  init(
    scheduler: Context, interval: Context.SchedulerTimeType.Stride, tolerance: Context.SchedulerTimeType.Stride,
    options: Context.SchedulerOptions?, _ action: @escaping () -> Void
  ) {
    self.scheduler = scheduler
    self.interval = interval
    self.tolerance = tolerance
    self.options = options
    self.action = Guarded(action)
  }

  func run(at date: Context.SchedulerTimeType) {
    scheduler.schedule(after: date, tolerance: tolerance, options: options) { [self] in
      guard let action = action.withLock({ $0 }) else { return }
      action()
      run(at: max(scheduler.now, date.advanced(by: interval)))
    }
  }

  func cancel() { _ = action.take() }
}

/// Runs work at once, in the caller's thread; it waits for nothing.
public struct ImmediateScheduler: Scheduler, Sendable {
  /// There are no options.
  public typealias SchedulerOptions = Never

  /// A point of a time that does not pass.
  public struct SchedulerTimeType: Strideable, Sendable {
    /// A length of time, which is counted and not waited for.
    public typealias Stride = NanosecondStride

    private let offset: Stride

    fileprivate init(_ offset: Stride) { self.offset = offset }

    public func distance(to other: SchedulerTimeType) -> Stride { other.offset - offset }

    public func advanced(by n: Stride) -> SchedulerTimeType { SchedulerTimeType(offset + n) }
  }

  /// The only one there needs to be.
  public static let shared = ImmediateScheduler()

  /// Always the same.
  public var now: SchedulerTimeType { SchedulerTimeType(0) }

  /// None.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Runs the work at once.
  public func schedule(options: Never?, _ action: @escaping () -> Void) { action() }

  /// Runs the work at once.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: Never?, _ action: @escaping () -> Void
  ) { action() }

  /// Runs the work at once, and only once.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: Never?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    action()
    return AnyCancellable {}
  }
}
#endif
