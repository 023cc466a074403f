#if !canImport(Combine)
/// A type-erased publisher.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
  private let attach: (UpstreamSubscriber<Output, Failure>) -> Void

  /// Erases the type of a publisher.
  public init<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
    attach = { publisher.receive(subscriber: $0) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    let receiver = downstream.makeUpstreamSubscriber()
    subscriber.receive(subscription: downstream)
    attach(receiver)
  }
}

extension Publisher {
  /// Erases the type of the publisher, for example as the result of a function.
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }
}
#endif
