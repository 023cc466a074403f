#if !canImport(Combine)
/// Attaches a subscriber to the pairs of the values of two publishers.
///
/// - Parameter usesEachOnce: whether every value belongs to one pair only. Otherwise each new value is paired with the
///   latest value of the other publisher.
func pair<A: Publisher, B: Publisher, S: Subscriber>(
  _ a: A, _ b: B, usingEachOnce usesEachOnce: Bool, for subscriber: S
) where A.Failure == B.Failure, S.Input == (A.Output, B.Output), S.Failure == A.Failure {
  let downstream = DownstreamSubscription<(A.Output, B.Output), A.Failure>(to: subscriber)
  let pairs = Pairs<A.Output, B.Output, A.Failure>(downstream: downstream, usesEachOnce: usesEachOnce)
  let left = pairs.left
  let right = pairs.right
  let demand: (Subscribers.Demand) -> Void =
    usesEachOnce
    ? { [left, right] in
      left.request($0)
      right.request($0)
    } : { _ in }
  downstream.connect(onDemand: demand, onCancel: { pairs.cancel() })
  subscriber.receive(subscription: downstream)
  if !usesEachOnce {
    left.request(.unlimited)
    right.request(.unlimited)
  }
  a.receive(subscriber: left)
  b.receive(subscriber: right)
}

/// The values that one subscription has received from both publishers.
private final class Pairs<A, B, Failure: Error> {
  private struct State {
    let usesEachOnce: Bool
    var left: [A] = []
    var right: [B] = []
    var isLeftOver = false
    var isRightOver = false

    mutating func keep<T>(_ value: T, in values: WritableKeyPath<State, [T]>) {
      if !usesEachOnce { self[keyPath: values].removeAll() }
      self[keyPath: values].append(value)
    }

    mutating func takePair() -> (A, B)? {
      guard let a = left.first, let b = right.first else { return nil }
      if usesEachOnce {
        left.removeFirst()
        right.removeFirst()
      }
      return (a, b)
    }

    /// Whether no more pairs are possible, because a publisher has completed and all its values were used.
    var isExhausted: Bool {
      (isLeftOver && left.isEmpty) || (isRightOver && right.isEmpty) || (isLeftOver && isRightOver && !usesEachOnce)
    }
  }

  private let downstream: DownstreamSubscription<(A, B), Failure>
  private let state: Locked<State>

  lazy var left = UpstreamSubscriber<A, Failure> { [self] value in
    take { $0.keep(value, in: \.left) }
  } onCompletion: { [self] in
    ended($0) { $0.isLeftOver = true }
  }

  lazy var right = UpstreamSubscriber<B, Failure> { [self] value in
    take { $0.keep(value, in: \.right) }
  } onCompletion: { [self] in
    ended($0) { $0.isRightOver = true }
  }

  init(downstream: DownstreamSubscription<(A, B), Failure>, usesEachOnce: Bool) {
    self.downstream = downstream
    state = Locked(State(usesEachOnce: usesEachOnce))
  }

  private func take(_ keep: (inout State) -> Void) -> Subscribers.Demand {
    let (pair, isOver) = state.withLock { state in
      keep(&state)
      let pair = state.takePair()
      return (pair, pair != nil && state.isExhausted)
    }
    if let pair { downstream.send(pair) }
    if isOver { end(.finished) }
    return .none
  }

  private func ended(_ completion: Subscribers.Completion<Failure>, _ mark: (inout State) -> Void) {
    if case .failure = completion { return end(completion) }
    let isOver = state.withLock { state in
      mark(&state)
      return state.isExhausted
    }
    if isOver { end(.finished) }
  }

  private func end(_ completion: Subscribers.Completion<Failure>) {
    cancel()
    downstream.finish(completion)
  }

  func cancel() {
    left.cancel()
    right.cancel()
  }
}
#endif
