#if !canImport(Darwin)
/// The subscription to an upstream. It can be used before the upstream has sent its own: requests are kept until then.
class UpstreamSubscription: Subscription, CustomStringConvertible {
  private enum State {
    case awaited(Subscribers.Demand)
    case attached(any Subscription)
    case ended
  }

  final let description: String
  /// The position in the list of its owner, which guards it.
  final var position = 0
  private let lock = Lock()
  private var state: State

  init(name: String, asking demand: Subscribers.Demand = .none) {
    description = name
    state = .awaited(demand)
  }

  /// Keeps upstream's subscription. One that was not awaited is cancelled.
  ///
  /// - Returns: whether it was awaited.
  @discardableResult
  final func attach(_ subscription: any Subscription) -> Bool {
    let demand = lock.withLock { () -> Subscribers.Demand? in
      guard case .awaited(let demand) = state else { return nil }
      state = .attached(subscription)
      return demand
    }
    guard let demand else {
      subscription.cancel()
      return false
    }
    if demand > .none { subscription.request(demand) }
    return true
  }

  final func request(_ demand: Subscribers.Demand) {
    let subscription = lock.withLock { () -> (any Subscription)? in
      switch state {
      case .awaited(let early): state = .awaited(early + demand)
      case .attached(let subscription): return subscription
      case .ended: break
      }
      return nil
    }
    subscription?.request(demand)
  }

  final func cancel() { take().subscription?.cancel() }

  /// Upstream has completed: its subscription is released.
  ///
  /// - Returns: whether it had not ended before.
  final func end() -> Bool { take().isFirst }

  /// Like ``end()``, for an upstream that must have sent its subscription before.
  final func endIfAttached() -> Bool {
    let ended = lock.withLock { () -> (any Subscription)? in
      guard case .attached(let subscription) = state else { return nil }
      state = .ended
      return subscription  // Released outside the lock, because deinitializers may call other code.
    }
    return ended != nil
  }

  private func take() -> (subscription: (any Subscription)?, isFirst: Bool) {
    lock.withLock {
      defer { state = .ended }
      switch state {
      case .awaited: return (nil, true)
      case .attached(let subscription): return (subscription, true)
      case .ended: return (nil, false)
      }
    }
  }
}

/// The subscriber of one of several upstreams. An ``OrderedSubscription`` makes one for each of them.
///
/// Its closures belong to that subscription, and keep nothing but it: an upstream may keep its subscriber after the
/// end.
final class UpstreamSubscriber<Input, Failure: Error>: UpstreamSubscription, Subscriber {
  private let onSubscription: () -> Void
  private let onValue: (Input, UpstreamSubscriber) -> Subscribers.Demand
  private let onCompletion: (Subscribers.Completion<Failure>, UpstreamSubscriber) -> Void

  /// - Parameter demand: the demand that is sent as soon as the upstream's subscription arrives.
  init(
    name: String, asking demand: Subscribers.Demand = .none, onSubscription: @escaping () -> Void = {},
    onValue: @escaping (Input, UpstreamSubscriber) -> Subscribers.Demand,
    onCompletion: @escaping (Subscribers.Completion<Failure>, UpstreamSubscriber) -> Void
  ) {
    self.onSubscription = onSubscription
    self.onValue = onValue
    self.onCompletion = onCompletion
    super.init(name: name, asking: demand)
  }

  func receive(subscription: any Subscription) {
    if attach(subscription) { onSubscription() }
  }

  func receive(_ input: Input) -> Subscribers.Demand { onValue(input, self) }

  func receive(completion: Subscribers.Completion<Failure>) {
    if end() { onCompletion(completion, self) }
  }
}
#endif
