#if !canImport(Darwin)
// Operators on publishers of collections. They are applied at once, and return publishers of their results.

extension Publishers.Sequence where Elements: Collection {
  /// Delivers the number of elements.
  public func count() -> Result<Int, Failure>.Publisher { .init(sequence.count) }

  /// Delivers the elements at these positions.
  public func output(in range: Range<Elements.Index>) -> Publishers.Sequence<[Output], Failure> {
    .init(sequence: Array(sequence[range]))
  }
}

extension Publishers.Sequence where Elements: Collection, Failure == Never {
  /// Delivers the first element.
  public func first() -> Optional<Output>.Publisher { .init(sequence.first) }

  /// Delivers the element at this position, if there is one.
  public func output(at index: Elements.Index) -> Optional<Output>.Publisher {
    .init(sequence.indices.contains(index) ? sequence[index] : nil)
  }
}

extension Publishers.Sequence where Elements: BidirectionalCollection, Failure == Never {
  /// Delivers the last element.
  public func last() -> Optional<Output>.Publisher { .init(sequence.last) }

  /// Delivers the last element that satisfies the condition.
  public func last(where predicate: (Output) -> Bool) -> Optional<Output>.Publisher {
    .init(sequence.last(where: predicate))
  }
}

extension Publishers.Sequence where Elements: RandomAccessCollection {
  /// Delivers the number of elements.
  public func count() -> Result<Int, Failure>.Publisher { .init(sequence.count) }

  /// Delivers the elements at these positions.
  public func output(in range: Range<Elements.Index>) -> Publishers.Sequence<[Output], Failure> {
    .init(sequence: Array(sequence[range]))
  }
}

extension Publishers.Sequence where Elements: RandomAccessCollection, Failure == Never {
  /// Delivers the element at this position, if there is one.
  public func output(at index: Elements.Index) -> Optional<Output>.Publisher {
    .init(sequence.indices.contains(index) ? sequence[index] : nil)
  }

  /// Delivers the number of elements.
  public func count() -> Just<Int> { Just(sequence.count) }
}

extension Publishers.Sequence where Elements: RangeReplaceableCollection {
  /// Delivers these elements, and then those of the sequence.
  public func prepend(_ elements: Output...) -> Publishers.Sequence<Elements, Failure> { prepend(elements) }

  /// Delivers these elements, and then those of the sequence.
  public func prepend<S: Swift.Sequence>(_ elements: S) -> Publishers.Sequence<Elements, Failure>
  where S.Element == Output {
    var all = Elements()
    all.reserveCapacity(sequence.count + elements.underestimatedCount)
    all.append(contentsOf: elements)
    all.append(contentsOf: sequence)
    return .init(sequence: all)
  }

  /// Delivers the elements of the other publisher, and then those of this one.
  public func prepend(_ publisher: Publishers.Sequence<Elements, Failure>) -> Publishers.Sequence<Elements, Failure> {
    publisher.append(sequence)
  }

  /// Delivers the elements of the sequence, and then these.
  public func append(_ elements: Output...) -> Publishers.Sequence<Elements, Failure> { append(elements) }

  /// Delivers the elements of the sequence, and then these.
  public func append<S: Swift.Sequence>(_ elements: S) -> Publishers.Sequence<Elements, Failure>
  where S.Element == Output {
    var all = sequence
    all.append(contentsOf: elements)
    return .init(sequence: all)
  }

  /// Delivers the elements of this publisher, and then those of the other one.
  public func append(_ publisher: Publishers.Sequence<Elements, Failure>) -> Publishers.Sequence<Elements, Failure> {
    append(publisher.sequence)
  }
}
#endif
