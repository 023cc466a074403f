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
    /// Makes the subject, once, on first use.
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
        // The publisher is kept as long as somebody can receive from it.
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

  /// The publisher that ``ConnectablePublisher/autoconnect()`` returns. The first subscriber connects it. It is
  /// disconnected when the last one has cancelled.
  public final class Autoconnect<Upstream: ConnectablePublisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The publisher that is connected.
    public let upstream: Upstream
    private let state = Locked(State())

    private struct State {
      var subscribers = 0
      /// The number of connections, to detect that a connection is no longer needed while it is being made.
      var generation = 0
      var connection: (any Cancellable)?

      func isWanted(_ generation: Int) -> Bool { self.generation == generation && subscribers > 0 }
    }

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let begun = state.withLock { state -> Int? in
        state.subscribers += 1
        guard state.subscribers == 1 else { return nil }
        state.generation += 1
        return state.generation
      }
      upstream.subscribe(AutoconnectSubscriber(downstream: subscriber) { [self] in subscriberCancelled() })
      if let begun { connect(begun) }
    }

    private func connect(_ generation: Int) {
      guard state.withLock({ $0.isWanted(generation) }) else { return }
      let connection = upstream.connect()
      let isWanted = state.withLock { state in
        let isWanted = state.isWanted(generation)
        if isWanted { state.connection = connection }
        return isWanted
      }
      if !isWanted { connection.cancel() }
    }

    private func subscriberCancelled() {
      let ended = state.withLock { state -> (any Cancellable)? in
        state.subscribers -= 1
        guard state.subscribers == 0 else { return nil }
        state.generation += 1
        defer { state.connection = nil }
        return state.connection
      }
      ended?.cancel()
    }
  }

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

/// Forwards everything, and reports that its subscriber has cancelled.
private struct AutoconnectSubscriber<Downstream: Subscriber>: Subscriber, CustomStringConvertible {
  let downstream: Downstream
  let onCancel: () -> Void
  let combineIdentifier = CombineIdentifier()

  var description: String { "Autoconnect" }

  func receive(subscription: any Subscription) {
    downstream.receive(subscription: CancellationReport(subscription, onCancel: onCancel))
  }

  func receive(_ input: Downstream.Input) -> Subscribers.Demand { downstream.receive(input) }

  func receive(completion: Subscribers.Completion<Downstream.Failure>) { downstream.receive(completion: completion) }
}

/// A subscription that reports its cancellation, once.
private final class CancellationReport: Subscription, CustomStringConvertible {
  private let subscription: any Subscription
  private let onCancel: Locked<(() -> Void)?>

  init(_ subscription: any Subscription, onCancel: @escaping () -> Void) {
    self.subscription = subscription
    self.onCancel = Locked(onCancel)
  }

  var combineIdentifier: CombineIdentifier { subscription.combineIdentifier }

  var description: String { "\(subscription)" }

  func request(_ demand: Subscribers.Demand) { subscription.request(demand) }

  func cancel() {
    let report = onCancel.take()
    subscription.cancel()
    report?()
  }
}

extension Publisher {
  /// Shares one subscription to this publisher among several subscribers. It combines `multicast` with a
  /// ``PassthroughSubject`` and ``ConnectablePublisher/autoconnect()``.
  public func share() -> Publishers.Share<Self> { Publishers.Share(upstream: self) }

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

extension ConnectablePublisher {
  /// Connects with the first subscriber, and cancels the connection when the last has cancelled.
  public func autoconnect() -> Publishers.Autoconnect<Self> { Publishers.Autoconnect(upstream: self) }
}
#endif
