#if !canImport(Darwin)
import Dispatch
public import Foundation
@_spi(Toolkit) public import MartletCombine

/// Work is added to the queue as an operation: at once, or when its time has come.
extension OperationQueue: @retroactive Scheduler {
  /// A point in the queue's time.
  public typealias SchedulerTimeType = SchedulerDate

  /// No options are supported.
  public struct SchedulerOptions {}

  /// The current time.
  public var now: SchedulerTimeType { SchedulerTimeType(Date()) }

  /// Zero.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Adds the work to the queue.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let action = Locked(action)
    addOperation { action.value() }
  }

  /// Adds the work to the queue at a time.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let work = Locked(action)
    let deadline = DispatchTime.now() + max(0, date.date.timeIntervalSinceNow)
    DispatchQueue.global().asyncAfter(deadline: deadline) { [self] in addOperation { work.value() } }
  }

  /// Adds the work to the queue repeatedly.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    repeating(after: date, interval: interval, tolerance: tolerance, options: options, action)
  }
}
#endif
