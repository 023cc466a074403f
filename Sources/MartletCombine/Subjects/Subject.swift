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

/// Who listens to a subject, and how it ended.
final class Audience<Output, Failure: Error>: Sendable {
  private struct State {
    var outlets: [Outlet<Output, Failure>] = []
    var ending: Subscribers.Completion<Failure>?
  }

  private let state = Guarded(State())

  /// Adds a subscriber, who first gets the value that is to be current, if there is one.
  func add<S: Subscriber>(_ subscriber: S, current: () -> Output?) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    outlet.connect(onCancel: { [weak self, weak outlet] in self?.remove(outlet) })
    subscriber.receive(subscription: outlet)
    let ending = state.withLock { state in
      if state.ending == nil { state.outlets.append(outlet) }
      return state.ending
    }
    if let ending { return outlet.finish(ending) }
    if let value = current() { outlet.sendLatest(value) }
  }

  func forEach(_ body: (Outlet<Output, Failure>) -> Void) {
    let listening = state.withLock { state in state.outlets }
    for outlet in listening { body(outlet) }
  }

  func end(_ completion: Subscribers.Completion<Failure>) {
    let outlets = state.withLock { state -> [Outlet<Output, Failure>] in
      guard state.ending == nil else { return [] }
      state.ending = completion
      defer { state.outlets = [] }
      return state.outlets
    }
    for outlet in outlets { outlet.finish(completion) }
  }

  private func remove(_ outlet: Outlet<Output, Failure>?) {
    state.withLock { state in state.outlets.removeAll { $0 === outlet } }
  }
}

/// Delivers what is sent to whoever listens and asked for it at that moment; remembers nothing.
public final class PassthroughSubject<Output, Failure: Error>: Subject, Sendable {
  private let audience = Audience<Output, Failure>()

  /// Makes a subject without subscribers.
  public init() {}

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    audience.add(subscriber, current: { nil })
  }

  public func send(_ value: Output) { audience.forEach { $0.sendOrDrop(value) } }

  public func send(completion: Subscribers.Completion<Failure>) { audience.end(completion) }
}

/// Keeps a current value, which every new subscriber gets first.
public final class CurrentValueSubject<Output, Failure: Error>: Subject, Sendable {
  private let audience = Audience<Output, Failure>()
  private let current: Guarded<Output>

  /// Makes a subject with a first value.
  public init(_ value: Output) { current = Guarded(value) }

  /// The current value; setting it delivers it.
  public var value: Output {
    get { current.withLock { $0 } }
    set { send(newValue) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    audience.add(subscriber, current: { value })
  }

  public func send(_ value: Output) {
    current.withLock { $0 = value }
    audience.forEach { $0.sendLatest(value) }
  }

  public func send(completion: Subscribers.Completion<Failure>) { audience.end(completion) }
}
#endif
