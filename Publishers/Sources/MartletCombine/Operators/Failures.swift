#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/mapError(_:)`` returns.
  public struct MapError<Upstream: Publisher, Failure: Error>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The upstream publisher.
    public let upstream: Upstream
    /// Converts an error.
    public let transform: (Upstream.Failure) -> Failure

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Failure) -> Failure) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, convertingFailure: "MapError", transform)
    }
  }

  /// The publisher that ``Publisher/setFailureType(to:)`` returns.
  public struct SetFailureType<Upstream: Publisher, Failure: Error>: Publisher where Upstream.Failure == Never {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, convertingFailure: "SetFailureType") { _ -> Failure in }
    }
  }

  /// The publisher that ``Publisher/assertNoFailure(_:file:line:)`` returns.
  public struct AssertNoFailure<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Never
    /// The upstream publisher.
    public let upstream: Upstream
    /// The beginning of the message.
    public let prefix: String
    /// The file of the assertion.
    public let file: StaticString
    /// The line of the assertion.
    public let line: UInt

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, prefix: String, file: StaticString, line: UInt) {
      self.upstream = upstream
      self.prefix = prefix
      self.file = file
      self.line = line
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, convertingFailure: "AssertNoFailure") { [prefix, file, line] error -> Never in
        fatalError(prefix.isEmpty ? "\(error)" : "\(prefix): \(error)", file: file, line: line)
      }
    }
  }
}

extension Publishers.SetFailureType: Equatable where Upstream: Equatable {}

extension Publisher {
  /// Converts the error of a failure.
  public func mapError<E: Error>(_ transform: @escaping (Failure) -> E) -> Publishers.MapError<Self, E> {
    Publishers.MapError(upstream: self, transform: transform)
  }

  /// Stops the program if this publisher fails: use it where a failure is a programming error.
  ///
  /// - Parameters:
  ///   - prefix: the beginning of the message.
  ///   - file: the file that the message names; by default, that of the call.
  ///   - line: the line that the message names; by default, that of the call.
  public func assertNoFailure(
    _ prefix: String = "", file: StaticString = #file, line: UInt = #line
  ) -> Publishers.AssertNoFailure<Self> {
    Publishers.AssertNoFailure(upstream: self, prefix: prefix, file: file, line: line)
  }
}

extension Publisher where Failure == Never {
  /// Sets the failure type of a publisher that cannot fail, to match that of others.
  public func setFailureType<E: Error>(to failureType: E.Type) -> Publishers.SetFailureType<Self, E> {
    Publishers.SetFailureType(upstream: self)
  }
}

// Between the operators of a succession, they convert without a subscriber of their own.

extension Publishers.MapError: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    SuccessionStage(upstream) { [transform] completion in
      switch completion {
      case .finished: .complete(.finished)
      case .failure(let error): .complete(.failure(transform(error)))
      }
    }
  }
}

extension Publishers.SetFailureType: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? { SuccessionStage(upstream) }
}

extension Publishers.SetFailureType {
  /// Sets another failure type.
  public func setFailureType<E: Error>(to failureType: E.Type) -> Publishers.SetFailureType<Upstream, E> {
    Publishers.SetFailureType(upstream: upstream)
  }
}
#endif
