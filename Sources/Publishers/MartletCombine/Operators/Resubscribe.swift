#if !canImport(Combine)
extension Publishers {
  /// The publisher that ``Publisher/catch(_:)`` returns.
  public struct Catch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = NewPublisher.Failure
    /// The first publisher.
    public let upstream: Upstream
    /// Makes the publisher that continues after a failure.
    public let handler: (Upstream.Failure) -> NewPublisher

    /// Makes the publisher, like the operator.
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

  /// The publisher that ``Publisher/tryCatch(_:)`` returns.
  public struct TryCatch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The first publisher.
    public let upstream: Upstream
    /// Makes the publisher that continues after a failure.
    public let handler: (Upstream.Failure) throws -> NewPublisher

    /// Makes the publisher, like the operator.
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

  /// The publisher that ``Publisher/retry(_:)`` returns.
  public struct Retry<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The first publisher.
    public let upstream: Upstream
    /// The number of further subscriptions; nil for no limit.
    public let retries: Int?

    /// Makes the publisher, like the operator.
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

  /// The publisher that `append` and `prepend` return.
  public struct Concatenate<Prefix: Publisher, Suffix: Publisher>: Publisher
  where Prefix.Output == Suffix.Output, Prefix.Failure == Suffix.Failure {
    /// The output type.
    public typealias Output = Suffix.Output
    /// The failure type.
    public typealias Failure = Suffix.Failure
    /// The first publisher.
    public let prefix: Prefix
    /// The publisher that follows when the first has finished.
    public let suffix: Suffix

    /// Makes the publisher, like the operator.
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

/// A sequence of publishers. One subscription is attached to them, one after another.
private final class SuccessivePublishers<Output, UpstreamFailure: Error, Failure: Error> {
  private let downstream: DownstreamSubscription<Output, Failure>
  private let next: (Subscribers.Completion<UpstreamFailure>) -> Next
  private let state = Locked(State())

  enum Next {
    case finish(Subscribers.Completion<Failure>)
    /// Another publisher of the same type, followed by the next decision.
    case again(AnyPublisher<Output, UpstreamFailure>)
    /// The last publisher.
    case last(AnyPublisher<Output, Failure>)
  }

  private struct State {
    var demand: ((Subscribers.Demand) -> Void)?
    var stop: (() -> Void)?
    var isCancelled = false
  }

  init(
    downstream: DownstreamSubscription<Output, Failure>,
    next: @escaping (Subscribers.Completion<UpstreamFailure>) -> Next
  ) {
    self.downstream = downstream
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
    receive(publisher) { [self] completion in
      switch next(completion) {
      case .finish(let ending): downstream.finish(ending)
      case .again(let publisher): follow(publisher)
      case .last(let publisher): receive(publisher) { [self] in downstream.finish($0) }
      }
    }
  }

  private func receive<F: Error>(
    _ publisher: AnyPublisher<Output, F>, then: @escaping (Subscribers.Completion<F>) -> Void
  ) {
    let receiver = UpstreamSubscriber<Output, F> { [downstream] value in
      downstream.send(value)
      return .none
    } onCompletion: {
      then($0)
    }
    let isWanted = state.withLock { state in
      state.demand = { receiver.request($0) }
      state.stop = { receiver.cancel() }
      return !state.isCancelled
    }
    guard isWanted else { return }
    receiver.request(downstream.outstanding)
    publisher.receive(subscriber: receiver)
  }
}

extension Publisher {
  /// Attaches a subscriber to this publisher, and to those that follow it.
  fileprivate func follow<S: Subscriber>(
    for subscriber: S,
    next: @escaping (Subscribers.Completion<Failure>) -> SuccessivePublishers<Output, Failure, S.Failure>.Next
  ) where S.Input == Output {
    let downstream = DownstreamSubscription<Output, S.Failure>(to: subscriber)
    let run = SuccessivePublishers<Output, Failure, S.Failure>(downstream: downstream, next: next)
    downstream.connect(onDemand: { run.request($0) }, onCancel: { run.cancel() })
    subscriber.receive(subscription: downstream)
    run.follow(eraseToAnyPublisher())
  }

  /// Continues with another publisher after a failure.
  public func `catch`<P: Publisher>(_ handler: @escaping (Failure) -> P) -> Publishers.Catch<Self, P>
  where P.Output == Output { Publishers.Catch(upstream: self, handler: handler) }

  /// Continues with another publisher after a failure; fails with the error that the closure throws.
  public func tryCatch<P: Publisher>(_ handler: @escaping (Failure) throws -> P) -> Publishers.TryCatch<Self, P>
  where P.Output == Output { Publishers.TryCatch(upstream: self, handler: handler) }

  /// Subscribes again after a failure, at most this number of times.
  public func retry(_ retries: Int) -> Publishers.Retry<Self> { Publishers.Retry(upstream: self, retries: retries) }

  /// Delivers the values of this publisher, and then those of the other.
  public func append<P: Publisher>(_ other: P) -> Publishers.Concatenate<Self, P>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: self, suffix: other) }

  /// Delivers the values of this publisher, and then these.
  public func append(_ values: Output...) -> Publishers.Concatenate<Self, Publishers.Sequence<[Output], Failure>> {
    append(Publishers.Sequence(sequence: values))
  }

  /// Delivers the values of the other publisher, and then those of this.
  public func prepend<P: Publisher>(_ other: P) -> Publishers.Concatenate<P, Self>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: other, suffix: self) }

  /// Delivers these values, and then those of this publisher.
  public func prepend(_ values: Output...) -> Publishers.Concatenate<Publishers.Sequence<[Output], Failure>, Self> {
    prepend(Publishers.Sequence(sequence: values))
  }
}
#endif
