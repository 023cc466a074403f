#if !canImport(Darwin)
/// Calls a closure once, after a time. Setting it again replaces the previous closure, which is then not called.
///
/// The scheduler keeps at most one action for it, because most cannot remove an action before its time. If the closure
/// was set again, that action schedules itself anew for the rest of the time: the interval is constant, so that a later
/// setting is due later. The closure is released when it has been called or is not needed any more, however long the
/// scheduler keeps its action.
final class ScheduledAction<Context: Scheduler> {
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let options: Context.SchedulerOptions?
  private let lock = Lock()
  private var action: (() -> Void)?
  private var due: Context.SchedulerTimeType
  /// Counts settings: only the newest comes due.
  private var newest = 0
  private var isScheduled = false

  init(interval: Context.SchedulerTimeType.Stride, scheduler: Context, options: Context.SchedulerOptions?) {
    self.interval = interval
    self.scheduler = scheduler
    self.options = options
    due = scheduler.now
  }

  func set(_ action: @escaping () -> Void) {
    let due = scheduler.now.advanced(by: interval)
    var replaced: (() -> Void)?
    let number = lock.withLock { () -> Int? in
      replaced = self.action
      self.action = action
      self.due = due
      newest += 1
      defer { isScheduled = true }
      return isScheduled ? nil : newest
    }
    withExtendedLifetime(replaced) {}  // Released outside the lock, because deinitializers may call other code.
    if let number { schedule(number, at: due) }
  }

  func stop() {
    let stopped = lock.withLock { action.take() }
    withExtendedLifetime(stopped) {}
  }

  private func schedule(_ number: Int, at date: Context.SchedulerTimeType) {
    scheduler.schedule(after: date, tolerance: scheduler.minimumTolerance, options: options) { [self] in run(number) }
  }

  /// - Parameter number: the setting that has come due.
  private func run(_ number: Int) {
    var action: (() -> Void)?
    var next: (number: Int, date: Context.SchedulerTimeType)?
    lock.withLock {
      if self.action != nil, number != newest {
        next = (newest, due)
      } else {
        action = self.action.take()
        isScheduled = false
      }
    }
    if let next { schedule(next.number, at: next.date) }
    action?()
  }
}
#endif
