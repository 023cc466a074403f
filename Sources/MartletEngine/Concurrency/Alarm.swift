import MartletSemantics
import Synchronization

/// Runs an action once, after a delay, unless it is cancelled before.
///
/// All alarms on a `ContinuousClock` share one task, which sleeps until the first of them is due. An alarm on another
/// clock, a test's for example, has a task of its own.
package final class Alarm: Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>
  /// The task of an alarm that does not use the shared timer.
  private let task = Mutex<Task<Void, Never>?>(nil)

  /// Sets an alarm. Its owner keeps it, and cancels it when it is not needed any more.
  ///
  /// - Parameters:
  ///   - delay: the time from now; if it is not positive, the alarm is due at once.
  ///   - clock: measures the time.
  ///   - action: what to do. It runs in a task without the caller's task-local values, and should be quick.
  package convenience init(
    after delay: Duration, on clock: any Clock<Duration>, _ action: @escaping @Sendable () -> Void
  ) {
    self.init(at: delay, on: Stopwatch(clock), action)
  }

  /// Sets an alarm for the moment when a stopwatch measures a time.
  init(at time: Duration, on stopwatch: Stopwatch, _ action: @escaping @Sendable () -> Void) {
    self.action = Mutex(action)
    if let instant = stopwatch.continuousInstant(at: time) {
      AlarmTimer.shared.add(self, at: instant)
    } else {
      let sleeper = Task.detached { [weak self] in
        guard (try? await stopwatch.sleep(until: time)) != nil else { return }
        self?.fire()
      }
      task.withLock { $0 = sleeper }
    }
  }

  /// Cancels the alarm: its action does not run, unless it is running already.
  package func cancel() {
    guard takeAction() != nil else { return }
    if let task = task.withLock({ $0 }) { task.cancel() } else { AlarmTimer.shared.removeCancelled() }
  }

  fileprivate var isPending: Bool { action.withLock { $0 != nil } }

  fileprivate func fire() { takeAction()?() }

  private func takeAction() -> (@Sendable () -> Void)? { action.withLock { $0.take() } }

  deinit { task.withLock { $0 }?.cancel() }
}

/// The timer of all alarms on a `ContinuousClock`.
private final class AlarmTimer: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let shared = AlarmTimer()

  private struct State {
    var alarms = TimeQueue<Instant, Alarm>()
    /// The number of alarms that were cancelled and are still in the queue.
    var cancelled = 0
    /// The task that sleeps until the first alarm is due; nil without alarms.
    var sleeper: Sleeper?
    var lastSleeper = 0
  }

  private struct Sleeper {
    /// Tells it from the sleepers that it has replaced.
    let number: Int
    let wakes: Instant
    let task: Task<Void, Never>
  }

  private let state = Mutex(State())

  func add(_ alarm: Alarm, at instant: Instant) {
    let replaced = state.withLock { state -> Task<Void, Never>? in
      state.alarms.insert(alarm, at: instant)
      if let sleeper = state.sleeper, sleeper.wakes <= instant { return nil }
      let replaced = state.sleeper?.task
      sleep(until: instant, &state)
      return replaced
    }
    replaced?.cancel()
  }

  /// Takes an alarm's cancellation into account: once most of the alarms are cancelled, these are removed together.
  func removeCancelled() {
    state.withLock { state in
      state.cancelled += 1
      guard state.cancelled >= 64, state.cancelled * 2 > state.alarms.count else { return }
      state.alarms.removeAll { !$0.isPending }
      state.cancelled = 0
    }
  }

  /// Starts a task that sleeps until the instant, instead of the current one.
  private func sleep(until instant: Instant, _ state: inout State) {
    state.lastSleeper += 1
    let number = state.lastSleeper
    let task = Task.detached {
      guard (try? await ContinuousClock().sleep(until: instant)) != nil else { return }
      self.fireDue(sleeper: number)
    }
    state.sleeper = Sleeper(number: number, wakes: instant, task: task)
  }

  private func fireDue(sleeper number: Int) {
    let due = state.withLock { state -> [Alarm] in
      // A sleeper that was replaced too late to be cancelled leaves the alarms to the one that wakes earlier.
      guard state.sleeper?.number == number else { return [] }
      let now = Instant.now
      var due: [Alarm] = []
      while let alarm = state.alarms.popFirst(upTo: now) { due.append(alarm) }
      state.sleeper = nil
      if let next = state.alarms.firstInstant { sleep(until: next, &state) }
      return due
    }
    for alarm in due { alarm.fire() }
  }
}

/// Elements in the order of their instants: a binary heap.
struct TimeQueue<Instant: Comparable, Element> {
  private var entries: [(instant: Instant, element: Element)] = []

  var count: Int { entries.count }

  var firstInstant: Instant? { entries.first?.instant }

  mutating func insert(_ element: Element, at instant: Instant) {
    entries.append((instant, element))
    var index = entries.count - 1
    while index > 0, entries[index].instant < entries[(index - 1) / 2].instant {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Removes and returns the first element; nil if its instant is later than the given one.
  mutating func popFirst(upTo instant: Instant) -> Element? {
    guard let first = entries.first, first.instant <= instant else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    siftDown(from: 0)
    return first.element
  }

  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    entries.removeAll { isRemoved($0.element) }
    for index in entries.indices.reversed() { siftDown(from: index) }
  }

  private mutating func siftDown(from start: Int) {
    var index = start
    while true {
      let left = 2 * index + 1
      let children = left..<max(left, min(left + 2, entries.count))
      guard let least = children.min(by: { entries[$0].instant < entries[$1].instant }),
        entries[least].instant < entries[index].instant
      else { return }
      entries.swapAt(index, least)
      index = least
    }
  }
}
