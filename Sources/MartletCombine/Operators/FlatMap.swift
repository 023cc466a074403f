#if !canImport(Combine)
extension Publishers {
  /// What `flatMap` returns.
  public struct FlatMap<NewPublisher: Publisher, Upstream: Publisher>: Publisher
  where NewPublisher.Failure == Upstream.Failure {
    /// What the publishers deliver that are made.
    public typealias Output = NewPublisher.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// How many publishers run at once.
    public let maxPublishers: Subscribers.Demand
    /// Makes a publisher of a value.
    public let transform: (Upstream.Output) -> NewPublisher

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/switchToLatest()`` returns.
  public struct SwitchToLatest<P: Publisher, Upstream: Publisher>: Publisher
  where P == Upstream.Output, P.Failure == Upstream.Failure {
    /// What the publishers deliver that come.
    public typealias Output = P.Output
    /// How it fails.
    public typealias Failure = P.Failure
    /// Where the publishers come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.run(.latest, into: subscriber) { $0.eraseToAnyPublisher() }
    }
  }
}

/// How many of the publishers that are made of values are heard at once.
private enum Concurrency {
  case max(Subscribers.Demand)
  /// A new one ends the one before it.
  case latest

  var isExclusive: Bool { if case .latest = self { true } else { false } }

  var demand: Subscribers.Demand { if case .max(let demand) = self { demand } else { .unlimited } }
}

extension Publisher {
  /// Makes a publisher of each value and delivers what they do.
  fileprivate func run<S: Subscriber>(
    _ concurrency: Concurrency, into subscriber: S, makeChild: @escaping (Output) -> AnyPublisher<S.Input, S.Failure>
  ) where S.Failure == Failure {
    let outlet = Outlet<S.Input, Failure>(to: subscriber)
    let children = Children<S.Input, Failure>(outlet: outlet, isExclusive: concurrency.isExclusive)
    let inlet = Inlet<Output, Failure> { value in
      children.add(makeChild(value))
      return .none
    } onCompletion: {
      children.upstreamEnded($0)
    }
    children.upstream = inlet
    outlet.connect(onCancel: { children.cancelAll() })
    subscriber.receive(subscription: outlet)
    inlet.request(concurrency.demand)
    receive(subscriber: inlet)
  }
}

/// The publishers whose values are heard now. Each is asked for one value at a time, and again when that was delivered:
/// a slow subscriber slows all of them down.
private final class Children<Output, Failure: Error> {
  private let outlet: Outlet<Output, Failure>
  private let isExclusive: Bool
  private let state = Guarded(State())

  private struct State {
    var running: [ObjectIdentifier: Inlet<Output, Failure>] = [:]
    var hasUpstreamEnded = false
  }

  var upstream: (any Subscription)?

  init(outlet: Outlet<Output, Failure>, isExclusive: Bool) {
    self.outlet = outlet
    self.isExclusive = isExclusive
  }

  func add(_ publisher: AnyPublisher<Output, Failure>) {
    let child = Box<Inlet<Output, Failure>>()
    let inlet = Inlet<Output, Failure> { [outlet] value in
      outlet.send(value, delivered: { child.content?.request(.max(1)) })
      return .none
    } onCompletion: { [self] completion in
      if let inlet = child.content { childEnded(inlet, completion) }
    }
    child.content = inlet
    let replaced = state.withLock { state -> [Inlet<Output, Failure>] in
      let replaced = isExclusive ? Array(state.running.values) : []
      if isExclusive { state.running = [:] }
      state.running[ObjectIdentifier(inlet)] = inlet
      return replaced
    }
    for old in replaced { old.cancel() }
    inlet.request(.max(1))
    publisher.receive(subscriber: inlet)
  }

  private func childEnded(_ child: Inlet<Output, Failure>, _ completion: Subscribers.Completion<Failure>) {
    let (wasRunning, isOver) = state.withLock { state in
      let wasRunning = state.running.removeValue(forKey: ObjectIdentifier(child)) != nil
      return (wasRunning, state.hasUpstreamEnded && state.running.isEmpty)
    }
    guard wasRunning else { return }
    if case .failure = completion {
      cancelAll()
      outlet.finish(completion)
    } else if isOver {
      outlet.finish(.finished)
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
      outlet.finish(completion)
    } else if isOver {
      outlet.finish(.finished)
    }
  }

  func cancelAll() {
    let stopped = state.withLock { state in
      defer { state.running = [:] }
      return Array(state.running.values)
    }
    upstream?.cancel()
    for inlet in stopped { inlet.cancel() }
  }
}

extension Publisher {
  /// Makes a publisher of each value and delivers what all of them do, in the order in which it comes.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Self> where P.Failure == Failure {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers, transform: transform)
  }

  /// Makes a publisher that may fail of each value of one that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Publishers.SetFailureType<Self, P.Failure>> where Failure == Never {
    Publishers.FlatMap(
      upstream: setFailureType(to: P.Failure.self), maxPublishers: maxPublishers, transform: transform)
  }

  /// Makes a publisher that cannot fail of each value of one that can.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Publishers.SetFailureType<P, Failure>, Self> where P.Failure == Never {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers) {
      transform($0).setFailureType(to: Failure.self)
    }
  }

  /// Makes a publisher that cannot fail of each value of one that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<P, Self> where Failure == Never, P.Failure == Never {
    Publishers.FlatMap(upstream: self, maxPublishers: maxPublishers, transform: transform)
  }

  /// Delivers what the latest of the publishers that come does; the one before it is cancelled.
  public func switchToLatest() -> Publishers.SwitchToLatest<Output, Self>
  where Output: Publisher, Output.Failure == Failure { Publishers.SwitchToLatest(upstream: self) }
}
#endif
