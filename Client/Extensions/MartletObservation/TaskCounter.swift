@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Counts the calls in progress: for an activity indicator, a badge, or a test that waits until no call runs.
///
/// ```swift
/// let counter = TaskCounter(showsAfter: .milliseconds(200), hidesAfter: .milliseconds(500))
/// configuration.listeners = [counter]
/// for await isActive in counter.activity { spinner.isHidden = !isActive }
/// ```
///
/// A call counts from its start until its body was read to the end, failed or was cancelled. Redirects, retries and
/// other resends are part of the call. A counter may be the listener of several sessions. The streams begin with the
/// current value and end when the counter is released. Between two reads only the newest value is kept, so the last
/// element is always current.
public final class TaskCounter: EventListener {
  private let clock: any Clock<Duration>
  private let state: LatestValue<ActivityState>

  /// Makes a counter.
  ///
  /// - Parameters:
  ///   - showsAfter: how long calls have to run before ``isActive`` becomes true, so that an indicator does not flicker
  ///     for short ones. Zero by default.
  ///   - hidesAfter: how long there must be no call before it becomes false, so that an indicator does not flicker
  ///     between calls. Zero by default.
  ///   - clock: measures both times.
  public init(
    showsAfter: Duration = .zero, hidesAfter: Duration = .zero, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.clock = clock
    state = LatestValue(ActivityState(showsAfter: showsAfter, hidesAfter: hidesAfter))
  }

  /// The number of calls in progress.
  public var running: Int { state.current.count }

  /// Whether an indicator should be visible.
  public var isActive: Bool { state.current.isActive }

  /// The changes of ``running``, beginning with the current value.
  public var counts: AsyncStream<Int> { state.changes(of: \.count) }

  /// The changes of ``isActive``, beginning with the current value.
  public var activity: AsyncStream<Bool> { state.changes(of: \.isActive) }

  /// Calls a closure with ``running`` and ``isActive``, now and after every change, as long as the counter exists. Only
  /// one task at a time calls it, the one that caused the change.
  public func onChange(_ handler: @escaping @Sendable (_ running: Int, _ isActive: Bool) -> Void) {
    state.observe { handler($0.count, $0.isActive) }
  }

  public var events: Event.Kinds { [.started, .finished] }

  public func receive(_ event: Event, in call: Call) {
    switch event {
    case .started: change { $0.started(call.id) }
    case .finished: change { $0.finished(call.id) }
    default: break
    }
  }

  /// Counts work other than a call, until ``end(_:)`` is called with the number.
  @_spi(Toolkit) public func begin() -> UInt64 {
    let number = Call().id
    change { $0.started(number) }
    return number
  }

  @_spi(Toolkit) public func end(_ number: UInt64) { change { $0.finished(number) } }

  private func change(_ change: (inout ActivityState) -> ActivityState.Wait?) {
    let wait = state.change(change)
    guard let wait else { return }
    Task { [clock, weak self] in
      guard (try? await clock.sleep(for: wait.delay.bounded)) != nil else { return }
      self?.change {
        $0.waited(wait.generation)
        return nil
      }
    }
  }
}

/// Decides when an indicator is visible: it appears after tasks have run for long enough, and disappears after none has
/// run for long enough.
struct ActivityState: Sendable {
  private let showsAfter: Duration
  private let hidesAfter: Duration
  private var running: Set<UInt64> = []
  private(set) var isActive = false
  /// Increases when the current wait has become obsolete.
  private var generation = 0

  /// A wait that the caller has to perform: after the delay it calls ``waited(_:)`` with the number.
  struct Wait: Sendable, Equatable {
    let delay: Duration
    let generation: Int
  }

  init(showsAfter: Duration, hidesAfter: Duration) {
    self.showsAfter = showsAfter
    self.hidesAfter = hidesAfter
  }

  var count: Int { running.count }

  mutating func started(_ task: UInt64) -> Wait? {
    let wasIdle = running.isEmpty
    guard running.insert(task).inserted, wasIdle else { return nil }
    return turn(to: true, after: showsAfter)
  }

  mutating func finished(_ task: UInt64) -> Wait? {
    guard running.remove(task) != nil, running.isEmpty else { return nil }
    return turn(to: false, after: hidesAfter)
  }

  mutating func waited(_ generation: Int) {
    if generation == self.generation { isActive = !running.isEmpty }
  }

  private mutating func turn(to active: Bool, after delay: Duration) -> Wait? {
    generation += 1
    guard isActive != active else { return nil }  // The wait for the opposite change is not over.
    guard delay > .zero else {
      isActive = active
      return nil
    }
    return Wait(delay: delay, generation: generation)
  }
}
