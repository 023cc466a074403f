#if !canImport(Combine)
/// The subscriber of an operator to its upstream publisher. Values can be requested before it receives its
/// subscription, and it can serve as a subscription itself.
final class UpstreamSubscriber<Input, Failure: Error>: Subscriber, Subscription, Sendable {
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

  private let state: Locked<State>

  init(
    onValue: @escaping (Input) -> Subscribers.Demand,
    onCompletion: @escaping (Subscribers.Completion<Failure>) -> Void
  ) {
    state = Locked(State(onValue: onValue, onCompletion: onCompletion))
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

extension DownstreamSubscription {
  /// Returns a subscriber that forwards values, completion, demand and cancellation unchanged.
  func makeUpstreamSubscriber() -> UpstreamSubscriber<Value, Failure> {
    let receiver = UpstreamSubscriber<Value, Failure> { value in
      self.send(value)
      return .none
    } onCompletion: {
      self.finish($0)
    }
    connect(onDemand: { receiver.request($0) }, onCancel: { receiver.cancel() })
    return receiver
  }
}

/// A step of a chain that processes one value after another, and the completion.
struct Stage<Input, InputFailure: Error, Output, Failure: Error> {
  enum OnValue {
    case emit(Output)
    case skip
    case emitLast(Output)
    case finish(Subscribers.Completion<Failure>)
  }

  enum OnCompletion {
    case finish(Subscribers.Completion<Failure>)
    case emitLast(Output)
  }

  let onValue: (Input) -> OnValue
  let onCompletion: (Subscribers.Completion<InputFailure>) -> OnCompletion
}

extension Stage where InputFailure == Failure {
  /// Makes a stage that forwards the completion unchanged.
  init(_ onValue: @escaping (Input) -> OnValue) {
    self.init(onValue: onValue, onCompletion: { .finish($0) })
  }

  /// Returns a stage that delivers at most one value, at the end, computed from all values.
  static func atEnd<State>(
    _ initial: State, _ next: @escaping (inout State, Input) -> Void, result: @escaping (State) -> Output?
  ) -> Stage {
    var state = initial
    return Stage(
      onValue: { value in
        next(&state, value)
        return .skip
      },
      onCompletion: { completion in
        if case .finished = completion, let result = result(state) { .emitLast(result) } else { .finish(completion) }
      })
  }
}

extension Stage where Failure == any Error {
  /// Makes a stage that fails if the closure throws.
  init(trying onValue: @escaping (Input) throws -> OnValue) {
    self.init(
      onValue: { input in
        do { return try onValue(input) } catch { return .finish(.failure(error)) }
      },
      onCompletion: { completion in
        switch completion {
        case .finished: .finish(.finished)
        case .failure(let error): .finish(.failure(error))
        }
      })
  }
}

extension Publisher {
  /// Attaches a subscriber through a stage. Each subscription has its own stage, because a stage may have state.
  func relay<S: Subscriber>(to subscriber: S, through stage: Stage<Output, Failure, S.Input, S.Failure>) {
    let downstream = DownstreamSubscription<S.Input, S.Failure>(to: subscriber)
    let upstream = WeakReference<UpstreamSubscriber<Output, Failure>>()
    let receiver = UpstreamSubscriber<Output, Failure> { input in
      switch stage.onValue(input) {
      case .emit(let value): downstream.send(value)
      case .skip: return .max(1)
      case .emitLast(let value):
        upstream.object?.cancel()
        downstream.send(value, thenFinish: true)
      case .finish(let ending):
        upstream.object?.cancel()
        downstream.finish(ending)
      }
      return .none
    } onCompletion: { completion in
      switch stage.onCompletion(completion) {
      case .emitLast(let value): downstream.send(value, thenFinish: true)
      case .finish(let ending): downstream.finish(ending)
      }
    }
    upstream.object = receiver
    downstream.connect(onDemand: { receiver.request($0) }, onCancel: { receiver.cancel() })
    subscriber.receive(subscription: downstream)
    receive(subscriber: receiver)
  }
}

/// A weak reference to an object that is created after the closures that use it.
final class WeakReference<Object: AnyObject> {
  weak var object: Object?
}
#endif
