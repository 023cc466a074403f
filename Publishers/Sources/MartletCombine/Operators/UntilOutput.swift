#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/prefix(untilOutputFrom:)`` returns.
  public struct PrefixUntilOutput<Upstream: Publisher, Other: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The publisher whose first value ends this one.
    public let other: Other

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, other: Other) {
      self.upstream = upstream
      self.other = other
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let relay = UntilOutput<S>(to: subscriber, name: "PrefixUntilOutput", passing: true)
      relay.watch(
        other, onOutput: { [relay] in relay.complete(.finished) }, onCompletion: { _ in })
      upstream.subscribe(relay)
    }
  }

  /// The publisher that ``Publisher/drop(untilOutputFrom:)`` returns.
  public struct DropUntilOutput<Upstream: Publisher, Other: Publisher>: Publisher
  where Upstream.Failure == Other.Failure {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The publisher whose first value opens this one.
    public let other: Other

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, other: Other) {
      self.upstream = upstream
      self.other = other
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let relay = UntilOutput<S>(to: subscriber, name: "DropUntilOutput", passing: false)
      relay.start()
      relay.watch(other, onOutput: { [relay] in relay.open() }, onCompletion: { [relay] in relay.complete($0) })
      upstream.subscribe(relay)
    }
  }
}

/// Passes values on, before or after another publisher delivers its first value.
private final class UntilOutput<Downstream: Subscriber>: Relay<Downstream.Input, Downstream> {
  private var isPassing: Bool
  private var other: UpstreamSubscription?

  init(to downstream: Downstream, name: String, passing isPassing: Bool) {
    self.isPassing = isPassing
    super.init(to: downstream, name: name, counting: false)
  }

  func watch<Other: Publisher>(
    _ publisher: Other, onOutput: @escaping () -> Void,
    onCompletion: @escaping (Subscribers.Completion<Other.Failure>) -> Void
  ) {
    let subscriber = UpstreamSubscriber<Other.Output, Other.Failure>(
      name: description, asking: .max(1),
      onValue: { [self] _, subscription in
        guard endOther() else { return .none }
        // A publisher that lives long must not keep a subscriber that needs nothing more.
        subscription.cancel()
        onOutput()
        return .none
      },
      onCompletion: { [self] completion, _ in
        if endOther() { onCompletion(completion) }
      })
    let isWanted = lock.withLock {
      if !isClosed { other = subscriber }
      return !isClosed
    }
    if isWanted { publisher.subscribe(subscriber) }
  }

  private func endOther() -> Bool { lock.withLock { other.take() } != nil }

  func open() { lock.withLock { isPassing = true } }

  /// Ends upstream before the subscriber.
  func complete(_ completion: Subscribers.Completion<Downstream.Failure>) {
    start()
    finish(completion)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    lock.withLock { isPassing } ? pass(input) : .none
  }

  override func didClose() {
    let other = lock.withLock { self.other.take() }
    super.didClose()
    other?.cancel()
  }
}

extension Publisher {
  /// Delivers values until another publisher delivers its first value, and then finishes.
  ///
  /// The completion of the other publisher has no effect.
  public func prefix<P: Publisher>(untilOutputFrom publisher: P) -> Publishers.PrefixUntilOutput<Self, P> {
    Publishers.PrefixUntilOutput(upstream: self, other: publisher)
  }

  /// Drops values until another publisher delivers its first value.
  ///
  /// It finishes if the other publisher finishes without a value, and fails if it fails before.
  public func drop<P: Publisher>(untilOutputFrom publisher: P) -> Publishers.DropUntilOutput<Self, P>
  where P.Failure == Failure { Publishers.DropUntilOutput(upstream: self, other: publisher) }
}

extension Publishers.PrefixUntilOutput: Equatable where Upstream: Equatable, Other: Equatable {}
extension Publishers.DropUntilOutput: Equatable where Upstream: Equatable, Other: Equatable {}
#endif
