#if !canImport(Darwin)
/// Delivers values to the subscribers that have requested them at that time, and does not store them.
///
/// Values of an attached publisher are requested when the first subscriber requests one.
///
/// Subjects may be used on any thread: all subscribers receive the values of different threads in one order. As in
/// Combine, a value that a subscriber sends while it receives one is delivered at once: the other subscribers receive
/// it before the one that caused it.
public final class PassthroughSubject<Output, Failure: Error>: Subject, Sendable {
  private let hub = SubjectHub<Output, Failure>(requestsAll: false)
  private let name: String

  /// Makes a subject without subscribers.
  public convenience init() { self.init(name: "PassthroughSubject") }

  init(name: String) { self.name = name }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    PassthroughSubscription(hub, to: subscriber, name: name).begin(for: subscriber)
  }

  public func send(_ value: Output) { hub.send(value) }

  public func send(completion: Subscribers.Completion<Failure>) { hub.send(completion: completion) }

  public func send(subscription: any Subscription) { hub.attach(subscription) }
}

private final class PassthroughSubscription<Downstream: Subscriber>: SubjectSubscription<Downstream> {
  private var hasRequested = false

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    let hub = lock.withLock { () -> Hub? in
      defer { hasRequested = true }
      return hasRequested ? nil : self.hub
    }
    hub?.requestAll()
  }
}
#endif
