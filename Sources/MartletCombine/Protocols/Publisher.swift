#if !canImport(Combine)
/// Delivers values over time to subscribers that ask for them. The rules are Combine's:
///
/// - Nothing is delivered before the subscriber asked for it, and never more than it asked for.
/// - One value after another: never two at once, whatever threads they come from.
/// - At most one completion, and nothing after it. Nothing after a cancel either, except what was under way.
///
/// ```swift
/// let watch = TaskPublisher { try await session.data(for: request) }.map(\.0.count)
///   .sink { completion in print(completion) } receiveValue: { count in print(count) }
/// ```
public protocol Publisher<Output, Failure> {
  /// What is delivered.
  associatedtype Output
  /// How it can fail; `Never` where it cannot.
  associatedtype Failure: Error

  /// Attaches a subscriber: gives it a subscription, through which it asks for values and cancels.
  func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure
}

extension Publisher {
  /// Attaches a subscriber.
  public func subscribe<S: Subscriber>(_ subscriber: S) where S.Input == Output, S.Failure == Failure {
    receive(subscriber: subscriber)
  }

  /// Feeds a subject with everything that this delivers, until the returned object is cancelled or released. The subject
  /// gets the subscription, and asks for values when it wants them.
  public func subscribe<S: Subject>(_ subject: S) -> AnyCancellable where S.Output == Output, S.Failure == Failure {
    let inlet = Inlet<Output, Failure> { value in
      subject.send(value)
      return .none
    } onCompletion: { completion in
      subject.send(completion: completion)
    }
    subject.send(subscription: inlet)
    receive(subscriber: inlet)
    return AnyCancellable { inlet.cancel() }
  }
}
#endif
