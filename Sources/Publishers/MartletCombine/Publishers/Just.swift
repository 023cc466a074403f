#if !canImport(Combine)
/// Delivers one value and completes.
public struct Just<Output>: Publisher {
  /// The publisher never fails.
  public typealias Failure = Never
  /// The value.
  public let output: Output

  /// Makes a publisher of a value.
  public init(_ output: Output) { self.output = output }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
    Publishers.Sequence<CollectionOfOne<Output>, Never>(sequence: CollectionOfOne(output)).receive(
      subscriber: subscriber)
  }
}

/// Fails immediately.
public struct Fail<Output, Failure: Error>: Publisher {
  /// The error.
  public let error: Failure

  /// Makes a publisher of an error.
  public init(error: Failure) { self.error = error }

  /// Makes a publisher of an error, with an output type.
  public init(outputType: Output.Type, failure: Failure) { error = failure }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    subscriber.receive(subscription: downstream)
    downstream.finish(.failure(error))
  }
}

/// Delivers no value, and completes immediately or never.
public struct Empty<Output, Failure: Error>: Publisher {
  /// Whether it completes immediately.
  public let completeImmediately: Bool

  /// Makes a publisher without values.
  public init(completeImmediately: Bool = true) { self.completeImmediately = completeImmediately }

  /// Makes a publisher without values, with output and failure type.
  public init(completeImmediately: Bool = true, outputType: Output.Type, failureType: Failure.Type) {
    self.completeImmediately = completeImmediately
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    subscriber.receive(subscription: downstream)
    if completeImmediately { downstream.finish(.finished) }
  }
}

extension Publishers {
  /// Delivers the elements of a sequence when they are requested.
  public struct Sequence<Elements: Swift.Sequence, Failure: Error>: Publisher {
    /// An element.
    public typealias Output = Elements.Element
    /// The elements.
    public let sequence: Elements

    /// Makes a publisher of a sequence.
    public init(sequence: Elements) { self.sequence = sequence }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      var rest = sequence.makeIterator()
      // One element ahead, so that the completion follows the last value without a request.
      var ahead = rest.next()
      let isEmpty = ahead == nil
      downstream.connect(pull: {
        guard let value = ahead else { return nil }
        ahead = rest.next()
        return ahead == nil ? .last(value) : .value(value)
      })
      subscriber.receive(subscription: downstream)
      if isEmpty { downstream.finish(.finished) }
    }
  }
}

extension Swift.Sequence {
  /// A publisher of the elements of the array.
  public var publisher: Publishers.Sequence<Self, Never> { Publishers.Sequence(sequence: self) }
}
#endif
