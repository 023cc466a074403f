#if !canImport(Darwin)
/// Delivers no value, and finishes immediately or never.
public struct Empty<Output, Failure: Error>: Publisher, Equatable {
  /// Whether it finishes immediately.
  public let completeImmediately: Bool

  /// Makes a publisher without values.
  public init(completeImmediately: Bool = true) { self.completeImmediately = completeImmediately }

  /// Makes a publisher without values, with output and failure type.
  public init(completeImmediately: Bool = true, outputType: Output.Type, failureType: Failure.Type) {
    self.completeImmediately = completeImmediately
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    if completeImmediately {
      subscriber.receive(onlyCompletion: .finished)
    } else {
      subscriber.receive(subscription: Subscriptions.empty)
    }
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
    subscriber.receive(onlyCompletion: .failure(error))
  }
}

extension Fail: Equatable where Failure: Equatable {}
#endif
