#if !canImport(Darwin)
extension Sequence {
  /// A publisher of the elements, for example of an array.
  public var publisher: Publishers.Sequence<Self, Never> { Publishers.Sequence(sequence: self) }
}

extension Publishers {
  /// Delivers the elements of a sequence as they are requested, and finishes.
  public struct Sequence<Elements: Swift.Sequence, Failure: Error>: Publisher {
    /// An element.
    public typealias Output = Elements.Element
    /// The elements.
    public let sequence: Elements

    /// Makes a publisher of a sequence.
    public init(sequence: Elements) { self.sequence = sequence }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      ReadyValues.start(sequence, completion: .finished, to: subscriber, nameAfterTheEnd: "Sequence")
    }
  }
}

extension Publishers.Sequence: Equatable where Elements: Equatable {}

// MARK: - Operators

// The elements are ready, so these operators are applied at once, and return publishers of their results.

extension Publishers.Sequence {
  /// Delivers whether all elements satisfy the condition.
  public func allSatisfy(_ predicate: (Output) -> Bool) -> Result<Bool, Failure>.Publisher {
    .init(sequence.allSatisfy(predicate))
  }

  /// Delivers whether all elements satisfy the condition, or fails with the error that it throws.
  public func tryAllSatisfy(_ predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    .init(Result { try sequence.allSatisfy(predicate) })
  }

  /// Delivers all elements in one array.
  public func collect() -> Result<[Output], Failure>.Publisher { .init(Array(sequence)) }

  /// Delivers the transformed elements that are not nil.
  public func compactMap<T>(_ transform: (Output) -> T?) -> Publishers.Sequence<[T], Failure> {
    .init(sequence: sequence.compactMap(transform))
  }

  /// Delivers whether an element satisfies the condition.
  public func contains(where predicate: (Output) -> Bool) -> Result<Bool, Failure>.Publisher {
    .init(sequence.contains(where: predicate))
  }

  /// Delivers whether an element satisfies the condition, or fails with the error that it throws.
  public func tryContains(where predicate: (Output) throws -> Bool) -> Result<Bool, any Error>.Publisher {
    .init(Result { try sequence.contains(where: predicate) })
  }

  /// Skips elements until one does not satisfy the condition.
  public func drop(while predicate: (Output) -> Bool) -> Publishers.Sequence<DropWhileSequence<Elements>, Failure> {
    .init(sequence: sequence.drop(while: predicate))
  }

  /// Skips the first elements.
  public func dropFirst(_ count: Int = 1) -> Publishers.Sequence<DropFirstSequence<Elements>, Failure> {
    .init(sequence: sequence.dropFirst(count))
  }

  /// Delivers the elements that satisfy the condition.
  public func filter(_ isIncluded: (Output) -> Bool) -> Publishers.Sequence<[Output], Failure> {
    .init(sequence: sequence.filter(isIncluded))
  }

  /// Delivers no element.
  public func ignoreOutput() -> Empty<Output, Failure> { Empty() }

  /// Delivers the transformed elements.
  public func map<T>(_ transform: (Output) -> T) -> Publishers.Sequence<[T], Failure> {
    .init(sequence: sequence.map(transform))
  }

  /// Delivers at most this number of elements.
  public func prefix(_ maxLength: Int) -> Publishers.Sequence<PrefixSequence<Elements>, Failure> {
    .init(sequence: sequence.prefix(maxLength))
  }

  /// Delivers elements until one does not satisfy the condition.
  public func prefix(while predicate: (Output) -> Bool) -> Publishers.Sequence<[Output], Failure> {
    .init(sequence: sequence.prefix(while: predicate))
  }

  /// Delivers the result of combining all elements.
  public func reduce<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Result<T, Failure>.Publisher {
    .init(sequence.reduce(initialResult, nextPartialResult))
  }

  /// Delivers the result of combining all elements, or fails with the error that the closure throws.
  public func tryReduce<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) throws -> T
  ) -> Result<T, any Error>.Publisher { .init(Result { try sequence.reduce(initialResult, nextPartialResult) }) }

  /// Delivers the value instead of nil.
  public func replaceNil<T>(with output: T) -> Publishers.Sequence<[Output], Failure> where Output == T? {
    .init(sequence: sequence.map { $0 ?? output })
  }

  /// Delivers the results of combining each element with the previous result.
  public func scan<T>(
    _ initialResult: T, _ nextPartialResult: (T, Output) -> T
  ) -> Publishers.Sequence<[T], Failure> {
    var result = initialResult
    return map { element in
      result = nextPartialResult(result, element)
      return result
    }
  }

  /// Sets another failure type.
  public func setFailureType<E: Error>(to error: E.Type) -> Publishers.Sequence<Elements, E> {
    .init(sequence: sequence)
  }
}

extension Publishers.Sequence where Elements.Element: Equatable {
  /// Skips elements that are equal to the one before.
  public func removeDuplicates() -> Publishers.Sequence<[Output], Failure> {
    var last: Output?
    return filter { element in
      defer { last = element }
      return element != last
    }
  }

  /// Delivers whether this is an element.
  public func contains(_ output: Output) -> Result<Bool, Failure>.Publisher { .init(sequence.contains(output)) }
}

extension Publishers.Sequence where Failure == Never {
  /// Delivers the smallest element in this order.
  public func min(by areInIncreasingOrder: (Output, Output) -> Bool) -> Optional<Output>.Publisher {
    .init(sequence.min(by: areInIncreasingOrder))
  }

  /// Delivers the largest element in this order.
  public func max(by areInIncreasingOrder: (Output, Output) -> Bool) -> Optional<Output>.Publisher {
    .init(sequence.max(by: areInIncreasingOrder))
  }

  /// Delivers the first element that satisfies the condition.
  public func first(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher {
    .init(sequence.first(where: predicate))
  }
}

extension Publishers.Sequence where Failure == Never, Elements.Element: Comparable {
  /// Delivers the smallest element.
  public func min() -> Optional<Output>.Publisher { .init(sequence.min()) }

  /// Delivers the largest element.
  public func max() -> Optional<Output>.Publisher { .init(sequence.max()) }
}
#endif
