#if !canImport(Combine)
/// A publisher that delivers nothing before it is connected, so that several subscribers can come first.
public protocol ConnectablePublisher<Output, Failure>: Publisher {
  /// Begins to deliver.
  ///
  /// - Returns: what ends it.
  func connect() -> any Cancellable
}

extension Publishers {
  /// What `multicast` returns: a subject that all subscribers share, fed from upstream once it is connected.
  public final class Multicast<Upstream: Publisher, SubjectType: Subject>: ConnectablePublisher
  where Upstream.Output == SubjectType.Output, Upstream.Failure == SubjectType.Failure {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes the subject, once, when it is first needed.
    public let createSubject: () -> SubjectType
    private let subject = Guarded<SubjectType?>(nil)

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, createSubject: @escaping () -> SubjectType) {
      self.upstream = upstream
      self.createSubject = createSubject
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      sharedSubject().receive(subscriber: subscriber)
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

  /// What ``Publisher/makeConnectable()`` returns.
  public final class MakeConnectable<Upstream: Publisher>: ConnectablePublisher where Upstream.Failure == Never {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// It never fails.
    public typealias Failure = Never
    private let shared: Multicast<Upstream, PassthroughSubject<Output, Never>>

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) { shared = upstream.multicast { PassthroughSubject() } }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
      shared.receive(subscriber: subscriber)
    }

    public func connect() -> any Cancellable { shared.connect() }
  }

  /// What ``ConnectablePublisher/autoconnect()`` returns: connected with the first subscriber, and not any more when the last
  /// has cancelled.
  public final class Autoconnect<Upstream: ConnectablePublisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// What is connected.
    public let upstream: Upstream
    private let state = Guarded(State())

    private struct State {
      var subscribers = 0
      /// Counts connections, so that one that is still being made is known when it is not wanted any more.
      var round = 0
      var connection: (any Cancellable)?

      func isWanted(_ round: Int) -> Bool { self.round == round && subscribers > 0 }
    }

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let begun = state.withLock { state -> Int? in
        state.subscribers += 1
        guard state.subscribers == 1 else { return nil }
        state.round += 1
        return state.round
      }
      upstream.handleEvents(receiveCancel: { [self] in leave() }).receive(subscriber: subscriber)
      if let begun { connect(begun) }
    }

    private func connect(_ round: Int) {
      guard state.withLock({ $0.isWanted(round) }) else { return }
      let connection = upstream.connect()
      let isWanted = state.withLock { state in
        let isWanted = state.isWanted(round)
        if isWanted { state.connection = connection }
        return isWanted
      }
      if !isWanted { connection.cancel() }
    }

    private func leave() {
      let ended = state.withLock { state -> (any Cancellable)? in
        state.subscribers -= 1
        guard state.subscribers == 0 else { return nil }
        state.round += 1
        defer { state.connection = nil }
        return state.connection
      }
      ended?.cancel()
    }
  }

  /// One subscription upstream for any number downstream: it begins with the first of them and is cancelled with the last.
  /// Values are for those who have asked for them when they come; who comes after the end gets the end.
  public final class Share<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    private let shared: Autoconnect<Multicast<Upstream, PassthroughSubject<Output, Failure>>>

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) {
      self.upstream = upstream
      shared = upstream.multicast { PassthroughSubject() }.autoconnect()
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      shared.receive(subscriber: subscriber)
    }
  }
}

extension Publisher {
  /// Lets several subscribers share one subscription to this publisher: `multicast` with a ``PassthroughSubject``, and
  /// ``ConnectablePublisher/autoconnect()``.
  public func share() -> Publishers.Share<Self> { Publishers.Share(upstream: self) }

  /// Delivers through one subject, for all subscribers, once it is connected.
  public func multicast<S: Subject>(_ createSubject: @escaping () -> S) -> Publishers.Multicast<Self, S>
  where S.Output == Output, S.Failure == Failure {
    Publishers.Multicast(upstream: self, createSubject: createSubject)
  }

  /// Delivers through this subject, for all subscribers, once it is connected.
  public func multicast<S: Subject>(subject: S) -> Publishers.Multicast<Self, S>
  where S.Output == Output, S.Failure == Failure { multicast { subject } }
}

extension Publisher where Failure == Never {
  /// Delivers nothing before it is connected.
  public func makeConnectable() -> Publishers.MakeConnectable<Self> { Publishers.MakeConnectable(upstream: self) }
}

extension ConnectablePublisher {
  /// Connects with the first subscriber, and cancels the connection when the last has cancelled.
  public func autoconnect() -> Publishers.Autoconnect<Self> { Publishers.Autoconnect(upstream: self) }
}
#endif
