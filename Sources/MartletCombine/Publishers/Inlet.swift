#if !canImport(Combine)
/// The upstream half of an operator: a subscriber that may be asked for values before it has its subscription, and is itself
/// one that others may have.
final class Inlet<Input, Failure: Error>: Subscriber, Subscription, Sendable {
  private struct State {
    var subscription: (any Subscription)?
    var early = Subscribers.Demand.none
    var isOver = false
    let onValue: (Input) -> Subscribers.Demand
    let onCompletion: (Subscribers.Completion<Failure>) -> Void

    mutating func end() -> (any Subscription)? {
      isOver = true
      defer { subscription = nil }
      return subscription
    }
  }

  private let state: Guarded<State>

  init(
    onValue: @escaping (Input) -> Subscribers.Demand,
    onCompletion: @escaping (Subscribers.Completion<Failure>) -> Void
  ) {
    state = Guarded(State(onValue: onValue, onCompletion: onCompletion))
  }

  func receive(subscription: any Subscription) {
    let demand = state.withLock { state -> Subscribers.Demand? in
      guard !state.isOver, state.subscription == nil else { return nil }
      state.subscription = subscription
      defer { state.early = .none }
      return state.early
    }
    guard let demand else { return subscription.cancel() }
    if demand > .none { subscription.request(demand) }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    state.withLock { state in state.isOver ? nil : state.onValue }?(input) ?? .none
  }

  func receive(completion: Subscribers.Completion<Failure>) {
    let tell = state.withLock { state in
      let isFirst = !state.isOver
      _ = state.end()
      return isFirst ? state.onCompletion : nil
    }
    tell?(completion)
  }

  func request(_ demand: Subscribers.Demand) {
    let subscription = state.withLock { state in
      if state.subscription == nil, !state.isOver { state.early += demand }
      return state.subscription
    }
    if demand > .none { subscription?.request(demand) }
  }

  func cancel() { state.withLock { $0.end() }?.cancel() }
}

extension Outlet {
  /// The upstream half of a publisher that changes nothing: it hands on values, completion, demand and cancellation.
  func makeInlet() -> Inlet<Value, Failure> {
    let inlet = Inlet<Value, Failure> { value in
      self.send(value)
      return .none
    } onCompletion: {
      self.finish($0)
    }
    connect(onDemand: { inlet.request($0) }, onCancel: { inlet.cancel() })
    return inlet
  }
}
#endif
