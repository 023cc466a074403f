#if canImport(Combine)
import Combine
#endif

/// The downstream half of every publisher here: keeps what is to be delivered until it is asked for, delivers one value
/// after another whatever threads they come from, and completes once.
///
/// Where a publisher is made of values that wait, it gives the outlet something to pull from; where values come by
/// themselves, it sends them.
final class Outlet<Value, Failure: Error>: Subscription, Sendable {
  private let state: Guarded<State>
  /// How deliveries are made where it is not at once, in the sender's thread.
  private let run: Guarded<(@escaping () -> Void) -> Void>?

  /// What a publisher that is pulled from has next; nil is the end.
  enum Pulled {
    case value(Value)
    case last(Value)
  }

  private struct State {
    var deliver: ((Value) -> Subscribers.Demand)?
    var complete: ((Subscribers.Completion<Failure>) -> Void)?
    var waiting: [(value: Value, delivered: (() -> Void)?)] = []
    var demand = Subscribers.Demand.none
    var ending: Subscribers.Completion<Failure>?
    var isDelivering = false
    var isClosed = false
    var pull: (() -> Pulled?)?
    var onDemand: ((Subscribers.Demand) -> Void)?
    var onCancel: (() -> Void)?

    /// Whether there is something to do now.
    var hasStep: Bool {
      guard !isClosed else { return false }
      if waiting.isEmpty { return ending != nil || (pull != nil && demand > .none) }
      return demand > .none
    }
  }

  private enum Step {
    case deliver(Value, to: (Value) -> Subscribers.Demand, delivered: (() -> Void)?)
    case pull(() -> Pulled?)
    case complete(Subscribers.Completion<Failure>, to: (Subscribers.Completion<Failure>) -> Void)
  }

  /// - Parameter run: how deliveries are made; at once where nothing else is said.
  init<S: Subscriber>(
    to downstream: S, run: ((@escaping () -> Void) -> Void)? = nil
  ) where S.Input == Value, S.Failure == Failure {
    state = Guarded(
      State(deliver: { downstream.receive($0) }, complete: { downstream.receive(completion: $0) }))
    self.run = run.map { Guarded($0) }
  }

  /// Says what happens when the downstream asks for more, and when it cancels or all is over. To be called before the
  /// downstream gets its subscription.
  func connect(
    pull: (() -> Pulled?)? = nil, onDemand: ((Subscribers.Demand) -> Void)? = nil, onCancel: (() -> Void)? = nil
  ) {
    state.withLock { state in
      state.pull = pull
      state.onDemand = onDemand
      state.onCancel = onCancel
    }
  }

  /// What the downstream asked for and has not got, beside what waits already.
  var outstanding: Subscribers.Demand { state.withLock { state in state.demand - state.waiting.count } }

  /// Whether nothing is delivered any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// What becomes of a value that nobody has asked for yet.
  enum Unasked {
    case keep
    case forget
    /// It stays until the next one comes.
    case keepLatest
  }

  /// Puts a value in line, to be delivered by ``drain()``. A publisher that serves several subscribers, or times, fills their
  /// lines under its own lock and drains them afterwards: so its order is everybody's.
  func offer(_ value: Value, unasked: Unasked) {
    let replaced = state.withLock { state -> Value? in
      guard !state.isClosed, state.ending == nil else { return nil }
      let isAskedFor = state.demand > .max(state.waiting.count)
      if unasked == .forget, !isAskedFor { return nil }
      let isInTheWay = unasked == .keepLatest && Subscribers.Demand.max(state.waiting.count) > state.demand
      let replaced = isInTheWay ? state.waiting.removeLast().value : nil
      state.waiting.append((value, nil))
      return replaced
    }
    withExtendedLifetime(replaced) {}  // its end may call out, and must not do that under the lock
  }

  /// Puts the end in line, behind everything that waits.
  func offer(_ ending: Subscribers.Completion<Failure>) {
    state.withLock { state in state.ending = state.ending ?? ending }
  }

  /// Delivers a value as soon as it is asked for.
  func send(_ value: Value, thenFinish isLast: Bool = false, delivered: (() -> Void)? = nil) {
    state.withLock { state in
      guard !state.isClosed, state.ending == nil else { return }
      state.waiting.append((value, delivered))
      if isLast { state.ending = .finished }
    }
    drain()
  }

  /// Delivers a value as soon as it is asked for, in place of an older one that nobody has asked for yet.
  func sendLatest(_ value: Value) {
    offer(value, unasked: .keepLatest)
    drain()
  }

  /// Completes when everything that waits has been delivered.
  func finish(_ ending: Subscribers.Completion<Failure>) {
    offer(ending)
    drain()
  }

  func request(_ demand: Subscribers.Demand) {
    let onDemand = state.withLock { state -> ((Subscribers.Demand) -> Void)? in
      guard !state.isClosed else { return nil }
      state.demand += demand
      return state.onDemand
    }
    if demand > .none { onDemand?(demand) }
    drain()
  }

  func cancel() {
    let old = close()
    old.onCancel?()
  }

  /// Lets go of everything, so that no cycle outlives the subscription.
  private func close() -> State {
    state.withLock { state in
      let old = state
      state = State(isDelivering: old.isDelivering, isClosed: true)
      return old.isClosed ? State() : old
    }
  }

  /// Delivers what is in line and asked for.
  func drain() {
    let isMine = state.withLock { state in
      guard !state.isDelivering, state.hasStep else { return false }
      state.isDelivering = true
      return true
    }
    guard isMine else { return }
    if let run { run.withLock { $0 }({ [self] in deliverAll() }) } else { deliverAll() }
  }

  private func deliverAll() {
    while let step = nextStep() { perform(step) }
  }

  private func nextStep() -> Step? {
    state.withLock { state -> Step? in
      guard state.hasStep, let deliver = state.deliver, let complete = state.complete else {
        state.isDelivering = false
        return nil
      }
      if !state.waiting.isEmpty {
        state.demand -= 1
        let next = state.waiting.removeFirst()
        return .deliver(next.value, to: deliver, delivered: next.delivered)
      }
      if let ending = state.ending { return .complete(ending, to: complete) }
      return state.pull.map { .pull($0) }
    }
  }

  private func perform(_ step: Step) {
    switch step {
    case .deliver(let value, let deliver, let delivered):
      let more = deliver(value)
      delivered?()
      if more > .none { request(more) }
    case .pull(let pull):
      switch pull() {
      case .value(let value): send(value)
      case .last(let value): send(value, thenFinish: true)
      case nil: finish(.finished)
      }
    case .complete(let ending, let complete):
      _ = close()
      complete(ending)
    }
  }
}
