#if !canImport(Darwin)
/// A duration that can be written in seconds and fractions of them: `.seconds(1)`, `.milliseconds(300)`.
public protocol SchedulerTimeIntervalConvertible {
  /// Returns this number of seconds.
  static func seconds(_ s: Int) -> Self
  /// Returns this number of seconds.
  static func seconds(_ s: Double) -> Self
  /// Returns this number of milliseconds.
  static func milliseconds(_ ms: Int) -> Self
  /// Returns this number of microseconds.
  static func microseconds(_ us: Int) -> Self
  /// Returns this number of nanoseconds.
  static func nanoseconds(_ ns: Int) -> Self
}

/// Runs work now or later: a `DispatchQueue`, a `RunLoop` (import `MartletCombineFoundation`), or immediately on the
/// caller's thread.
///
/// The protocol is that of Combine. A scheduler for tests implements the three methods and its own clock.
public protocol Scheduler<SchedulerTimeType> {
  /// A point in the scheduler's time.
  associatedtype SchedulerTimeType: Strideable where SchedulerTimeType.Stride: SchedulerTimeIntervalConvertible
  /// The options of the work.
  associatedtype SchedulerOptions

  /// The current time.
  var now: SchedulerTimeType { get }
  /// The minimum tolerance that has an effect.
  var minimumTolerance: SchedulerTimeType.Stride { get }

  /// Runs the work as soon as possible.
  func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void)
  /// Runs the work at a time, within the tolerance.
  func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void)
  /// Runs the work at a time, and then repeatedly, until the returned object is cancelled.
  func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable
}

extension Scheduler {
  /// Runs the work as soon as possible.
  public func schedule(_ action: @escaping () -> Void) { schedule(options: nil, action) }

  /// Runs the work at a time, within the tolerance.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, _ action: @escaping () -> Void
  ) { schedule(after: date, tolerance: tolerance, options: nil, action) }

  /// Runs the work at a time.
  public func schedule(after date: SchedulerTimeType, _ action: @escaping () -> Void) {
    schedule(after: date, tolerance: minimumTolerance, action)
  }

  /// Runs the work at a time, and then repeatedly, until the returned object is cancelled.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    _ action: @escaping () -> Void
  ) -> any Cancellable { schedule(after: date, interval: interval, tolerance: tolerance, options: nil, action) }

  /// Runs the work at a time, and then repeatedly, until the returned object is cancelled.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, _ action: @escaping () -> Void
  ) -> any Cancellable { schedule(after: date, interval: interval, tolerance: minimumTolerance, action) }

  /// Runs the work repeatedly by scheduling it again after each run. If a run takes longer than the interval, the next
  /// one follows immediately, and missed runs are skipped.
  @_spi(Toolkit) public func repeating(
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
  private let action: Locked<(() -> Void)?>

  init(
    scheduler: Context, interval: Context.SchedulerTimeType.Stride, tolerance: Context.SchedulerTimeType.Stride,
    options: Context.SchedulerOptions?, _ action: @escaping () -> Void
  ) {
    self.scheduler = scheduler
    self.interval = interval
    self.tolerance = tolerance
    self.options = options
    self.action = Locked(action)
  }

  func run(at date: Context.SchedulerTimeType) {
    scheduler.schedule(after: date, tolerance: tolerance, options: options) { [self] in
      guard let action = action.value else { return }
      action()
      run(at: max(scheduler.now, date.advanced(by: interval)))
    }
  }

  func cancel() { _ = action.take() }
}
#endif
