#if !canImport(Darwin)
/// A publisher that delivers nothing until it is connected, so that several subscribers can be attached first.
public protocol ConnectablePublisher<Output, Failure>: Publisher {
  /// Starts delivering values.
  ///
  /// - Returns: an object that cancels the connection.
  func connect() -> any Cancellable
}

extension Publishers {
  /// The publisher that `multicast` returns: a subject that all subscribers share. It is attached upstream once
  /// connected.
  public final class Multicast<Upstream: Publisher, SubjectType: Subject>: ConnectablePublisher
  where Upstream.Output == SubjectType.Output, Upstream.Failure == SubjectType.Failure {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Makes the subject on first use. If several threads use it first, each may call this; one subject is kept.
    public let createSubject: () -> SubjectType
    private let subject = Locked<SubjectType?>(nil)

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, createSubject: @escaping () -> SubjectType) {
      self.upstream = upstream
      self.createSubject = createSubject
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let subject = sharedSubject()
      subject.subscribe(subscriber, through: "Multicast") { [self] value, link in
        // The publisher is kept as long as a subscriber can receive from it.
        withExtendedLifetime(self) { link.emit(value) }
      }
    }

    public func connect() -> any Cancellable { upstream.subscribe(sharedSubject()) }

    private func sharedSubject() -> SubjectType {
      if let made = subject.withLock({ $0 }) { return made }
      let made = createSubject()
      return subject.withLock { subject in
        let first = subject ?? made
        subject = first
        return first
      }
    }
  }

  /// The publisher that ``Publisher/makeConnectable()`` returns.
  public final class MakeConnectable<Upstream: Publisher>: ConnectablePublisher where Upstream.Failure == Never {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The publisher never fails.
    public typealias Failure = Never
    private let shared: Multicast<Upstream, PassthroughSubject<Output, Never>>

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { shared = upstream.multicast { PassthroughSubject() } }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
      shared.receive(subscriber: subscriber)
    }

    public func connect() -> any Cancellable { shared.connect() }
  }
}

extension Publisher {
  /// Delivers through one subject to all subscribers, once it is connected.
  public func multicast<S: Subject>(_ createSubject: @escaping () -> S) -> Publishers.Multicast<Self, S>
  where S.Output == Output, S.Failure == Failure {
    Publishers.Multicast(upstream: self, createSubject: createSubject)
  }

  /// Delivers through this subject to all subscribers, once it is connected.
  public func multicast<S: Subject>(subject: S) -> Publishers.Multicast<Self, S>
  where S.Output == Output, S.Failure == Failure { multicast { subject } }
}

extension Publisher where Failure == Never {
  /// Delivers nothing until it is connected.
  public func makeConnectable() -> Publishers.MakeConnectable<Self> { Publishers.MakeConnectable(upstream: self) }
}
#endif
