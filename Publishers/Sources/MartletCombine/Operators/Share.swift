#if !canImport(Darwin)
extension Publishers {
  /// One upstream subscription for several subscribers. It begins with the first subscriber and is cancelled with the
  /// last. A value is delivered to the subscribers that have requested it when it arrives. Later subscribers receive
  /// only the completion.
  public final class Share<Upstream: Publisher>: Publisher, Equatable {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    private let shared: Autoconnect<Multicast<Upstream, PassthroughSubject<Output, Failure>>>

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) {
      self.upstream = upstream
      shared = upstream.multicast { PassthroughSubject() }.autoconnect()
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      shared.receive(subscriber: subscriber)
    }

    /// Compares identities.
    public static func == (left: Share, right: Share) -> Bool { left === right }
  }
}

extension Publisher {
  /// Shares one subscription to this publisher among several subscribers. It combines `multicast` with a
  /// ``PassthroughSubject`` and ``ConnectablePublisher/autoconnect()``.
  public func share() -> Publishers.Share<Self> { Publishers.Share(upstream: self) }
}
#endif
