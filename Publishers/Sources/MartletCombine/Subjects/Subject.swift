#if !canImport(Darwin)
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
#endif
