#if !canImport(Darwin)
/// Makes a new publisher for every subscriber.
public struct Deferred<DeferredPublisher: Publisher>: Publisher {
  /// The output type.
  public typealias Output = DeferredPublisher.Output
  /// The failure type.
  public typealias Failure = DeferredPublisher.Failure
  /// Makes the publisher.
  public let createPublisher: () -> DeferredPublisher

  /// Makes a publisher that calls the closure for each subscriber.
  public init(createPublisher: @escaping () -> DeferredPublisher) { self.createPublisher = createPublisher }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    createPublisher().subscribe(subscriber)
  }
}

extension Deferred: SuccessiveOperator {
  func stage() -> SuccessionStage<Output>? { SuccessionStage(createPublisher()) }
}
#endif
