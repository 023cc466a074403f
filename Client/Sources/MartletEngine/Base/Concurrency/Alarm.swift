import MartletSemantics
import Synchronization

/// Runs an action once after a delay, unless it is cancelled first.
///
/// All alarms on a `ContinuousClock` share one task, which sleeps until the first of them is due. An alarm on another
/// clock, such as a test's, has its own task.
@_spi(Toolkit) public struct Alarm: Sendable {
  private let entry: AlarmEntry

  /// Sets an alarm. Its owner keeps it to cancel it when it is no longer needed; otherwise it is kept until it is due.
  ///
  /// - Parameters:
  ///   - delay: the time from now; if it is not positive, the alarm is due at once.
  ///   - clock: measures the time.
  ///   - action: what to do. It runs in a task without the caller's task-local values, and should be quick.
  public init(
    after delay: Duration, on clock: any Clock<Duration>, _ action: @escaping @Sendable () -> Void
  ) {
    self.init(at: delay, on: Stopwatch(clock), action)
  }

  /// Sets an alarm for the moment when a stopwatch reaches a time.
  init(at time: Duration, on stopwatch: Stopwatch, _ action: @escaping @Sendable () -> Void) {
    entry = AlarmEntry(action)
    if let instant = stopwatch.continuousInstant(at: time) {
      AlarmTimer.shared.add(entry, at: instant)
    } else {
      let sleeper = Task.detached { [entry] in
        guard (try? await stopwatch.sleep(until: time)) != nil else { return }
        entry.action()
      }
      entry.task.withLock { $0 = sleeper }
    }
  }

  /// Cancels the alarm: its action does not run, unless it is running already.
  public func cancel() {
    guard entry.takeAction() != nil else { return }
    if let task = entry.task.withLock({ $0 }) { task.cancel() } else { AlarmTimer.shared.remove(entry) }
  }
}

/// An alarm and its place in the shared timer.
/// SAFETY: its place changes only under the timer's lock; the rest has its own locks.
private final class AlarmEntry: HeapTimer, @unchecked Sendable {
  private let alarm: Mutex<(@Sendable () -> Void)?>
  /// The task of an alarm that does not use the shared timer.
  let task = Mutex<Task<Void, Never>?>(nil)

  init(_ action: @escaping @Sendable () -> Void) {
    alarm = Mutex(action)
    super.init()
  }

  override func action() { takeAction()?() }

  func takeAction() -> (@Sendable () -> Void)? { alarm.withLock { $0.take() } }
}

/// The timer of all alarms on a `ContinuousClock`.
private final class AlarmTimer: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let shared = AlarmTimer()

  private struct State {
    var alarms = TimerHeap()
    /// The task that sleeps until the first alarm is due; nil without one.
    var sleeper: Task<Void, Never>?
    /// When it wakes; the maximum without one.
    var wakes = UInt64.max
    /// Distinguishes the current sleeper from the sleepers that it replaced.
    var sleeperNumber = 0

    /// Replaces the current sleep. The caller starts the task of the new one when it has left the lock.
    mutating func beginSleep(until end: UInt64) -> Sleep {
      sleeperNumber += 1
      wakes = end
      return Sleep(number: sleeperNumber, end: end, replaced: sleeper.take())
    }
  }

  private struct Sleep {
    let number: Int
    let end: UInt64
    /// The task of the sleep that this one replaces.
    let replaced: Task<Void, Never>?
  }

  private let start = Instant.now
  private let state = Mutex(State())

  func add(_ alarm: AlarmEntry, at instant: Instant) {
    let due = nanoseconds(at: instant)
    let sleep = state.withLock { state in
      state.alarms.set(alarm, to: due)
      return due < state.wakes ? state.beginSleep(until: due) : nil
    }
    if let sleep { start(sleep) }
  }

  func remove(_ alarm: AlarmEntry) { state.withLock { $0.alarms.set(alarm, to: .max) } }

  /// Starts the task of a sleep. If the sleep was replaced in the meantime, the task is cancelled.
  private func start(_ sleep: Sleep) {
    sleep.replaced?.cancel()
    let instant = start + .nanoseconds(Int64(clamping: sleep.end))
    let task = Task.detached {
      guard (try? await ContinuousClock().sleep(until: instant)) != nil else { return }
      self.fireDue(sleeper: sleep.number)
    }
    let isCurrent = state.withLock { state in
      guard state.sleeperNumber == sleep.number else { return false }
      if state.wakes != .max { state.sleeper = task }
      return true
    }
    if !isCurrent { task.cancel() }
  }

  private func fireDue(sleeper number: Int) {
    let (due, sleep) = state.withLock { state -> ([AlarmEntry], Sleep?) in
      // If this sleeper was replaced too late to be cancelled, it leaves the alarms to the new one, which wakes
      // earlier.
      guard state.sleeperNumber == number else { return ([], nil) }
      let now = nanoseconds(at: .now)
      var due: [AlarmEntry] = []
      while let alarm = state.alarms.popDue(at: now) as? AlarmEntry { due.append(alarm) }
      (state.sleeper, state.wakes) = (nil, .max)
      return (due, state.alarms.next == .max ? nil : state.beginSleep(until: state.alarms.next))
    }
    if let sleep { start(sleep) }
    for alarm in due { alarm.action() }
  }

  /// The time since the timer was made: 0 for an instant before that, and always less than the maximum.
  private func nanoseconds(at instant: Instant) -> UInt64 {
    let parts = start.duration(to: instant).components
    guard parts.seconds < 1 << 33 else { return .max - 1 }
    return UInt64(clamping: parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000)
  }
}
