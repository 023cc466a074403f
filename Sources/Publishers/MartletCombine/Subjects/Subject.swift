#if !canImport(Combine)
/// A publisher whose values are sent by method calls.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
  /// Delivers a value to all subscribers.
  func send(_ value: Output)
  /// Completes for all subscribers; later calls have no effect.
  func send(completion: Subscribers.Completion<Failure>)
  /// Passes a subscription to the subject, to request values.
  func send(subscription: any Subscription)
}

extension Subject where Output == Void {
  /// Delivers an empty value to all subscribers.
  public func send() { send(()) }
}

extension Subject {
  /// Requests all values.
  public func send(subscription: any Subscription) { subscription.request(.unlimited) }
}

/// The subscribers of a subject, and its completion.
private struct SubscriberList<Output, Failure: Error> {
  private(set) var downstreams: [DownstreamSubscription<Output, Failure>] = []
  private var ending: Subscribers.Completion<Failure>?

  /// Adds a subscriber, which first receives the current value, if there is one.
  mutating func add(_ downstream: DownstreamSubscription<Output, Failure>, current: Output? = nil) {
    if let ending { return downstream.enqueue(ending) }
    guard !downstream.isClosed else { return }
    downstreams.append(downstream)
    if let current { downstream.enqueue(current, withoutDemand: .keepLatest) }
  }

  mutating func remove(_ downstream: DownstreamSubscription<Output, Failure>?) {
    downstreams.removeAll { $0 === downstream }
  }

  /// Returns the subscribers to which the value is to be delivered.
  func enqueue(_ value: Output, withoutDemand: DownstreamSubscription<Output, Failure>.WithoutDemand)
    -> [DownstreamSubscription<Output, Failure>]
  {
    for downstream in downstreams { downstream.enqueue(value, withoutDemand: withoutDemand) }
    return downstreams
  }

  /// Returns the subscribers to which the completion is to be delivered.
  mutating func end(_ completion: Subscribers.Completion<Failure>) -> [DownstreamSubscription<Output, Failure>] {
    guard ending == nil else { return [] }
    ending = completion
    for downstream in downstreams { downstream.enqueue(completion) }
    defer { downstreams = [] }
    return downstreams
  }
}

/// Delivers values to the subscribers that have requested them at that time, and does not store them.
///
/// Values of an attached publisher are requested when the first subscriber requests one.
public final class PassthroughSubject<Output, Failure: Error>: Subject, Sendable {
  private struct State {
    var subscribers = SubscriberList<Output, Failure>()
    var isWanted = false
    var upstreams: [any Subscription] = []

    mutating func takeUpstreams() -> [any Subscription] {
      isWanted = true
      defer { upstreams = [] }
      return upstreams
    }
  }

  private let state = Locked(State())

  /// Makes a subject without subscribers.
  public init() {}

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    downstream.connect(
      onDemand: { [weak self] _ in
        for upstream in self?.state.withLock({ $0.takeUpstreams() }) ?? [] { upstream.request(.unlimited) }
      },
      onCancel: { [weak self, weak downstream] in self?.state.withLock { $0.subscribers.remove(downstream) } })
    subscriber.receive(subscription: downstream)
    state.withLock { $0.subscribers.add(downstream) }
    downstream.drain()
  }

  public func send(_ value: Output) {
    let receivers = state.withLock { $0.subscribers.enqueue(value, withoutDemand: .discard) }
    for downstream in receivers { downstream.drain() }
  }

  public func send(completion: Subscribers.Completion<Failure>) {
    let receivers = state.withLock { $0.subscribers.end(completion) }
    for downstream in receivers { downstream.drain() }
  }

  public func send(subscription: any Subscription) {
    let isWanted = state.withLock { state in
      if !state.isWanted { state.upstreams.append(subscription) }
      return state.isWanted
    }
    if isWanted { subscription.request(.unlimited) }
  }
}

/// Stores a current value, which every new subscriber receives first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject, Sendable {
  private struct State {
    var current: Output
    var subscribers = SubscriberList<Output, Failure>()
  }

  private let state: Locked<State>

  /// Makes a subject with an initial value.
  public init(_ value: Output) { state = Locked(State(current: value)) }

  /// The current value. Setting it delivers it.
  public var value: Output {
    get { state.withLock { $0.current } }
    set { send(newValue) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    downstream.connect(onCancel: { [weak self, weak downstream] in
      self?.state.withLock { $0.subscribers.remove(downstream) }
    })
    subscriber.receive(subscription: downstream)
    state.withLock { $0.subscribers.add(downstream, current: $0.current) }
    downstream.drain()
  }

  public func send(_ value: Output) {
    let (receivers, old) = state.withLock { state in
      let old = state.current
      state.current = value
      return (state.subscribers.enqueue(value, withoutDemand: .keepLatest), old)
    }
    withExtendedLifetime(old) {}  // Released outside the lock, because deinitializers may call other code.
    for downstream in receivers { downstream.drain() }
  }

  public func send(completion: Subscribers.Completion<Failure>) {
    let receivers = state.withLock { $0.subscribers.end(completion) }
    for downstream in receivers { downstream.drain() }
  }
}
#endif
