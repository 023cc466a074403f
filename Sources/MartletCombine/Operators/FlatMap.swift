#if !canImport(Combine)
extension Publishers {
  /// Makes a publisher of each value and delivers what all of them do: `flatMap`, `merge`, `switchToLatest`.
  public struct FlatMap<Upstream: Publisher, Child: Publisher>: Publisher where Child.Failure == Upstream.Failure {
    /// What the children deliver.
    public typealias Output = Child.Output
    /// How upstream and children fail.
    public typealias Failure = Upstream.Failure

    enum Concurrency {
      case max(Subscribers.Demand)
      /// A new child ends the one before it.
      case latest
    }

    let upstream: Upstream
    let concurrency: Concurrency
    let makeChild: (Upstream.Output) -> Child

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let children = Children<Output, Failure>(outlet: outlet, isExclusive: concurrency.isExclusive)
      let makeChild = makeChild
      let inlet = Inlet<Upstream.Output, Failure> { value in
        children.add(makeChild(value).eraseToAnyPublisher())
        return .none
      } onCompletion: {
        children.upstreamEnded($0)
      }
      children.upstream = inlet
      outlet.connect(onCancel: { children.cancelAll() })
      subscriber.receive(subscription: outlet)
      inlet.request(concurrency.demand)
      upstream.receive(subscriber: inlet)
    }
  }
}

extension Publishers.FlatMap.Concurrency {
  fileprivate var isExclusive: Bool { if case .latest = self { true } else { false } }

  fileprivate var demand: Subscribers.Demand { if case .max(let demand) = self { demand } else { .unlimited } }
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

  var upstream: (any DemandingInlet)?

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

/// Refers to what is made after the closures that need it; let go of with its inlet's end.
final class Box<Content: AnyObject> {
  weak var content: Content?
}

/// An inlet without its types.
protocol DemandingInlet: AnyObject {
  func request(_ demand: Subscribers.Demand)
  func cancel()
}

extension Inlet: DemandingInlet {}

extension Publisher {
  /// Makes a publisher of each value and delivers what all of them do, in the order in which it comes.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Self, P> where P.Failure == Failure {
    Publishers.FlatMap(upstream: self, concurrency: .max(maxPublishers), makeChild: transform)
  }

  /// Makes a publisher that may fail of each value of one that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Publishers.Relay<Self, Output, P.Failure>, P> where Failure == Never {
    Publishers.FlatMap(
      upstream: setFailureType(to: P.Failure.self), concurrency: .max(maxPublishers), makeChild: transform)
  }

  /// Makes a publisher that cannot fail of each value of one that can.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Self, Publishers.Relay<P, P.Output, Failure>> where P.Failure == Never {
    Publishers.FlatMap(upstream: self, concurrency: .max(maxPublishers)) {
      transform($0).setFailureType(to: Failure.self)
    }
  }

  /// Makes a publisher that cannot fail of each value of one that cannot.
  public func flatMap<P: Publisher>(
    maxPublishers: Subscribers.Demand = .unlimited, _ transform: @escaping (Output) -> P
  ) -> Publishers.FlatMap<Self, P> where Failure == Never, P.Failure == Never {
    Publishers.FlatMap(upstream: self, concurrency: .max(maxPublishers), makeChild: transform)
  }

  /// Delivers what the latest of the publishers that come does; the one before it is cancelled.
  public func switchToLatest() -> Publishers.FlatMap<Self, Output>
  where Output: Publisher, Output.Failure == Failure {
    Publishers.FlatMap(upstream: self, concurrency: .latest, makeChild: { $0 })
  }

  /// Delivers what this and the others do, in the order in which it comes.
  public func merge<P: Publisher>(with other: P) -> Publishers.MergeMany<Output, Failure>
  where P.Output == Output, P.Failure == Failure {
    Publishers.MergeMany([eraseToAnyPublisher(), other.eraseToAnyPublisher()])
  }
}

extension Publishers {
  /// Delivers what several publishers do, in the order in which it comes.
  public struct MergeMany<Output, Failure: Error>: Publisher {
    private let publishers: [AnyPublisher<Output, Failure>]

    /// Makes one of several.
    public init<P: Publisher>(_ publishers: [P]) where P.Output == Output, P.Failure == Failure {
      self.publishers = publishers.map { $0.eraseToAnyPublisher() }
    }

    /// Makes one of several.
    public init<P: Publisher>(_ publishers: P...) where P.Output == Output, P.Failure == Failure {
      self.init(publishers)
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      Publishers.Sequence<[AnyPublisher<Output, Failure>], Failure>(sequence: publishers).flatMap { $0 }
        .receive(subscriber: subscriber)
    }
  }
}
#endif
