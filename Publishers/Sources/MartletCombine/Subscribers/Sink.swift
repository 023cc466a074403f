#if !canImport(Darwin)
extension Subscribers {
  /// Receives all values with closures, which are released at the end.
  public final class Sink<Input, Failure: Error>: Subscriber, Cancellable, CustomStringConvertible {
    private struct Closures {
      let onValue: (Input) -> Void
      let onCompletion: (Completion<Failure>) -> Void
    }

    private let lock = Lock()
    /// nil after the end.
    private var closures: Closures?
    private var subscription: (any Subscription)?

    /// Makes a subscriber that calls the closures.
    public init(
      receiveCompletion: @escaping (Completion<Failure>) -> Void, receiveValue: @escaping (Input) -> Void
    ) { closures = Closures(onValue: receiveValue, onCompletion: receiveCompletion) }

    /// The closure that receives the values; one that does nothing after the end.
    public var receiveValue: (Input) -> Void { lock.withLock { closures }?.onValue ?? { _ in } }

    /// The closure that receives the completion; one that does nothing after the end.
    public var receiveCompletion: (Completion<Failure>) -> Void { lock.withLock { closures }?.onCompletion ?? { _ in } }

    /// `Sink`.
    public var description: String { "Sink" }

    /// Requests all values.
    public func receive(subscription: any Subscription) {
      let isAccepted = lock.withLock { () -> Bool in
        guard closures != nil, self.subscription == nil else { return false }
        self.subscription = subscription
        return true
      }
      if isAccepted { subscription.request(.unlimited) } else { subscription.cancel() }
    }

    /// Calls the closure.
    public func receive(_ value: Input) -> Demand {
      lock.withLock { closures }?.onValue(value)
      return .none
    }

    /// Calls the closure, once.
    public func receive(completion: Completion<Failure>) { end().closures?.onCompletion(completion) }

    /// Cancels the subscription, now or as soon as there is one.
    public func cancel() { end().subscription?.cancel() }

    private func end() -> (closures: Closures?, subscription: (any Subscription)?) {
      lock.withLock { () -> (Closures?, (any Subscription)?) in
        defer { (closures, subscription) = (nil, nil) }
        return (closures, subscription)
      }
    }
  }
}

extension Publisher {
  /// Attaches closures that receive the values and the completion.
  ///
  /// - Returns: an object that must be kept while values are to be received: releasing it cancels the subscription.
  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void, receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    let sink = Subscribers.Sink(receiveCompletion: receiveCompletion, receiveValue: receiveValue)
    subscribe(sink)
    return AnyCancellable(sink)
  }
}

extension Publisher where Failure == Never {
  /// Attaches a closure that receives the values.
  ///
  /// - Returns: an object that must be kept while values are to be received: releasing it cancels the subscription.
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }
}

extension Subscribers.Sink: CustomReflectable, CustomPlaygroundDisplayConvertible {
  /// Shows no properties: they are not part of the API.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The description.
  public var playgroundDescription: Any { description }
}
#endif
