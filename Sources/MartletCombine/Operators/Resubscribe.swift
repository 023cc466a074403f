#if !canImport(Combine)
extension Publishers {
  /// What the operators make that go on with another publisher when one has ended: `catch`, `retry`, `append`.
  public struct Resubscribe<Output, UpstreamFailure: Error, Failure: Error>: Publisher {
    let first: AnyPublisher<Output, UpstreamFailure>
    /// What follows an end: made for each subscriber, because it may count.
    let makeNext: () -> (Subscribers.Completion<UpstreamFailure>) -> Next

    enum Next {
      case finish(Subscribers.Completion<Failure>)
      /// Another of the same kind, after whose end the question is asked again.
      case again(AnyPublisher<Output, UpstreamFailure>)
      /// One whose end is the end.
      case last(AnyPublisher<Output, Failure>)
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let run = ResubscribeRun<Output, UpstreamFailure, Failure>(outlet: outlet, next: makeNext())
      outlet.connect(onDemand: { run.request($0) }, onCancel: { run.cancel() })
      subscriber.receive(subscription: outlet)
      run.follow(first)
    }
  }
}

/// One subscription's way through the publishers: which one is heard now.
private final class ResubscribeRun<Output, UpstreamFailure: Error, Failure: Error> {
  private let outlet: Outlet<Output, Failure>
  private let next:
    (Subscribers.Completion<UpstreamFailure>) -> Publishers.Resubscribe<Output, UpstreamFailure, Failure>.Next
  private let state = Guarded(State())

  private struct State {
    var demand: ((Subscribers.Demand) -> Void)?
    var stop: (() -> Void)?
    var isCancelled = false
  }

  init(
    outlet: Outlet<Output, Failure>,
    next:
      @escaping (Subscribers.Completion<UpstreamFailure>) ->
      Publishers.Resubscribe<Output, UpstreamFailure, Failure>
      .Next
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
  /// Goes on with another publisher where this one fails.
  public func `catch`<P: Publisher>(
    _ handler: @escaping (Failure) -> P
  ) -> Publishers.Resubscribe<Output, Failure, P.Failure> where P.Output == Output {
    Publishers.Resubscribe(first: eraseToAnyPublisher()) {
      { completion in
        switch completion {
        case .finished: .finish(.finished)
        case .failure(let error): .last(handler(error).eraseToAnyPublisher())
        }
      }
    }
  }

  /// Goes on with another publisher where this one fails; fails with what the closure throws.
  public func tryCatch<P: Publisher>(
    _ handler: @escaping (Failure) throws -> P
  ) -> Publishers.Resubscribe<Output, Failure, any Error> where P.Output == Output {
    Publishers.Resubscribe(first: eraseToAnyPublisher()) {
      { completion in
        guard case .failure(let error) = completion else { return .finish(.finished) }
        do {
          return .last(try handler(error).mapError { $0 as any Error }.eraseToAnyPublisher())
        } catch { return .finish(.failure(error)) }
      }
    }
  }

  /// Subscribes again where this fails, at most so many times.
  public func retry(_ retries: Int) -> Publishers.Resubscribe<Output, Failure, Failure> {
    let upstream = eraseToAnyPublisher()
    return Publishers.Resubscribe(first: upstream) {
      var rest = retries
      return { completion in
        guard case .failure = completion, rest > 0 else { return .finish(completion) }
        rest -= 1
        return .again(upstream)
      }
    }
  }

  /// Delivers what this delivers, and then what the other does.
  public func append<P: Publisher>(
    _ other: P
  ) -> Publishers.Resubscribe<Output, Failure, Failure> where P.Output == Output, P.Failure == Failure {
    Publishers.Resubscribe(first: eraseToAnyPublisher()) {
      { completion in
        if case .finished = completion { .last(other.eraseToAnyPublisher()) } else { .finish(completion) }
      }
    }
  }

  /// Delivers what this delivers, and then these values.
  public func append(_ values: Output...) -> Publishers.Resubscribe<Output, Failure, Failure> {
    append(Publishers.Sequence(sequence: values))
  }

  /// Delivers these values, and then what this delivers.
  public func prepend(_ values: Output...) -> Publishers.Resubscribe<Output, Failure, Failure> {
    Publishers.Sequence<[Output], Failure>(sequence: values).append(self)
  }
}
#endif
