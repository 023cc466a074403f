#if !canImport(Darwin)
extension Publishers {
  /// The publisher that `switchToLatest()` returns.
  public struct SwitchToLatest<P: Publisher, Upstream: Publisher>: Publisher
  where P == Upstream.Output, P.Failure == Upstream.Failure {
    /// The output type.
    public typealias Output = P.Output
    /// The failure type.
    public typealias Failure = P.Failure
    /// The publisher of publishers.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let subscription = SwitchSubscription<P, S>(to: subscriber, name: "SwitchToLatest")
      subscription.start()
      subscription.subscribe(to: upstream)
    }
  }
}

/// Delivers the values of the latest publisher. Each new one gets the demand that is left.
private final class SwitchSubscription<Child: Publisher, Downstream: Subscriber>: OrderedSubscription<Downstream>
where Child.Output == Downstream.Input, Child.Failure == Downstream.Failure {
  private var upstream: UpstreamSubscription?
  private var current: UpstreamSubscription?

  func subscribe<Upstream: Publisher>(to publisher: Upstream)
  where Upstream.Output == Child, Upstream.Failure == Downstream.Failure {
    let subscriber = UpstreamSubscriber<Child, Upstream.Failure>(
      name: description, asking: .unlimited,
      onValue: { [self] child, _ in
        change(to: child)
        return .none
      },
      onCompletion: { [self] completion, source in end(source, completion) })
    let isWanted = lock.withLock {
      if isOpen { upstream = subscriber }
      return isOpen
    }
    if isWanted { publisher.subscribe(subscriber) }
  }

  private func change(to publisher: Child) {
    var released: (UpstreamSubscription?, values: Any?)
    let next = lock.withLock { () -> UpstreamSubscriber<Child.Output, Child.Failure>? in
      guard isOpen, upstream != nil else { return nil }
      // A value of the previous publisher that waits for another thread is not delivered any more.
      released = (current, withdrawLine())
      let next = UpstreamSubscriber<Child.Output, Child.Failure>(
        name: description, asking: demand,
        onValue: { [self] value, source in receive(value, from: source) },
        onCompletion: { [self] completion, source in end(source, completion) })
      current = next
      return next
    }
    released.0?.cancel()
    // The cancellation may have caused another change.
    if let next, lock.withLock({ current === next }) { publisher.subscribe(next) }
  }

  private func receive(_ value: Child.Output, from source: UpstreamSubscription) -> Subscribers.Demand {
    var returned = Subscribers.Demand.none
    guard let permit = lock.withLock({ current === source ? offer(value) : nil }) else { return .none }
    deliver(value, by: permit) { more in
      // The subscriber's request goes to the publisher that is the latest one by then.
      let other = lock.withLock { () -> UpstreamSubscription? in
        guard !isClosed else { return nil }
        demand += more
        if current === source { returned = more }
        return current === source ? nil : current
      }
      other?.request(more)
    }
    return returned
  }

  private func end(_ source: UpstreamSubscription, _ completion: Subscribers.Completion<Downstream.Failure>) {
    lock.withLock {
      guard source === upstream || source === current else { return }
      if source === upstream { upstream = nil } else { current = nil }
      if case .failure = completion {
        enqueue(completion)
      } else if upstream == nil, current == nil {
        enqueue(.finished)
      }
    }
    deliver()
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    let current = lock.withLock { () -> UpstreamSubscription? in
      guard !isClosed else { return nil }
      self.demand += demand
      return self.current
    }
    current?.request(demand)
  }

  override func didClose() {
    let (upstream, current) = lock.withLock {
      defer { (self.upstream, self.current) = (nil, nil) }
      return (self.upstream, self.current)
    }
    current?.cancel()
    upstream?.cancel()
  }
}

extension Publisher where Output: Publisher {
  /// Delivers the values of the latest publisher, and cancels the previous one.
  ///
  /// It finishes when this publisher and the latest one have finished. The first failure ends both.
  public func switchToLatest() -> Publishers.SwitchToLatest<Output, Self> where Output.Failure == Failure {
    Publishers.SwitchToLatest(upstream: self)
  }

  /// For a publisher that cannot fail, of publishers that can.
  public func switchToLatest() -> Publishers.SwitchToLatest<Output, Publishers.SetFailureType<Self, Output.Failure>>
  where Failure == Never { setFailureType(to: Output.Failure.self).switchToLatest() }

  /// For a publisher that can fail, of publishers that cannot.
  public func switchToLatest()
    -> Publishers.SwitchToLatest<
      Publishers.SetFailureType<Output, Failure>, Publishers.Map<Self, Publishers.SetFailureType<Output, Failure>>
    > where Output.Failure == Never
  { map { $0.setFailureType(to: Failure.self) }.switchToLatest() }

  /// For a publisher that cannot fail, of publishers that cannot.
  public func switchToLatest() -> Publishers.SwitchToLatest<Output, Self>
  where Failure == Never, Output.Failure == Never { Publishers.SwitchToLatest(upstream: self) }
}
#endif
