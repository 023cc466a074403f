#if !canImport(Darwin)
extension Publishers {
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
      subscribe(subscriber, succession: "Concatenate")
    }
  }
}

extension Publishers.Concatenate: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    SuccessionStage(prefix) { [suffix] completion in
      if case .finished = completion { .last(suffix) } else { .complete(with: completion) }
    }
  }
}

extension Publishers.Concatenate: Equatable where Prefix: Equatable, Suffix: Equatable {}

extension Publisher {
  /// Delivers the values of this publisher, and then these.
  public func append(_ elements: Output...) -> Publishers.Concatenate<Self, Publishers.Sequence<[Output], Failure>> {
    append(elements)
  }

  /// Delivers the values of this publisher, and then these.
  public func append<Elements: Swift.Sequence>(
    _ elements: Elements
  ) -> Publishers.Concatenate<Self, Publishers.Sequence<Elements, Failure>> where Elements.Element == Output {
    append(Publishers.Sequence(sequence: elements))
  }

  /// Delivers the values of this publisher, and then those of the other.
  public func append<P: Publisher>(_ publisher: P) -> Publishers.Concatenate<Self, P>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: self, suffix: publisher) }

  /// Delivers these values, and then those of this publisher.
  public func prepend(_ elements: Output...) -> Publishers.Concatenate<Publishers.Sequence<[Output], Failure>, Self> {
    prepend(elements)
  }

  /// Delivers these values, and then those of this publisher.
  public func prepend<Elements: Swift.Sequence>(
    _ elements: Elements
  ) -> Publishers.Concatenate<Publishers.Sequence<Elements, Failure>, Self> where Elements.Element == Output {
    prepend(Publishers.Sequence(sequence: elements))
  }

  /// Delivers the values of the other publisher, and then those of this one.
  public func prepend<P: Publisher>(_ publisher: P) -> Publishers.Concatenate<P, Self>
  where P.Output == Output, P.Failure == Failure { Publishers.Concatenate(prefix: publisher, suffix: self) }
}
#endif
