#if canImport(Combine)
import Combine
#endif

/// The subscription that every publisher of this module gives to its subscriber. It queues values until they are
/// requested, delivers them one after another, whatever threads they come from, and completes once.
///
/// A publisher with stored values sets a closure from which values are pulled; a publisher that receives values sends
/// them.
final class DownstreamSubscription<Value, Failure: Error>: Subscription, Sendable {
  private let state: Locked<State>
  /// Runs deliveries; nil to run them at once, on the thread of the sender.
  private let run: Locked<(@escaping () -> Void) -> Void>?

  /// The next value of a publisher from which values are pulled; nil at the end.
  enum PullResult {
    case value(Value)
    case last(Value)
  }

  private struct State {
    var deliver: ((Value) -> Subscribers.Demand)?
    var complete: ((Subscribers.Completion<Failure>) -> Void)?
    var queue: [(value: Value, delivered: (() -> Void)?)] = []
    var demand = Subscribers.Demand.none
    var ending: Subscribers.Completion<Failure>?
    var isDelivering = false
    var isClosed = false
    var pull: (() -> PullResult?)?
    var onDemand: ((Subscribers.Demand) -> Void)?
    var onCancel: (() -> Void)?

    /// Whether something can be delivered now.
    var hasStep: Bool {
      guard !isClosed else { return false }
      if queue.isEmpty { return ending != nil || (pull != nil && demand > .none) }
      return demand > .none
    }
  }

  private enum Step {
    case deliver(Value, to: (Value) -> Subscribers.Demand, delivered: (() -> Void)?)
    case pull(() -> PullResult?)
    case complete(Subscribers.Completion<Failure>, to: (Subscribers.Completion<Failure>) -> Void)
  }

  /// - Parameter run: runs deliveries; nil to run them at once.
  init<S: Subscriber>(
    to downstream: S, run: ((@escaping () -> Void) -> Void)? = nil
  ) where S.Input == Value, S.Failure == Failure {
    state = Locked(
      State(deliver: { downstream.receive($0) }, complete: { downstream.receive(completion: $0) }))
    self.run = run.map { Locked($0) }
  }

  /// Sets the closures that are called when values are requested, and when the subscription is cancelled. Call this
  /// before the subscriber receives the subscription.
  func connect(
    pull: (() -> PullResult?)? = nil, onDemand: ((Subscribers.Demand) -> Void)? = nil, onCancel: (() -> Void)? = nil
  ) {
    state.withLock { state in
      state.pull = pull
      state.onDemand = onDemand
      state.onCancel = onCancel
    }
  }

  /// The number of requested values that are neither delivered nor queued.
  var outstanding: Subscribers.Demand { state.withLock { state in state.demand - state.queue.count } }

  /// Whether the subscription has ended.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// The treatment of a value that was not requested.
  enum WithoutDemand {
    case keep
    case discard
    /// Keep it until the next value replaces it.
    case keepLatest
  }

  /// Queues a value, for delivery by ``drain()``. A publisher with several subscribers or threads queues values under
  /// its own lock and delivers them afterwards, so that the order is the same for all subscribers.
  func enqueue(_ value: Value, withoutDemand: WithoutDemand) {
    let replaced = state.withLock { state -> Value? in
      guard !state.isClosed, state.ending == nil else { return nil }
      let hasDemand = state.demand > .max(state.queue.count)
      if withoutDemand == .discard, !hasDemand { return nil }
      let replacesLast = withoutDemand == .keepLatest && Subscribers.Demand.max(state.queue.count) > state.demand
      let replaced = replacesLast ? state.queue.removeLast().value : nil
      state.queue.append((value, nil))
      return replaced
    }
    withExtendedLifetime(replaced) {}  // Released outside the lock, because deinitializers may call other code.
  }

  /// Queues the completion, after all queued values.
  func enqueue(_ ending: Subscribers.Completion<Failure>) {
    state.withLock { state in state.ending = state.ending ?? ending }
  }

  /// Delivers a value when it is requested.
  func send(_ value: Value, thenFinish isLast: Bool = false, delivered: (() -> Void)? = nil) {
    state.withLock { state in
      guard !state.isClosed, state.ending == nil else { return }
      state.queue.append((value, delivered))
      if isLast { state.ending = .finished }
    }
    drain()
  }

  /// Delivers a value when it is requested. It replaces an older value that was not requested.
  func sendLatest(_ value: Value) {
    enqueue(value, withoutDemand: .keepLatest)
    drain()
  }

  /// Completes after all queued values were delivered.
  func finish(_ ending: Subscribers.Completion<Failure>) {
    enqueue(ending)
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

  /// Releases all references, to break cycles.
  private func close() -> State {
    state.withLock { state in
      let old = state
      state = State(isDelivering: old.isDelivering, isClosed: true)
      return old.isClosed ? State() : old
    }
  }

  /// Delivers the queued values that were requested.
  func drain() {
    let shouldDeliver = state.withLock { state in
      guard !state.isDelivering, state.hasStep else { return false }
      state.isDelivering = true
      return true
    }
    guard shouldDeliver else { return }
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
      if !state.queue.isEmpty {
        state.demand -= 1
        let next = state.queue.removeFirst()
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
