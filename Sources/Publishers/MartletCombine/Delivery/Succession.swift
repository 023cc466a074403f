#if !canImport(Darwin)
/// The subscription of a publisher that attaches its downstream to one upstream after another. What downstream has
/// requested and not received is requested from each new upstream. An upstream that completes while it is being
/// attached is replaced in a loop, not recursively, so that any number of failures can follow one another.
///
/// At its end it releases downstream, upstream and the closure that decides.
final class Succession<First: Error, Downstream: Subscriber>: Subscription, CustomStringConvertible {
  /// What follows a completion of the first upstream, or of one like it.
  enum Next {
    case complete(Subscribers.Completion<Downstream.Failure>)
    /// Another publisher like the first one, whose completion is decided about again.
    case again(any Publisher<Downstream.Input, First>)
    /// The last publisher. Its completion is passed on.
    case last(any Publisher<Downstream.Input, Downstream.Failure>)
  }

  typealias Decide = (Subscribers.Completion<First>) -> Next

  private final class Contents {
    let downstream: Downstream
    let decide: Decide

    init(downstream: Downstream, decide: @escaping Decide) { (self.downstream, self.decide) = (downstream, decide) }
  }

  let description: String
  /// Guards all properties.
  private let lock = Lock()
  /// nil after the end.
  private var contents: Contents?
  /// The current upstream's number. Those before it are no longer listened to.
  private var current = 0
  private var upstream: (any Subscription)?
  private var demand = Subscribers.Demand.none
  private var isStarted = false
  private var isAttaching = false
  private var waiting: Next?

  fileprivate init(_ name: String, to downstream: Downstream, decide: @escaping Decide) {
    description = name
    contents = Contents(downstream: downstream, decide: decide)
  }

  // MARK: - Downstream's calls

  func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    let upstream = lock.withLock { () -> (any Subscription)? in
      self.demand += demand
      return self.upstream
    }
    upstream?.request(demand)
  }

  func cancel() { end().upstream?.cancel() }

  // MARK: - Attaching

  /// Does what has been decided.
  fileprivate func proceed(_ next: Next) {
    if case .complete(let completion) = next {
      end().contents?.downstream.receive(completion: completion)
      return
    }
    let isFree = lock.withLock {
      defer { isAttaching = true }
      if isAttaching { waiting = next }
      return !isAttaching
    }
    var due = isFree ? next : nil
    while let next = due {
      attach(next)
      due = lock.withLock { () -> Next? in
        if waiting == nil { isAttaching = false }
        return waiting.take()
      }
    }
  }

  private func attach(_ next: Next) {
    let number = lock.withLock { () -> Int? in
      guard contents != nil else { return nil }
      current += 1
      return current
    }
    guard let number else { return }
    switch next {
    case .again(let publisher):
      publisher.subscribe(
        Leg<First>(self, number) { [self] completion in
          guard let contents = leave(number) else { return }
          proceed(contents.decide(completion))
        })
    case .last(let publisher):
      publisher.subscribe(
        Leg<Downstream.Failure>(self, number) { [self] completion in
          if leave(number) != nil { proceed(.complete(completion)) }
        })
    case .complete: break
    }
  }

  /// Ends an upstream that has completed, unless it is no longer listened to.
  private func leave(_ number: Int) -> Contents? {
    var contents: Contents?
    var ended: (any Subscription)?
    lock.withLock {
      guard number == current, upstream != nil else { return }
      current += 1
      contents = self.contents
      ended = upstream.take()
    }
    withExtendedLifetime(ended) {}  // Released outside the lock, because deinitializers may call other code.
    return contents
  }

  private func end() -> (contents: Contents?, upstream: (any Subscription)?) {
    var contents: Contents?
    var upstream: (any Subscription)?
    var waiting: Next?
    lock.withLock {
      current += 1
      contents = self.contents.take()
      upstream = self.upstream.take()
      waiting = self.waiting.take()
    }
    withExtendedLifetime(waiting) {}
    return (contents, upstream)
  }

  // MARK: - Upstream's calls

  /// The subscriber of one upstream.
  private struct Leg<Failure: Error>: Subscriber, CustomStringConvertible {
    let succession: Succession
    let number: Int
    let onCompletion: (Subscribers.Completion<Failure>) -> Void

    init(_ succession: Succession, _ number: Int, onCompletion: @escaping (Subscribers.Completion<Failure>) -> Void) {
      (self.succession, self.number, self.onCompletion) = (succession, number, onCompletion)
    }

    var description: String { succession.description }
    var combineIdentifier: CombineIdentifier { succession.combineIdentifier }

    func receive(subscription: any Subscription) { succession.receive(subscription, from: number) }

    func receive(_ input: Downstream.Input) -> Subscribers.Demand { succession.receive(input, from: number) }

    func receive(completion: Subscribers.Completion<Failure>) { onCompletion(completion) }
  }

  private func receive(_ subscription: any Subscription, from number: Int) {
    var due = Subscribers.Demand.none
    var first: Contents?
    let isAccepted = lock.withLock { () -> Bool in
      guard number == current, upstream == nil, let contents else { return false }
      upstream = subscription
      if isStarted { due = demand } else { first = contents }
      isStarted = true
      return true
    }
    guard isAccepted else { return subscription.cancel() }
    first?.downstream.receive(subscription: self)
    if due > .none { subscription.request(due) }
  }

  private func receive(_ input: Downstream.Input, from number: Int) -> Subscribers.Demand {
    let contents = lock.withLock { () -> Contents? in
      guard number == current, upstream != nil, demand > .none else { return nil }
      demand -= 1
      return self.contents
    }
    guard let more = contents?.downstream.receive(input), more > .none else { return .none }
    var other: (any Subscription)?
    let isCurrent = lock.withLock { () -> Bool in
      demand += more
      if number != current { other = upstream }
      return number == current
    }
    other?.request(more)  // The upstream of this value has completed while downstream received the value.
    return isCurrent ? more : .none
  }
}

extension Publisher {
  /// Attaches a subscriber to this publisher, and to those that follow it.
  func subscribe<S: Subscriber>(
    _ subscriber: S, succession name: String, decide: @escaping Succession<Failure, S>.Decide
  ) where S.Input == Output {
    Succession<Failure, S>(name, to: subscriber, decide: decide).proceed(.again(self))
  }
}
#endif
