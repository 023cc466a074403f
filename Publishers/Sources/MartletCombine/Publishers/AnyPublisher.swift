#if !canImport(Darwin)
/// A type-erased publisher.
public struct AnyPublisher<Output, Failure: Error>: Publisher, CustomStringConvertible,
  CustomPlaygroundDisplayConvertible
{
  private let publisher: any Publisher<Output, Failure>

  /// Erases the type of a publisher. An erased one is not erased again.
  public init<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
    self.publisher = (publisher as? Self)?.publisher ?? publisher
  }

  /// `AnyPublisher`.
  public var description: String { "AnyPublisher" }

  /// `AnyPublisher`.
  public var playgroundDescription: Any { description }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    publisher.subscribe(subscriber)
  }
}

extension AnyPublisher: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? {
    (publisher as? any SuccessiveOperator<Output, Failure>)?.stage()
  }
}

extension Publisher {
  /// Erases the type of the publisher, for example as the result of a function.
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }
}
#endif
