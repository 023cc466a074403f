#if !canImport(Darwin)
/// Delivers one value and finishes.
public struct Just<Output>: Publisher {
  /// The publisher never fails.
  public typealias Failure = Never
  /// The value.
  public let output: Output

  /// Makes a publisher of a value.
  public init(_ output: Output) { self.output = output }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
    subscriber.receive(subscription: ReadyValue(output, of: "Just", to: subscriber))
  }
}

extension Just: Equatable where Output: Equatable {}

// MARK: - Operators

extension Just where Output: Comparable {
  /// The publisher itself.
  public func min() -> Just<Output> { self }

  /// The publisher itself.
  public func max() -> Just<Output> { self }
}

extension Just where Output: Equatable {
  /// Delivers whether this is the value.
  public func contains(_ output: Output) -> Just<Bool> { Just<Bool>(self.output == output) }

  /// The publisher itself.
  public func removeDuplicates() -> Just<Output> { self }
}

extension Just {
  // One value needs no operators at run time: these are called at once, and return publishers of their results.

  /// Delivers whether the value satisfies the condition.
  public func allSatisfy(_ predicate: (Output) -> Bool) -> Just<Bool> { Just<Bool>(predicate(output)) }

  /// Delivers whether the value satisfies the condition, or fails with the error that it throws.
  public func tryAllSatisfy(_ predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    tryMap(predicate)
  }

  /// Delivers whether the value satisfies the condition.
  public func contains(where predicate: (Output) -> Bool) -> Just<Bool> { Just<Bool>(predicate(output)) }

  /// Delivers whether the value satisfies the condition, or fails with the error that it throws.
  public func tryContains(where predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    tryMap(predicate)
  }

  /// Delivers an array of the value.
  public func collect() -> Just<[Output]> { Just<[Output]>([output]) }

  /// The publisher itself.
  public func min(by areInIncreasingOrder: (Output, Output) -> Bool) -> Just<Output> { self }

  /// The publisher itself.
  public func max(by areInIncreasingOrder: (Output, Output) -> Bool) -> Just<Output> { self }

  /// Delivers 1.
  public func count() -> Just<Int> { Just<Int>(1) }

  /// Delivers the value if the count is 0.
  public func dropFirst(_ count: Int = 1) -> Optional<Output>.Publisher {
    precondition(count >= 0, "dropFirst(\(count)) is invalid: use 0 or more")
    return filter { _ in count == 0 }
  }

  /// Delivers the value unless it satisfies the condition.
  public func drop(while predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter { !predicate($0) } }

  /// The publisher itself.
  public func first() -> Just<Output> { self }

  /// Delivers the value if it satisfies the condition.
  public func first(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// The publisher itself.
  public func last() -> Just<Output> { self }

  /// Delivers the value if it satisfies the condition.
  public func last(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// Delivers no value.
  public func ignoreOutput() -> Empty<Output, Never> { Empty() }

  /// Delivers the transformed value.
  public func map<T>(_ transform: (Output) -> T) -> Just<T> { Just<T>(transform(output)) }

  /// Delivers the transformed value, or fails with the error that the closure throws.
  public func tryMap<T>(_ transform: (Output) throws -> T) -> Result<T, any Error>.Publisher {
    .init(Result { try transform(output) })
  }

  /// Delivers the transformed value if it is not nil.
  public func compactMap<T>(_ transform: (Output) -> T?) -> Optional<T>.Publisher { .init(transform(output)) }

  /// Delivers the value if it satisfies the condition.
  public func filter(_ isIncluded: (Output) -> Bool) -> Optional<Output>.Publisher {
    .init(isIncluded(output) ? output : nil)
  }

  /// Delivers the value if the index is 0.
  public func output(at index: Int) -> Optional<Output>.Publisher { Optional.Publisher(output).output(at: index) }

  /// Delivers the value if the range contains 0.
  public func output<R: RangeExpression>(in range: R) -> Optional<Output>.Publisher where R.Bound == Int {
    let range = range.relative(to: 0..<Int.max)
    return filter { _ in range.lowerBound == 0 && range.upperBound > 0 }
  }

  /// Delivers the value if the length is not 0.
  public func prefix(_ maxLength: Int) -> Optional<Output>.Publisher { Optional.Publisher(output).prefix(maxLength) }

  /// Delivers the value if it satisfies the condition.
  public func prefix(while predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// Delivers the value, with another failure type.
  public func setFailureType<E: Error>(to failureType: E.Type) -> Result<Output, E>.Publisher { .init(output) }

  /// Delivers the value, with another failure type.
  public func mapError<E: Error>(_ transform: (Never) -> E) -> Result<Output, E>.Publisher { .init(output) }

  /// The publisher itself.
  public func removeDuplicates(by predicate: (Output, Output) -> Bool) -> Just<Output> { self }

  /// Delivers the value, or fails with the error that the closure throws for it.
  public func tryRemoveDuplicates(
    by predicate: (Output, Output) throws -> Bool
  ) -> Result<Output, any Error>.Publisher {
    tryMap { value in
      _ = try predicate(value, value)
      return value
    }
  }

  /// The publisher itself.
  public func replaceError(with output: Output) -> Just<Output> { self }

  /// The publisher itself.
  public func replaceEmpty(with output: Output) -> Just<Output> { self }

  /// The publisher itself.
  public func retry(_ times: Int) -> Just<Output> { self }

  /// Delivers the result of the closure.
  public func reduce<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) -> T
  ) -> Result<T, Never>.Publisher { .init(nextPartialResult(initialResult, output)) }

  /// Delivers the result of the closure, or fails with the error that it throws.
  public func tryReduce<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) throws -> T
  ) -> Result<T, any Error>.Publisher { tryMap { try nextPartialResult(initialResult, $0) } }

  /// Delivers the result of the closure.
  public func scan<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Result<T, Never>.Publisher {
    reduce(initialResult, nextPartialResult)
  }

  /// Delivers the result of the closure, or fails with the error that it throws.
  public func tryScan<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) throws -> T
  ) -> Result<T, any Error>.Publisher { tryReduce(initialResult, nextPartialResult) }

  /// Delivers these elements, and then the value.
  public func prepend(_ elements: Output...) -> Publishers.Sequence<[Output], Never> { prepend(elements) }

  /// Delivers these elements, and then the value.
  public func prepend<Elements: Swift.Sequence>(_ elements: Elements) -> Publishers.Sequence<[Output], Never>
  where Elements.Element == Output { .init(sequence: elements + [output]) }

  /// Delivers the value, and then these elements.
  public func append(_ elements: Output...) -> Publishers.Sequence<[Output], Never> { append(elements) }

  /// Delivers the value, and then these elements.
  public func append<Elements: Swift.Sequence>(_ elements: Elements) -> Publishers.Sequence<[Output], Never>
  where Elements.Element == Output { .init(sequence: [output] + elements) }
}
#endif
