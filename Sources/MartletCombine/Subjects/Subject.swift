#if !canImport(Combine)
/// A publisher whose values are sent by hand.
public protocol Subject<Output, Failure>: AnyObject, Publisher {
  /// Delivers a value to all subscribers.
  func send(_ value: Output)
  /// Ends for all subscribers; later calls do nothing.
  func send(completion: Subscribers.Completion<Failure>)
  /// Gives the subject a subscription to ask for values.
  func send(subscription: any Subscription)
}

extension Subject where Output == Void {
  /// Delivers that something happened.
  public func send() { send(()) }
}

extension Subject {
  /// Asks for all there is.
  public func send(subscription: any Subscription) { subscription.request(.unlimited) }
}

/// The subscribers of a subject, and how it ended.
private struct Audience<Output, Failure: Error> {
  private(set) var outlets: [Outlet<Output, Failure>] = []
  private var ending: Subscribers.Completion<Failure>?

  /// Adds a subscriber, who first gets the value that is current, if there is one.
  mutating func add(_ outlet: Outlet<Output, Failure>, current: Output? = nil) {
    if let ending { return outlet.offer(ending) }
    guard !outlet.isClosed else { return }
    outlets.append(outlet)
    if let current { outlet.offer(current, unasked: .keepLatest) }
  }

  mutating func remove(_ outlet: Outlet<Output, Failure>?) { outlets.removeAll { $0 === outlet } }

  /// Returns those who are to be told.
  func offer(_ value: Output, unasked: Outlet<Output, Failure>.Unasked) -> [Outlet<Output, Failure>] {
    for outlet in outlets { outlet.offer(value, unasked: unasked) }
    return outlets
  }

  /// Returns those who are to be told.
  mutating func end(_ completion: Subscribers.Completion<Failure>) -> [Outlet<Output, Failure>] {
    guard ending == nil else { return [] }
    ending = completion
    for outlet in outlets { outlet.offer(completion) }
    defer { outlets = [] }
    return outlets
  }
}

/// Delivers what is sent to whoever listens and asked for it at that moment; remembers nothing.
///
/// A publisher that feeds it is asked for values when the first subscriber asks for one.
public final class PassthroughSubject<Output, Failure: Error>: Subject, Sendable {
  private struct State {
    var audience = Audience<Output, Failure>()
    var isWanted = false
    var upstreams: [any Subscription] = []

    mutating func takeUpstreams() -> [any Subscription] {
      isWanted = true
      defer { upstreams = [] }
      return upstreams
    }
  }

  private let state = Guarded(State())

  /// Makes a subject without subscribers.
  public init() {}

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    outlet.connect(
      onDemand: { [weak self] _ in
        for upstream in self?.state.withLock({ $0.takeUpstreams() }) ?? [] { upstream.request(.unlimited) }
      },
      onCancel: { [weak self, weak outlet] in self?.state.withLock { $0.audience.remove(outlet) } })
    subscriber.receive(subscription: outlet)
    state.withLock { $0.audience.add(outlet) }
    outlet.drain()
  }

  public func send(_ value: Output) {
    let told = state.withLock { $0.audience.offer(value, unasked: .forget) }
    for outlet in told { outlet.drain() }
  }

  public func send(completion: Subscribers.Completion<Failure>) {
    let told = state.withLock { $0.audience.end(completion) }
    for outlet in told { outlet.drain() }
  }

  public func send(subscription: any Subscription) {
    let isWanted = state.withLock { state in
      if !state.isWanted { state.upstreams.append(subscription) }
      return state.isWanted
    }
    if isWanted { subscription.request(.unlimited) }
  }
}

/// Keeps a current value, which every new subscriber gets first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject, Sendable {
  private struct State {
    var current: Output
    var audience = Audience<Output, Failure>()
  }

  private let state: Guarded<State>

  /// Makes a subject with a first value.
  public init(_ value: Output) { state = Guarded(State(current: value)) }

  /// The current value; setting it delivers it.
  public var value: Output {
    get { state.withLock { $0.current } }
    set { send(newValue) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    outlet.connect(onCancel: { [weak self, weak outlet] in self?.state.withLock { $0.audience.remove(outlet) } })
    subscriber.receive(subscription: outlet)
    state.withLock { $0.audience.add(outlet, current: $0.current) }
    outlet.drain()
  }

  public func send(_ value: Output) {
    let (told, old) = state.withLock { state in
      let old = state.current
      state.current = value
      return (state.audience.offer(value, unasked: .keepLatest), old)
    }
    withExtendedLifetime(old) {}  // its end may call out, and must not do that under the lock
    for outlet in told { outlet.drain() }
  }

  public func send(completion: Subscribers.Completion<Failure>) {
    let told = state.withLock { $0.audience.end(completion) }
    for outlet in told { outlet.drain() }
  }
}
#endif
