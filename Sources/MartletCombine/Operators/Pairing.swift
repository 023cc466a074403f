#if !canImport(Combine)
/// Attaches a subscriber to the pairs of two publishers' values.
///
/// - Parameter usesEachOnce: whether every value belongs to one pair only, or the latest of the other side goes with each
///   new one.
func pair<A: Publisher, B: Publisher, S: Subscriber>(
  _ a: A, _ b: B, usingEachOnce usesEachOnce: Bool, for subscriber: S
) where A.Failure == B.Failure, S.Input == (A.Output, B.Output), S.Failure == A.Failure {
  let outlet = Outlet<(A.Output, B.Output), A.Failure>(to: subscriber)
  let pairs = Pairs<A.Output, B.Output, A.Failure>(outlet: outlet, usesEachOnce: usesEachOnce)
  let left = pairs.left
  let right = pairs.right
  let demand: (Subscribers.Demand) -> Void =
    usesEachOnce
    ? { [left, right] in
      left.request($0)
      right.request($0)
    } : { _ in }
  outlet.connect(onDemand: demand, onCancel: { pairs.cancel() })
  subscriber.receive(subscription: outlet)
  if !usesEachOnce {
    left.request(.unlimited)
    right.request(.unlimited)
  }
  a.receive(subscriber: left)
  b.receive(subscriber: right)
}

/// What one subscription to a pairing has seen of both sides.
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

    /// A side that has ended and has nothing left can make no more pairs.
    var isExhausted: Bool {
      (isLeftOver && left.isEmpty) || (isRightOver && right.isEmpty) || (isLeftOver && isRightOver && !usesEachOnce)
    }
  }

  private let outlet: Outlet<(A, B), Failure>
  private let state: Guarded<State>

  lazy var left = Inlet<A, Failure> { [self] value in
    take { $0.keep(value, in: \.left) }
  } onCompletion: { [self] in
    ended($0) { $0.isLeftOver = true }
  }

  lazy var right = Inlet<B, Failure> { [self] value in
    take { $0.keep(value, in: \.right) }
  } onCompletion: { [self] in
    ended($0) { $0.isRightOver = true }
  }

  init(outlet: Outlet<(A, B), Failure>, usesEachOnce: Bool) {
    self.outlet = outlet
    state = Guarded(State(usesEachOnce: usesEachOnce))
  }

  private func take(_ keep: (inout State) -> Void) -> Subscribers.Demand {
    let (pair, isOver) = state.withLock { state in
      keep(&state)
      let pair = state.takePair()
      return (pair, pair != nil && state.isExhausted)
    }
    if let pair { outlet.send(pair) }
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
    outlet.finish(completion)
  }

  func cancel() {
    left.cancel()
    right.cancel()
  }
}
#endif
