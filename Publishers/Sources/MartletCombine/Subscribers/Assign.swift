#if !canImport(Darwin)
extension Subscribers {
  /// Sets a property of an object to every value. It retains the object until the end.
  public final class Assign<Root, Input>: Subscriber, Cancellable, CustomStringConvertible {
    /// It receives from publishers that never fail.
    public typealias Failure = Never

    /// The property.
    public let keyPath: ReferenceWritableKeyPath<Root, Input>
    private let lock = Lock()
    private var target: Root?
    private var subscription: (any Subscription)?

    /// Makes a subscriber that sets a property of an object.
    public init(object: Root, keyPath: ReferenceWritableKeyPath<Root, Input>) {
      target = object
      self.keyPath = keyPath
    }

    /// The object; nil after the end.
    public var object: Root? { lock.withLock { target } }

    /// `Assign` and the type of the object.
    public var description: String { "Assign \(Root.self)." }

    /// Requests all values.
    public func receive(subscription: any Subscription) {
      let isAccepted = lock.withLock { () -> Bool in
        guard target != nil, self.subscription == nil else { return false }
        self.subscription = subscription
        return true
      }
      if isAccepted { subscription.request(.unlimited) } else { subscription.cancel() }
    }

    /// Sets the property.
    public func receive(_ value: Input) -> Demand {
      lock.withLock { subscription == nil ? nil : target }?[keyPath: keyPath] = value
      return .none
    }

    /// Releases the object.
    public func receive(completion: Completion<Never>) { _ = end() }

    /// Cancels the subscription, now or as soon as there is one, and releases the object.
    public func cancel() { end()?.cancel() }

    private func end() -> (any Subscription)? {
      let (released, subscription) = lock.withLock { () -> (Root?, (any Subscription)?) in
        defer { (target, self.subscription) = (nil, nil) }
        return (target, self.subscription)
      }
      withExtendedLifetime(released) {}
      return subscription
    }
  }
}

extension Publisher where Failure == Never {
  /// Sets a property of an object to every value. The object is retained until the subscription is cancelled or
  /// completes.
  public func assign<Root>(to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root) -> AnyCancellable {
    let assign = Subscribers.Assign(object: object, keyPath: keyPath)
    subscribe(assign)
    return AnyCancellable(assign)
  }
}

extension Subscribers.Assign: CustomReflectable, CustomPlaygroundDisplayConvertible {
  /// Shows no properties: they are not part of the API.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The description.
  public var playgroundDescription: Any { description }
}
#endif
