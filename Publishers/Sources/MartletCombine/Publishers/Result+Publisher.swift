#if !canImport(Darwin)
extension Result {
  /// A publisher of the result: `result.publisher`.
  public var publisher: Publisher { Publisher(self) }

  /// Delivers the value of a result and finishes, or fails immediately.
  public struct Publisher: MartletCombine.Publisher {
    /// The output type.
    public typealias Output = Success
    /// The result.
    public let result: Result

    /// Makes a publisher of a result.
    public init(_ result: Result) { self.result = result }

    /// Makes a publisher of a value.
    public init(_ output: Output) { result = .success(output) }

    /// Makes a publisher of an error.
    public init(_ failure: Failure) { result = .failure(failure) }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      switch result {
      case .success(let value):
        subscriber.receive(subscription: ReadyValue(value, of: "Once", to: subscriber))
      case .failure(let error): subscriber.receive(onlyCompletion: .failure(error))
      }
    }
  }

  /// The result of a closure that may throw; a failure stays.
  fileprivate func tryMap<T>(_ transform: (Success) throws -> T) -> Result<T, any Error>.Publisher {
    .init(Result<T, any Error> { try transform(get()) })
  }
}

extension Result.Publisher: Equatable where Success: Equatable, Failure: Equatable {}

// MARK: - Operators

extension Result.Publisher where Output: Equatable {
  /// Delivers whether this is the value.
  public func contains(_ output: Output) -> Result<Bool, Failure>.Publisher { map { $0 == output } }

  /// The publisher itself.
  public func removeDuplicates() -> Result<Output, Failure>.Publisher { self }
}

extension Result.Publisher where Output: Comparable {
  /// The publisher itself.
  public func min() -> Result<Output, Failure>.Publisher { self }

  /// The publisher itself.
  public func max() -> Result<Output, Failure>.Publisher { self }
}

extension Result.Publisher {
  /// Delivers whether the value satisfies the condition.
  public func allSatisfy(_ predicate: (Output) -> Bool) -> Result<Bool, Failure>.Publisher { map(predicate) }

  /// Delivers whether the value satisfies the condition, or fails with the error that it throws.
  public func tryAllSatisfy(_ predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    result.tryMap(predicate)
  }

  /// Delivers whether the value satisfies the condition.
  public func contains(where predicate: (Output) -> Bool) -> Result<Bool, Failure>.Publisher { map(predicate) }

  /// Delivers whether the value satisfies the condition, or fails with the error that it throws.
  public func tryContains(where predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    result.tryMap(predicate)
  }

  /// Delivers an array of the value.
  public func collect() -> Result<[Output], Failure>.Publisher { map { [$0] } }

  /// The publisher itself.
  public func min(by areInIncreasingOrder: (Output, Output) -> Bool) -> Result<Output, Failure>.Publisher { self }

  /// Delivers the value, or fails with the error that the closure throws for it.
  public func tryMin(
    by areInIncreasingOrder: (Output, Output) throws -> Bool
  ) -> Result<Output, any Error>.Publisher { tryRemoveDuplicates(by: areInIncreasingOrder) }

  /// The publisher itself.
  public func max(by areInIncreasingOrder: (Output, Output) -> Bool) -> Result<Output, Failure>.Publisher { self }

  /// Delivers the value, or fails with the error that the closure throws for it.
  public func tryMax(
    by areInIncreasingOrder: (Output, Output) throws -> Bool
  ) -> Result<Output, any Error>.Publisher { tryRemoveDuplicates(by: areInIncreasingOrder) }

  /// Delivers 1.
  public func count() -> Result<Int, Failure>.Publisher { map { _ in 1 } }

  /// The publisher itself.
  public func first() -> Result<Output, Failure>.Publisher { self }

  /// The publisher itself.
  public func last() -> Result<Output, Failure>.Publisher { self }

  /// Delivers no value.
  public func ignoreOutput() -> Empty<Output, Failure> { Empty() }

  /// Delivers the transformed value.
  public func map<T>(_ transform: (Output) -> T) -> Result<T, Failure>.Publisher { .init(result.map(transform)) }

  /// Delivers the transformed value, or fails with the error that the closure throws.
  public func tryMap<T>(_ transform: (Output) throws -> T) -> Result<T, any Error>.Publisher {
    result.tryMap(transform)
  }

  /// Converts the error.
  public func mapError<E: Error>(_ transform: (Failure) -> E) -> Result<Output, E>.Publisher {
    .init(result.mapError(transform))
  }

  /// The publisher itself.
  public func removeDuplicates(by predicate: (Output, Output) -> Bool) -> Result<Output, Failure>.Publisher { self }

  /// Delivers the value, or fails with the error that the closure throws for it.
  public func tryRemoveDuplicates(
    by predicate: (Output, Output) throws -> Bool
  ) -> Result<Output, any Error>.Publisher {
    result.tryMap { value in
      _ = try predicate(value, value)
      return value
    }
  }

  /// Delivers the value, or this one instead of an error.
  public func replaceError(with output: Output) -> Result<Output, Never>.Publisher {
    .init(result.flatMapError { _ in .success(output) })
  }

  /// The publisher itself.
  public func replaceEmpty(with output: Output) -> Result<Output, Failure>.Publisher { self }

  /// The publisher itself.
  public func retry(_ times: Int) -> Result<Output, Failure>.Publisher { self }

  /// Delivers the result of the closure.
  public func reduce<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Result<T, Failure>.Publisher {
    map { nextPartialResult(initialResult, $0) }
  }

  /// Delivers the result of the closure, or fails with the error that it throws.
  public func tryReduce<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) throws -> T
  ) -> Result<T, any Error>.Publisher { result.tryMap { try nextPartialResult(initialResult, $0) } }

  /// Delivers the result of the closure.
  public func scan<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Result<T, Failure>.Publisher {
    map { nextPartialResult(initialResult, $0) }
  }

  /// Delivers the result of the closure, or fails with the error that it throws.
  public func tryScan<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) throws -> T
  ) -> Result<T, any Error>.Publisher { result.tryMap { try nextPartialResult(initialResult, $0) } }
}

extension Result.Publisher where Failure == Never {
  /// Delivers the value, with another failure type.
  public func setFailureType<E: Error>(to failureType: E.Type) -> Result<Output, E>.Publisher {
    .init(result.mapError { error -> E in })
  }
}
#endif
