#if !canImport(Darwin)
/// Stores a current value, which every new subscriber receives first. A subscriber that has requested nothing receives
/// only the newest value when it does.
///
/// Subjects may be used on any thread: all subscribers receive the values of different threads in one order. As in
/// Combine, a value that a subscriber sends while it receives one is delivered at once: the other subscribers receive
/// it before the one that caused it.
public final class CurrentValueSubject<Output, Failure: Error>: Subject, Sendable {
  private let hub: SubjectHub<Output, Failure>
  private let name: String

  /// Makes a subject with an initial value.
  public convenience init(_ value: Output) { self.init(value, name: "CurrentValueSubject") }

  init(_ value: Output, name: String) {
    hub = SubjectHub(current: value, requestsAll: true)
    self.name = name
  }

  /// The current value. Setting it delivers it. After the completion it can still be set.
  public var value: Output {
    get { hub.value }
    set {
      if !hub.store(newValue) { hub.value = newValue }
    }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    CurrentValueSubscription(hub, to: subscriber, name: name).begin(for: subscriber)
  }

  public func send(_ value: Output) { _ = hub.store(value) }

  public func send(completion: Subscribers.Completion<Failure>) { hub.send(completion: completion) }

  public func send(subscription: any Subscription) { hub.attach(subscription) }
}

private final class CurrentValueSubscription<Downstream: Subscriber>: SubjectSubscription<Downstream> {
  /// The number of the newest value that was delivered. Every subscriber has yet to receive the current value.
  private var newest = -1
  /// The number of the newest value that was delivered as the current one, on request. Values up to it that are still
  /// on their way to the subscriber are no longer current.
  private var requested = -1

  override func receive(_ value: Downstream.Input, _ number: Int) {
    let permit = lock.withLock { () -> DeliveryPermit? in
      // A request may have delivered it, or a newer one, in the meantime. It may be older than `newest`: what another
      // subscriber sends while it receives this value arrives here first, as in Combine.
      guard number > requested, isOpen, demand > .none else { return nil }
      newest = max(newest, number)
      return offer(value)
    }
    if let permit { deliver(value, by: permit, receivingDemand: receiveDemand) }
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    guard let hub = lock.withLock({ hub }) else { return }
    hub.withCurrent { value, number in
      lock.withLock { if newest < number, enqueue(value) { (newest, requested) = (number, number) } }
    }
    deliver()
  }
}
#endif
