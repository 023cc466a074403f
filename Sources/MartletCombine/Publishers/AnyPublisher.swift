#if !canImport(Combine)
/// A publisher whose type is only what it delivers and how it fails.
public struct AnyPublisher<Output, Failure: Error>: Publisher {
  private let attach: (Inlet<Output, Failure>) -> Void

  /// Hides the type of a publisher.
  public init<P: Publisher>(_ publisher: P) where P.Output == Output, P.Failure == Failure {
    attach = { publisher.receive(subscriber: $0) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    let inlet = outlet.makeInlet()
    subscriber.receive(subscription: outlet)
    attach(inlet)
  }
}

extension Publisher {
  /// Hides the type of the publisher: what a function should return.
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher(self) }
}
#endif
