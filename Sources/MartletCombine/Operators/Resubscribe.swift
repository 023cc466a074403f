#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/catch(_:)`` returns.
  public struct Catch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = NewPublisher.Failure
    /// What is heard first.
    public let upstream: Upstream
    /// Makes what is heard after a failure.
    public let handler: (Upstream.Failure) -> NewPublisher

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, handler: @escaping (Upstream.Failure) -> NewPublisher) {
      self.upstream = upstream
      self.handler = handler
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.follow(for: subscriber) { [handler] completion in
        switch completion {
        case .finished: .finish(.finished)
        case .failure(let error): .last(handler(error).eraseToAnyPublisher())
        }
      }
    }
  }

  /// What ``Publisher/tryCatch(_:)`` returns.
  public struct TryCatch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = any Error
    /// What is heard first.
    public let upstream: Upstream
    /// Makes what is heard after a failure.
    public let handler: (Upstream.Failure) throws -> NewPublisher

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, handler: @escaping (Upstream.Failure) throws -> NewPublisher) {
      self.upstream = upstream
      self.handler = handler
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.follow(for: subscriber) { [handler] completion in
        guard case .failure(let error) = completion else { return .finish(.finished) }
        do {
          return .last(try handler(error).mapError { $0 as any Error }.eraseToAnyPublisher())
        } catch { return .finish(.failure(error)) }
      }
    }
  }

  /// What ``Publisher/retry(_:)`` returns.
  public struct Retry<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// What is heard first.
    public let upstream: Upstream
    /// How often it subscribes again; without limit where nil.
    public let retries: Int?

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, retries: Int?) {
      self.upstream = upstream
      self.retries = retries
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var rest = retries ?? .max
      upstream.follow(for: subscriber) { [upstream] completion in
        guard case .failure = completion, rest > 0 else { return .finish(completion) }
        rest -= 1
        return .again(upstream.eraseToAnyPublisher())
      }
    }
  }

  /// What `append` and `prepend` return.
  public struct Concatenate<Prefix: Publisher, Suffix: Publisher>: Publisher
  where Prefix.Output == Suffix.Output, Prefix.Failure == Suffix.Failure {
    /// What is delivered.
    public typealias Output = Suffix.Output
    /// How it fails.
    public typealias Failure = Suffix.Failure
    /// What is heard first.
    public let prefix: Prefix
    /// What is heard when the first has finished.
    public let suffix: Suffix

    /// Makes one of its parts; an operator is the usual way.
    public init(prefix: Prefix, suffix: Suffix) {
      self.prefix = prefix
      self.suffix = suffix
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      prefix.follow(for: subscriber) { [suffix] completion in
        if case .finished = completion { .last(suffix.eraseToAnyPublisher()) } else { .finish(completion) }
      }
    }
  }
}

/// One subscription's way through the publishers: which one is heard now.
private final class ResubscribeRun<Output, UpstreamFailure: Error, Failure: Error> {
  private let outlet: Outlet<Output, Failure>
  private let next: (Subscribers.Completion<UpstreamFailure>) -> Next
  private let state = Guarded(State())

  enum Next {
    case finish(Subscribers.Completion<Failure>)
    /// Another of the same kind, after whose end the question is asked again.
    case again(AnyPublisher<Output, UpstreamFailure>)
    /// One whose end is the end.
    case last(AnyPublisher<Output, Failure>)
  }

  private struct State {
    var demand: ((Subscribers.Demand) -> Void)?
    var stop: (() -> Void)?
    var isCancelled = false
  }

  init(
    outlet: Outlet<Output, Failure>,
    next: @escaping (Subscribers.Completion<UpstreamFailure>) -> Next
  ) {
    self.outlet = outlet
    self.next = next
  }

  func request(_ demand: Subscribers.Demand) { state.withLock { state in state.demand }?(demand) }

  func cancel() {
    let stop = state.withLock { state in
      state.isCancelled = true
      defer { (state.stop, state.demand) = (nil, nil) }
      return state.stop
    }
    stop?()
  }

  func follow(_ publisher: AnyPublisher<Output, UpstreamFailure>) {
    hear(publisher) { [self] completion in
      switch next(completion) {
      case .finish(let ending): outlet.finish(ending)
      case .again(let publisher): follow(publisher)
      case .last(let publisher): hear(publisher) { [self] in outlet.finish($0) }
      }
    }
  }

  private func hear<F: Error>(
    _ publisher: AnyPublisher<Output, F>, then: @escaping (Subscribers.Completion<F>) -> Void
  ) {
    let inlet = Inlet<Output, F> { [outlet] value in
      outlet.send(value)
      return .none
    } onCompletion: {
      then($0)
    }
    let isWanted = state.withLock { state in
      state.demand = { inlet.request($0) }
      state.stop = { inlet.cancel() }
      return !state.isCancelled
    }
    guard isWanted else { return }
    inlet.request(outlet.outstanding)
    publisher.receive(subscriber: inlet)
  }
}

extension Publisher {
  /// Attaches a subscriber to this, and to what follows its end.
  fileprivate func follow<S: Subscriber>(
    for subscriber: S,
    next: @escaping (Subscribers.Completion<Failure>) -> ResubscribeRun<Output, Failure, S.Failure>.Next
  ) where S.Input == Output {
    let outlet = Outlet<Output, S.Failure>(to: subscriber)
    let run = ResubscribeRun<Output, Failure, S.Failure>(outlet: outlet, next: next)
    outlet.connect(onDemand: { run.request($0) }, onCancel: { run.cancel() })
    subscriber.receive(subscription: outlet)
    run.follow(eraseToAnyPublisher())
  }

  /// Goes on with another publisher where this one fails.
  public func `catch`<P: Publisher>(_ handler: @escaping (Failure) -> P) -> Publishers.Catch<Self, P>
  where P.Output == Output { Publishers.Catch(upstream: self, handler: handler) }

  /// Goes on with another publisher where this one fails; fails with what the closure throws.
  public func tryCatch<P: Publisher>(_ handler: @escaping (Failure) throws -> P) -> Publishers.TryCatch<Self, P>
  where P.Output == Output { Publishers.TryCatch(upstream: self, handler: handler) }

  /// Subscribes again where this fails, at most so many times.
  public func retry(_ retries: Int) -> Publishers.Retry<Self> { Publishers.Retry(upstream: self, retries: retries) }

  /// Delivers what this delivers, and then what the other does.
  public func append<P: Publisher>(_ other: P) -> Publishers.Concatenate<Self, P>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: self, suffix: other) }

  /// Delivers what this delivers, and then these values.
  public func append(_ values: Output...) -> Publishers.Concatenate<Self, Publishers.Sequence<[Output], Failure>> {
    append(Publishers.Sequence(sequence: values))
  }

  /// Delivers what the other delivers, and then what this does.
  public func prepend<P: Publisher>(_ other: P) -> Publishers.Concatenate<P, Self>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: other, suffix: self) }

  /// Delivers these values, and then what this delivers.
  public func prepend(_ values: Output...) -> Publishers.Concatenate<Publishers.Sequence<[Output], Failure>, Self> {
    prepend(Publishers.Sequence(sequence: values))
  }
}
#endif
