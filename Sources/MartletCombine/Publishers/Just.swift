#if !canImport(Combine)
/// Delivers one value and completes.
public struct Just<Output>: Publisher {
  /// It never fails.
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

/// Fails at once.
public struct Fail<Output, Failure: Error>: Publisher {
  /// The error.
  public let error: Failure

  /// Makes a publisher of an error.
  public init(error: Failure) { self.error = error }

  /// Makes a publisher of an error, with the type of the values that it will not deliver.
  public init(outputType: Output.Type, failure: Failure) { error = failure }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    subscriber.receive(subscription: outlet)
    outlet.finish(.failure(error))
  }
}

/// Delivers nothing, and completes at once or never.
public struct Empty<Output, Failure: Error>: Publisher {
  /// Whether it completes at once.
  public let completeImmediately: Bool

  /// Makes a publisher of nothing.
  public init(completeImmediately: Bool = true) { self.completeImmediately = completeImmediately }

  /// Makes a publisher of nothing, with the types of what it will not deliver.
  public init(completeImmediately: Bool = true, outputType: Output.Type, failureType: Failure.Type) {
    self.completeImmediately = completeImmediately
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    subscriber.receive(subscription: outlet)
    if completeImmediately { outlet.finish(.finished) }
  }
}
#endif
