#if !canImport(Darwin)
/// A type-erased subscriber, or one that is made of closures.
public struct AnySubscriber<Input, Failure: Error>: Subscriber, CustomStringConvertible {
  /// The identifier of the subscriber that was erased.
  public let combineIdentifier: CombineIdentifier
  /// The description of the subscriber that was erased.
  public var description: String { describe() }

  private let describe: () -> String
  private let onSubscription: (any Subscription) -> Void
  private let onValue: (Input) -> Subscribers.Demand
  private let onCompletion: (Subscribers.Completion<Failure>) -> Void

  /// Erases the type of a subscriber.
  public init<S: Subscriber>(_ subscriber: S) where S.Input == Input, S.Failure == Failure {
    if let erased = subscriber as? Self {
      self = erased
      return
    }
    combineIdentifier = subscriber.combineIdentifier
    describe = { "\(subscriber)" }
    onSubscription = { subscriber.receive(subscription: $0) }
    onValue = { subscriber.receive($0) }
    onCompletion = { subscriber.receive(completion: $0) }
  }

  /// Makes a subscriber that sends what it receives to a subject, which it does not retain.
  public init<S: Subject>(_ subject: S) where S.Output == Input, S.Failure == Failure {
    self.init(SubjectSubscriber(subject))
  }

  /// Makes a subscriber of closures. Without a closure for values it requests no more.
  public init(
    receiveSubscription: ((any Subscription) -> Void)? = nil, receiveValue: ((Input) -> Subscribers.Demand)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil
  ) {
    combineIdentifier = CombineIdentifier()
    describe = { "Anonymous AnySubscriber" }
    onSubscription = { receiveSubscription?($0) }
    onValue = { receiveValue?($0) ?? .none }
    onCompletion = { receiveCompletion?($0) }
  }

  public func receive(subscription: any Subscription) { onSubscription(subscription) }

  public func receive(_ value: Input) -> Subscribers.Demand { onValue(value) }

  public func receive(completion: Subscribers.Completion<Failure>) { onCompletion(completion) }
}

/// Sends to a subject what it receives, and is the subscription that the subject gets. It does not retain the subject:
/// a subject that is released cancels its subscriptions.
final class SubjectSubscriber<Target: Subject>: Subscriber, AttachedSubscription, CustomStringConvertible {
  typealias Input = Target.Output
  typealias Failure = Target.Failure

  private let lock = Lock()
  private weak var subject: Target?
  private var subscription: (any Subscription)?

  init(_ subject: Target) { self.subject = subject }

  var description: String { "Subject" }

  var hasEnded: Bool { lock.withLock { subscription == nil } }

  func receive(subscription: any Subscription) {
    let target = lock.withLock { () -> Target? in
      guard self.subscription == nil, let subject else { return nil }
      self.subscription = subscription
      return subject
    }
    if let target { target.send(subscription: self) } else { subscription.cancel() }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    lock.withLock { subscription == nil ? nil : subject }?.send(input)
    return .none
  }

  func receive(completion: Subscribers.Completion<Failure>) {
    let (target, ended) = lock.withLock { () -> (Target?, (any Subscription)?) in
      defer { (subject, subscription) = (nil, nil) }
      return (subscription == nil ? nil : subject, subscription)
    }
    target?.send(completion: completion)
    withExtendedLifetime(ended) {}  // Released outside the lock, because deinitializers may call other code.
  }

  func request(_ demand: Subscribers.Demand) { lock.withLock { subscription }?.request(demand) }

  func cancel() {
    lock.withLock { () -> (any Subscription)? in
      defer { (subject, subscription) = (nil, nil) }
      return subscription
    }?.cancel()
  }
}

extension Publisher {
  /// Attaches a subject, which receives everything that this publisher delivers until the returned object is cancelled
  /// or released. The subject is not retained; it receives the subscription, and requests values through it.
  public func subscribe<S: Subject>(_ subject: S) -> AnyCancellable where S.Output == Output, S.Failure == Failure {
    let subscriber = SubjectSubscriber(subject)
    subscribe(subscriber)
    return AnyCancellable(subscriber)
  }
}

extension AnySubscriber: CustomReflectable, CustomPlaygroundDisplayConvertible {
  /// Shows no properties: they are not part of the API.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The description.
  public var playgroundDescription: Any { description }
}
#endif
