#if !canImport(Darwin)
extension Optional {
  /// A publisher of the value, or of nothing: `optional.publisher`.
  public var publisher: Publisher { Publisher(self) }

  /// Delivers the value of an optional, if there is one, and finishes.
  public struct Publisher: MartletCombine.Publisher {
    /// The output type.
    public typealias Output = Wrapped
    /// The publisher never fails.
    public typealias Failure = Never
    /// The value, or nil.
    public let output: Wrapped?

    /// Makes a publisher of an optional value.
    public init(_ output: Output?) { self.output = output }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      guard let output else { return subscriber.receive(onlyCompletion: .finished) }
      subscriber.receive(subscription: ReadyValue(output, of: "Optional", to: subscriber))
    }
  }
}

extension Optional.Publisher: Equatable where Wrapped: Equatable {}

// MARK: - Operators

extension Optional.Publisher where Wrapped: Equatable {
  /// Delivers whether this is the value, if there is one.
  public func contains(_ output: Output) -> Optional<Bool>.Publisher { map { $0 == output } }

  /// The publisher itself.
  public func removeDuplicates() -> Optional<Wrapped>.Publisher { self }
}

extension Optional.Publisher where Wrapped: Comparable {
  /// The publisher itself.
  public func min() -> Optional<Wrapped>.Publisher { self }

  /// The publisher itself.
  public func max() -> Optional<Wrapped>.Publisher { self }
}

extension Optional.Publisher {
  /// Delivers whether the value satisfies the condition, if there is one.
  public func allSatisfy(_ predicate: (Output) -> Bool) -> Optional<Bool>.Publisher { map(predicate) }

  /// Delivers an array of the value, or an empty one.
  public func collect() -> Optional<[Output]>.Publisher { .init(output.map { [$0] } ?? []) }

  /// Delivers the transformed value if there is one that is not nil.
  public func compactMap<T>(_ transform: (Output) -> T?) -> Optional<T>.Publisher { .init(output.flatMap(transform)) }

  /// The publisher itself.
  public func min(by areInIncreasingOrder: (Output, Output) -> Bool) -> Optional<Output>.Publisher { self }

  /// The publisher itself.
  public func max(by areInIncreasingOrder: (Output, Output) -> Bool) -> Optional<Output>.Publisher { self }

  /// Delivers whether the value satisfies the condition, if there is one.
  public func contains(where predicate: (Output) -> Bool) -> Optional<Bool>.Publisher { map(predicate) }

  /// Delivers 1, if there is a value.
  public func count() -> Optional<Int>.Publisher { map { _ in 1 } }

  /// Delivers the value if the count is 0.
  public func dropFirst(_ count: Int = 1) -> Optional<Output>.Publisher {
    precondition(count >= 0, "dropFirst(\(count)) is invalid: use 0 or more")
    return filter { _ in count == 0 }
  }

  /// Delivers the value unless it satisfies the condition.
  public func drop(while predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter { !predicate($0) } }

  /// The publisher itself.
  public func first() -> Optional<Output>.Publisher { self }

  /// Delivers the value if it satisfies the condition.
  public func first(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// The publisher itself.
  public func last() -> Optional<Output>.Publisher { self }

  /// Delivers the value if it satisfies the condition.
  public func last(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// Delivers the value if it satisfies the condition.
  public func filter(_ isIncluded: (Output) -> Bool) -> Optional<Output>.Publisher {
    .init(output.flatMap { isIncluded($0) ? $0 : nil })
  }

  /// Delivers no value.
  public func ignoreOutput() -> Empty<Output, Failure> { Empty() }

  /// Delivers the transformed value.
  public func map<T>(_ transform: (Output) -> T) -> Optional<T>.Publisher { .init(output.map(transform)) }

  /// Delivers the value if the index is 0.
  public func output(at index: Int) -> Optional<Output>.Publisher {
    precondition(index >= 0, "output(at: \(index)) is invalid: use 0 or more")
    return filter { _ in index == 0 }
  }

  /// Delivers the value if the range contains 0.
  public func output<R: RangeExpression>(in range: R) -> Optional<Output>.Publisher where R.Bound == Int {
    let range = range.relative(to: 0..<Int.max)
    precondition(range.lowerBound >= 0, "the position \(range.lowerBound) is invalid: use 0 or more")
    return filter { _ in range.contains(0) }
  }

  /// Delivers the value if the length is not 0.
  public func prefix(_ maxLength: Int) -> Optional<Output>.Publisher {
    precondition(maxLength >= 0, "prefix(\(maxLength)) is invalid: use 0 or more")
    return filter { _ in maxLength > 0 }
  }

  /// Delivers the value if it satisfies the condition.
  public func prefix(while predicate: (Output) -> Bool) -> Optional<Output>.Publisher { filter(predicate) }

  /// Delivers the result of the closure, if there is a value.
  public func reduce<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Optional<T>.Publisher {
    map { nextPartialResult(initialResult, $0) }
  }

  /// Delivers the result of the closure, if there is a value.
  public func scan<T>(_ initialResult: T, _ nextPartialResult: (T, Output) -> T) -> Optional<T>.Publisher {
    map { nextPartialResult(initialResult, $0) }
  }

  /// The publisher itself.
  public func removeDuplicates(by predicate: (Output, Output) -> Bool) -> Optional<Output>.Publisher { self }

  /// The publisher itself.
  public func replaceError(with output: Output) -> Optional<Output>.Publisher { self }

  /// Delivers the value, or this one if there is none.
  public func replaceEmpty(with output: Output) -> Just<Output> { Just(self.output ?? output) }

  /// The publisher itself.
  public func retry(_ times: Int) -> Optional<Output>.Publisher { self }
}
#endif
