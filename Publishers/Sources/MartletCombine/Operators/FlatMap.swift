#if !canImport(Darwin)
extension Publishers {
  /// The publisher that `flatMap` returns.
  public struct FlatMap<NewPublisher: Publisher, Upstream: Publisher>: Publisher
  where NewPublisher.Failure == Upstream.Failure {
    /// The output type.
    public typealias Output = NewPublisher.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The maximum number of publishers that are subscribed to at the same time.
    public let maxPublishers: Subscribers.Demand
    /// Makes the publisher of a value.
    public let transform: (Upstream.Output) -> NewPublisher

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, maxPublishers: Subscribers.Demand, transform: @escaping (Upstream.Output) -> NewPublisher
    ) {
      self.upstream = upstream
      self.maxPublishers = maxPublishers
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let subscription = FlatMapSubscription<Upstream, NewPublisher, S>(
        to: subscriber, maxPublishers: maxPublishers, transform: transform)
      subscription.start()
      subscription.subscribe(to: upstream)
    }
  }
}

private final class FlatMapSubscription<Upstream: Publisher, Child: Publisher, Downstream: Subscriber>:
  MergeSubscription<Downstream>
where Child.Output == Downstream.Input, Child.Failure == Downstream.Failure, Upstream.Failure == Downstream.Failure {
  private let maxPublishers: Subscribers.Demand
  private var transform: ((Upstream.Output) -> Child)?
  private var upstream: UpstreamSubscription?

  init(to downstream: Downstream, maxPublishers: Subscribers.Demand, transform: @escaping (Upstream.Output) -> Child) {
    self.maxPublishers = maxPublishers
    self.transform = transform
    super.init(to: downstream, name: "FlatMap", upstreams: 1)
  }

  func subscribe(to publisher: Upstream) {
    let subscriber = UpstreamSubscriber<Upstream.Output, Upstream.Failure>(
      name: description, asking: maxPublishers,
      onValue: { [self] value, _ in
        receive(value)
        return .none
      },
      onCompletion: { [self] completion, _ in end(completion) })
    let isWanted = lock.withLock {
      if isOpen { upstream = subscriber }
      return isOpen
    }
    if isWanted { publisher.subscribe(subscriber) }
  }

  private func receive(_ value: Upstream.Output) {
    guard let transform = lock.withLock({ isOpen ? transform : nil }) else { return }
    let publisher = transform(value)
    // The subscription may have ended meanwhile: then the publisher is not subscribed to.
    if let child = makeChild(isAdditional: true) { publisher.subscribe(child) }
  }

  private func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    let released = lock.withLock { () -> Any? in
      guard !isClosed else { return nil }
      _ = finishOne(completion)
      defer { (transform, upstream) = (nil, nil) }
      return transform
    }
    deliver()
    withExtendedLifetime(released) {}
  }

  override func childFinished() {
    guard maxPublishers != .unlimited else { return }
    lock.withLock { upstream }?.request(.max(1))
  }

  override func didClose() {
    super.didClose()
    let released = lock.withLock {
      defer { (transform, upstream) = (nil, nil) }
      return (transform, upstream)
    }
    released.1?.cancel()
  }
}

extension Publisher {
  /// Makes a publisher of each value, and delivers the values of all of them, in the order in which they arrive.
  ///
  /// It finishes when this publisher and all others have finished. The first failure ends all of them.
  ///
  /// - Parameters:
  ///   - maxPublishers: how many publishers are subscribed to at the same time. Further values are requested from this
  ///     publisher when one of them has finished.
  ///   - transform: makes the publisher of a value.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Self> where P.Failure == Failure {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers, transform: transform)
  }

  /// For a publisher that cannot fail, with created publishers that can.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Publishers.SetFailureType<Self, P.Failure>> where Failure == Never {
    Publishers.FlatMap(
      upstream: setFailureType(to: P.Failure.self), maxPublishers: maxPublishers, transform: transform)
  }

  /// For a publisher that can fail, with created publishers that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Publishers.SetFailureType<P, Failure>, Self> where P.Failure == Never {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers) {
      transform($0).setFailureType(to: Failure.self)
    }
  }

  /// For a publisher that cannot fail, with created publishers that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Self> where Failure == Never, P.Failure == Never {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers, transform: transform)
  }
}
#endif
