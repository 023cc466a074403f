#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/catch(_:)`` returns.
  public struct Catch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = NewPublisher.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Makes the publisher that continues after a failure.
    public let handler: (Upstream.Failure) -> NewPublisher

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, handler: @escaping (Upstream.Failure) -> NewPublisher) {
      self.upstream = upstream
      self.handler = handler
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      subscribe(subscriber, succession: "Catch")
    }
  }

  /// The publisher that ``Publisher/tryCatch(_:)`` returns.
  public struct TryCatch<Upstream: Publisher, NewPublisher: Publisher>: Publisher
  where Upstream.Output == NewPublisher.Output {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Makes the publisher that continues after a failure.
    public let handler: (Upstream.Failure) throws -> NewPublisher

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, handler: @escaping (Upstream.Failure) throws -> NewPublisher) {
      self.upstream = upstream
      self.handler = handler
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      subscribe(subscriber, succession: "TryCatch")
    }
  }

  /// The publisher that ``Publisher/replaceError(with:)`` returns.
  public struct ReplaceError<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Never
    /// The upstream publisher.
    public let upstream: Upstream
    /// The value to deliver instead of an error.
    public let output: Upstream.Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, output: Upstream.Output) {
      self.upstream = upstream
      self.output = output
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      subscribe(subscriber, succession: "ReplaceError")
    }
  }

  /// The publisher that ``Publisher/retry(_:)`` returns.
  public struct Retry<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The number of further subscriptions; nil or negative for no limit.
    public let retries: Int?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, retries: Int?) {
      self.upstream = upstream
      self.retries = retries
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      subscribe(subscriber, succession: "Retry")
    }
  }
}

extension Publishers.Catch: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    SuccessionStage(upstream) { [handler] completion in
      switch completion {
      case .finished: .complete(.finished)
      case .failure(let error): .last(handler(error))
      }
    }
  }
}

extension Publishers.TryCatch: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    SuccessionStage(upstream) { [handler] completion in
      guard case .failure(let error) = completion else { return .complete(.finished) }
      do { return .last(try handler(error)) } catch { return .complete(.failure(error)) }
    }
  }
}

extension Publishers.ReplaceError: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    SuccessionStage(upstream) { [output] completion in
      if case .failure = completion { .last(Just(output)) } else { .complete(.finished) }
    }
  }
}

extension Publishers.Retry: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    var rest = retries ?? -1
    return SuccessionStage(upstream) { [upstream] completion in
      guard case .failure = completion, rest != 0 else { return .complete(with: completion) }
      rest -= 1
      return .again(SuccessionPublisher(upstream))
    }
  }
}

extension Publishers.ReplaceError: Equatable where Upstream: Equatable, Upstream.Output: Equatable {}
extension Publishers.Retry: Equatable where Upstream: Equatable {}

extension Publisher {
  /// Continues with another publisher after a failure.
  public func `catch`<P: Publisher>(_ handler: @escaping (Failure) -> P) -> Publishers.Catch<Self, P>
  where P.Output == Output { Publishers.Catch(upstream: self, handler: handler) }

  /// Continues with another publisher after a failure; fails with the error that the closure throws.
  public func tryCatch<P: Publisher>(_ handler: @escaping (Failure) throws -> P) -> Publishers.TryCatch<Self, P>
  where P.Output == Output { Publishers.TryCatch(upstream: self, handler: handler) }

  /// Delivers the value and finishes instead of failing.
  public func replaceError(with output: Output) -> Publishers.ReplaceError<Self> {
    Publishers.ReplaceError(upstream: self, output: output)
  }

  /// Subscribes again after a failure, at most this number of times.
  public func retry(_ retries: Int) -> Publishers.Retry<Self> {
    precondition(retries >= 0, "retry(\(retries)) is invalid: use 0 or more")
    return Publishers.Retry(upstream: self, retries: retries)
  }
}
#endif
