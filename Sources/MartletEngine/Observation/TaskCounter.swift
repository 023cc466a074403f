import MartletSemantics
import Synchronization

/// Counts the exchanges that run: for an activity indicator, a badge, a test that waits for silence.
///
/// ```swift
/// let counter = TaskCounter(showsAfter: .milliseconds(200), hidesAfter: .milliseconds(500))
/// configuration.listeners = [counter]
/// for await isActive in counter.activity { spinner.isHidden = !isActive }
/// ```
///
/// An exchange counts from its start until its body has been read, has failed or was given up; redirects, retries and
/// other resends are part of it. One counter may listen to several sessions. Streams begin with what is so now, end when the
/// counter goes, and skip what changed back before anybody looked: their last element is always what is so.
public final class TaskCounter: EventListener {
  private let clock: any Clock<Duration>
  private let state: Mutex<State>

  private struct State: Sendable {
    var activity: ActivityState
    var observers: [Int: Observer] = [:]
    var lastID = 0
    var isDelivering = false
    /// Counts the changes, so that whoever delivers sees whether another came meanwhile.
    var version = 0
  }

  /// What there is to know.
  private struct Status: Sendable {
    let running: Int
    let isActive: Bool
  }

  private struct Observer: Sendable {
    let take: @Sendable (Status) -> Void
    let end: @Sendable () -> Void
  }

  /// Makes a counter.
  ///
  /// - Parameters:
  ///   - showsAfter: how long something has to run before ``isActive`` turns true: what is quick does not flicker.
  ///     Zero by default.
  ///   - hidesAfter: how long nothing has to run before it turns false: what follows soon does not flicker either. Zero by
  ///     default.
  ///   - clock: measures both.
  public init(
    showsAfter: Duration = .zero, hidesAfter: Duration = .zero, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.clock = clock
    state = Mutex(State(activity: ActivityState(showsAfter: showsAfter, hidesAfter: hidesAfter)))
  }

  deinit { for observer in state.withLock({ $0.observers.values }) { observer.end() } }

  /// How many exchanges run.
  public var running: Int { state.withLock { $0.activity.count } }

  /// Whether an indicator should be seen.
  public var isActive: Bool { state.withLock { $0.activity.isActive } }

  /// ``running`` as it changes, beginning with what it is.
  public var counts: AsyncStream<Int> { stream(of: \.running) }

  /// ``isActive`` as it changes, beginning with what it is.
  public var activity: AsyncStream<Bool> { stream(of: \.isActive) }

  /// Calls a closure with ``running`` and ``isActive``, now and after every change, one call after another, on whatever task
  /// changed them; for as long as the counter lives.
  public func onChange(_ handler: @escaping @Sendable (_ running: Int, _ isActive: Bool) -> Void) {
    add(Observer(take: { handler($0.running, $0.isActive) }, end: {}))
  }

  public func receive(_ event: Event, in exchange: Exchange) {
    switch event {
    case .started: change { $0.started(exchange.id) }
    case .finished: change { $0.finished(exchange.id) }
    default: break
    }
  }

  /// Counts something that is no exchange, until ``end(_:)`` is called with the number.
  package func begin() -> UInt64 {
    let number = Exchange().id
    change { $0.started(number) }
    return number
  }

  package func end(_ number: UInt64) { change { $0.finished(number) } }

  private func change(_ change: (inout ActivityState) -> ActivityState.Wait?) {
    let wait = state.withLock { state in
      state.version += 1
      return change(&state.activity)
    }
    deliver()
    guard let wait else { return }
    Task { [clock, weak self] in
      guard (try? await clock.sleep(for: wait.delay.bounded)) != nil else { return }
      self?.change {
        $0.waited(wait.generation)
        return nil
      }
    }
  }

  /// Tells everybody what is so. One at a time does this, and does it again where something changed meanwhile: nobody is
  /// told an older state after a newer one.
  private func deliver() {
    var told: Int?
    while true {
      let next: (Status, [Observer], Int)? = state.withLock { state in
        if told == nil, state.isDelivering { return nil }
        state.isDelivering = told != state.version
        let status = Status(running: state.activity.count, isActive: state.activity.isActive)
        return state.isDelivering ? (status, Array(state.observers.values), state.version) : nil
      }
      guard let (status, observers, version) = next else { return }
      for observer in observers { observer.take(status) }
      told = version
    }
  }

  @discardableResult
  private func add(_ observer: Observer) -> Int {
    let id = state.withLock { state in
      state.lastID += 1
      state.observers[state.lastID] = observer
      state.version += 1
      return state.lastID
    }
    deliver()
    return id
  }

  private func stream<Value: Equatable & Sendable>(of value: @escaping @Sendable (Status) -> Value) -> AsyncStream<
    Value
  > {
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let last = LastValue<Value>()
    let id = add(
      Observer(
        take: { if last.changes(to: value($0)) { continuation.yield(value($0)) } }, end: { continuation.finish() }))
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
    }
    return stream
  }

  private final class LastValue<Value: Equatable & Sendable>: Sendable {
    private let last = Mutex<Value?>(nil)

    func changes(to value: Value) -> Bool {
      last.withLock { last in
        defer { last = value }
        return last != value
      }
    }
  }
}
