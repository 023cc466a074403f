#if !canImport(Combine)
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
      upstream.run(.max(maxPublishers), into: subscriber) { [transform] in transform($0).eraseToAnyPublisher() }
    }
  }

  /// The publisher that ``Publisher/switchToLatest()`` returns.
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
      upstream.run(.latest, into: subscriber) { $0.eraseToAnyPublisher() }
    }
  }
}

/// The number of created publishers that are subscribed to at the same time.
private enum Concurrency {
  case max(Subscribers.Demand)
  /// One: a new publisher cancels the previous one.
  case latest

  var isExclusive: Bool { if case .latest = self { true } else { false } }

  var demand: Subscribers.Demand { if case .max(let demand) = self { demand } else { .unlimited } }
}

extension Publisher {
  /// Makes a publisher of each value, and delivers their values.
  fileprivate func run<S: Subscriber>(
    _ concurrency: Concurrency, into subscriber: S, makeChild: @escaping (Output) -> AnyPublisher<S.Input, S.Failure>
  ) where S.Failure == Failure {
    let downstream = DownstreamSubscription<S.Input, Failure>(to: subscriber)
    let children = Children<S.Input, Failure>(downstream: downstream, isExclusive: concurrency.isExclusive)
    let receiver = UpstreamSubscriber<Output, Failure> { value in
      children.add(makeChild(value))
      return .none
    } onCompletion: {
      children.upstreamEnded($0)
    }
    children.upstream = receiver
    downstream.connect(onCancel: { children.cancelAll() })
    subscriber.receive(subscription: downstream)
    receiver.request(concurrency.demand)
    receive(subscriber: receiver)
  }
}

/// The active publishers. One value is requested from each at a time, and the next one after its delivery, so that a
/// slow subscriber slows all of them down.
private final class Children<Output, Failure: Error> {
  private let downstream: DownstreamSubscription<Output, Failure>
  private let isExclusive: Bool
  private let state = Locked(State())

  private struct State {
    var running: [ObjectIdentifier: UpstreamSubscriber<Output, Failure>] = [:]
    var hasUpstreamEnded = false
  }

  var upstream: (any Subscription)?

  init(downstream: DownstreamSubscription<Output, Failure>, isExclusive: Bool) {
    self.downstream = downstream
    self.isExclusive = isExclusive
  }

  func add(_ publisher: AnyPublisher<Output, Failure>) {
    let child = WeakReference<UpstreamSubscriber<Output, Failure>>()
    let receiver = UpstreamSubscriber<Output, Failure> { [downstream] value in
      downstream.send(value, delivered: { child.object?.request(.max(1)) })
      return .none
    } onCompletion: { [self] completion in
      if let receiver = child.object { childEnded(receiver, completion) }
    }
    child.object = receiver
    let replaced = state.withLock { state -> [UpstreamSubscriber<Output, Failure>] in
      let replaced = isExclusive ? Array(state.running.values) : []
      if isExclusive { state.running = [:] }
      state.running[ObjectIdentifier(receiver)] = receiver
      return replaced
    }
    for old in replaced { old.cancel() }
    receiver.request(.max(1))
    publisher.receive(subscriber: receiver)
  }

  private func childEnded(_ child: UpstreamSubscriber<Output, Failure>, _ completion: Subscribers.Completion<Failure>) {
    let (wasRunning, isOver) = state.withLock { state in
      let wasRunning = state.running.removeValue(forKey: ObjectIdentifier(child)) != nil
      return (wasRunning, state.hasUpstreamEnded && state.running.isEmpty)
    }
    guard wasRunning else { return }
    if case .failure = completion {
      cancelAll()
      downstream.finish(completion)
    } else if isOver {
      downstream.finish(.finished)
    } else if !isExclusive {
      upstream?.request(.max(1))
    }
  }

  func upstreamEnded(_ completion: Subscribers.Completion<Failure>) {
    let isOver = state.withLock { state in
      state.hasUpstreamEnded = true
      return state.running.isEmpty
    }
    if case .failure = completion {
      cancelAll()
      downstream.finish(completion)
    } else if isOver {
      downstream.finish(.finished)
    }
  }

  func cancelAll() {
    let stopped = state.withLock { state in
      defer { state.running = [:] }
      return Array(state.running.values)
    }
    upstream?.cancel()
    for receiver in stopped { receiver.cancel() }
  }
}

extension Publisher {
  /// Makes a publisher of each value, and delivers the values of all of them, in the order in which they arrive.
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

  /// Delivers the values of the latest publisher, and cancels the previous one.
  public func switchToLatest() -> Publishers.SwitchToLatest<Output, Self>
  where Output: Publisher, Output.Failure == Failure { Publishers.SwitchToLatest(upstream: self) }
}
#endif
