#if !canImport(Darwin)
import Dispatch
public import Foundation
@_spi(Toolkit) public import MartletCombine

/// The main run loop's work runs through `DispatchQueue.main`, which that run loop also serves. Therefore it also runs
/// in programs without a main run loop, such as those with an `async` entry point. Other run loops perform it in their
/// default mode.
extension RunLoop: @retroactive Scheduler {
  /// A point in the run loop's time.
  public typealias SchedulerTimeType = SchedulerDate

  /// No options are supported.
  public struct SchedulerOptions {}

  /// The current time.
  public var now: SchedulerTimeType { SchedulerTimeType(Date()) }

  /// Zero.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Performs the work in the run loop.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let action = Locked(action)
    guard self !== RunLoop.main else { return DispatchQueue.main.async { action.value() } }
    perform { action.value() }
    // `perform` does not wake a sleeping run loop, but a timer that is due does.
    add(Timer(fire: Date(), interval: 0, repeats: false) { _ in }, forMode: .default)
  }

  /// Performs the work in the run loop at a time.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) { schedule(at: date.date, tolerance: tolerance.timeInterval, in: .default, action) }

  /// Performs the work in the run loop repeatedly.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    repeating(after: date, interval: interval, tolerance: tolerance, options: options, action)
  }

  func schedule(at date: Date, tolerance: TimeInterval, in mode: Mode, _ action: @escaping () -> Void) {
    let action = Locked(action)
    guard self !== RunLoop.main else {
      let deadline = DispatchTime.now() + max(0, date.timeIntervalSinceNow)
      return DispatchQueue.main.asyncAfter(deadline: deadline) { action.value() }
    }
    let timer = Timer(fire: date, interval: 0, repeats: false) { _ in action.value() }
    timer.tolerance = tolerance
    add(timer, forMode: mode)
  }
}
#endif
