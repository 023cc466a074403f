#if !canImport(Darwin)
/// Calls a closure once, after a time. Setting it again replaces the previous closure, which is then not called.
///
/// It is scheduled as a repetition, because that can be cancelled. The closure is released when it has been called or
/// is not needed any more, however long the scheduler keeps its action.
final class ScheduledAction<Context: Scheduler> {
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let options: Context.SchedulerOptions?
  private let lock = Lock()
  private var action: (() -> Void)?
  private var repetition: (any Cancellable)?
  /// Counts settings: only the newest comes due.
  private var newest = 0

  init(interval: Context.SchedulerTimeType.Stride, scheduler: Context, options: Context.SchedulerOptions?) {
    self.interval = interval
    self.scheduler = scheduler
    self.options = options
  }

  func set(_ action: @escaping () -> Void) {
    _ = end()
    let number = lock.withLock { () -> Int in
      self.action = action
      newest += 1
      return newest
    }
    let new = scheduler.schedule(
      after: scheduler.now.advanced(by: interval), interval: interval, tolerance: scheduler.minimumTolerance,
      options: options
    ) { [self] in end(number)?() }
    // A scheduler may have run the action already.
    let isCurrent = lock.withLock { () -> Bool in
      guard self.action != nil, number == newest else { return false }
      repetition = new
      return true
    }
    if !isCurrent { new.cancel() }
  }

  func stop() { _ = end() }

  /// - Parameter number: the setting that has come due; nil for any.
  /// - Returns: the closure that was set.
  private func end(_ number: Int? = nil) -> (() -> Void)? {
    let (action, repetition) = lock.withLock { () -> ((() -> Void)?, (any Cancellable)?) in
      guard number == nil || number == newest else { return (nil, nil) }
      return (self.action.take(), self.repetition.take())
    }
    repetition?.cancel()
    return action
  }
}
#endif
