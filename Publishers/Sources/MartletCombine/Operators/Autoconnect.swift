#if !canImport(Darwin)
extension Publishers {
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

extension ConnectablePublisher {
  /// Connects with the first subscriber, and cancels the connection when the last has cancelled.
  public func autoconnect() -> Publishers.Autoconnect<Self> { Publishers.Autoconnect(upstream: self) }
}
#endif
