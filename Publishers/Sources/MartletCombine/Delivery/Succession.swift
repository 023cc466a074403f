#if !canImport(Darwin)
/// An operator that delivers the values of a publisher, and after its completion perhaps those of others.
///
/// Such operators follow one another: `append` after `append`, or a `catch` whose closure returns a publisher with the
/// same `catch`. One ``Succession`` serves all of them. It keeps their decisions in an array, so that a level takes no
/// stack, and an operator that has named its last publisher takes no memory either.
protocol SuccessiveOperator<Output, Failure>: Publisher {
  /// Returns where a new subscription begins; nil if this publisher, a wrapper, contains no such operator.
  func stage() -> SuccessionStage<Output>?
}

/// The part of an operator in a succession.
struct SuccessionStage<Output> {
  /// The publisher to attach to.
  let publisher: SuccessionPublisher<Output>
  /// Decides what follows its completion; nil if the completion is that of the operator.
  let decision: SuccessionDecision<Output>?

  /// Makes the stage of an operator that only delivers the values of a publisher.
  init<P: Publisher>(_ publisher: P) where P.Output == Output {
    (self.publisher, decision) = (SuccessionPublisher(publisher), nil)
  }

  init<P: Publisher>(
    _ publisher: P, decide: @escaping (Subscribers.Completion<P.Failure>) -> SuccessionNext<Output>
  ) where P.Output == Output {
    self.publisher = SuccessionPublisher(publisher)
    decision = SuccessionDecision { completion in completion.typed().map(decide) ?? .complete(completion) }
  }
}

/// Decides about a completion. It is a struct, because a closure in an array would be wrapped anew each time it is
/// taken out and put back: see ``Locked``.
struct SuccessionDecision<Output> {
  let next: (Subscribers.Completion<any Error>) -> SuccessionNext<Output>
}

/// What follows a completion.
enum SuccessionNext<Output> {
  case complete(Subscribers.Completion<any Error>)
  /// Another publisher like the first one, whose completion is decided about again.
  case again(SuccessionPublisher<Output>)
  /// The last publisher. Its completion is that of the operator.
  case last(SuccessionPublisher<Output>)

  static func complete<Failure: Error>(with completion: Subscribers.Completion<Failure>) -> Self {
    .complete(completion.erased)
  }

  static func last<P: Publisher>(_ publisher: P) -> Self where P.Output == Output {
    .last(SuccessionPublisher(publisher))
  }
}

/// A publisher whose type of failures is erased, because the operators of a succession may have different ones.
struct SuccessionPublisher<Output> {
  fileprivate let stage: () -> SuccessionStage<Output>?
  fileprivate let subscribe: (any SuccessionReceiver<Output>, _ number: Int) -> Void

  init<P: Publisher>(_ publisher: P) where P.Output == Output {
    stage = { (publisher as? any SuccessiveOperator<P.Output, P.Failure>)?.stage() }
    subscribe = { publisher.subscribe(SuccessionLeg<P.Output, P.Failure>(receiver: $0, number: $1)) }
  }
}

extension Subscribers.Completion {
  fileprivate var erased: Subscribers.Completion<any Error> {
    switch self {
    case .finished: .finished
    case .failure(let error): .failure(error)
    }
  }
}

extension Subscribers.Completion where Failure == any Error {
  /// Returns the completion with its own type of failures; nil if it has another one, which no operator can cause.
  fileprivate func typed<Typed: Error>() -> Subscribers.Completion<Typed>? {
    switch self {
    case .finished: return .finished
    case .failure(let error):
      if let error = error as? Typed { return .failure(error) }
      assertionFailure("a publisher that fails with \(Typed.self) failed with \(type(of: error))")
      return nil
    }
  }
}

/// Receives the calls of a succession's upstreams, each with the upstream's number.
private protocol SuccessionReceiver<Output>: AnyObject, CustomStringConvertible {
  associatedtype Output
  var combineIdentifier: CombineIdentifier { get }
  func receive(_ subscription: any Subscription, from number: Int)
  func receive(_ input: Output, from number: Int) -> Subscribers.Demand
  func receive(_ completion: Subscribers.Completion<any Error>, from number: Int)
}

/// The subscriber of one upstream.
private struct SuccessionLeg<Input, Failure: Error>: Subscriber, CustomStringConvertible {
  let receiver: any SuccessionReceiver<Input>
  let number: Int

  var description: String { receiver.description }
  var combineIdentifier: CombineIdentifier { receiver.combineIdentifier }

  func receive(subscription: any Subscription) { receiver.receive(subscription, from: number) }

  func receive(_ input: Input) -> Subscribers.Demand { receiver.receive(input, from: number) }

  func receive(completion: Subscribers.Completion<Failure>) { receiver.receive(completion.erased, from: number) }
}

/// The subscription of a publisher that attaches its downstream to one upstream after another. What downstream has
/// requested and not received is requested from each new upstream. An upstream that completes while it is being
/// attached is replaced in a loop, not recursively, so that any number of failures can follow one another.
///
/// At its end it releases downstream, upstream and the closures that decide.
final class Succession<Downstream: Subscriber>: Subscription, SuccessionReceiver {
  typealias Output = Downstream.Input

  private final class Contents {
    let downstream: Downstream
    /// What decides about completions, from the outermost operator to the innermost one.
    var decisions: [SuccessionDecision<Output>] = []

    init(_ downstream: Downstream) { self.downstream = downstream }
  }

  let description: String
  /// Guards all properties, and the decisions.
  private let lock = Lock()
  /// nil after the end.
  private var contents: Contents?
  /// The current upstream's number. Those before it are no longer listened to.
  private var current = 0
  private var upstream: (any Subscription)?
  private var demand = Subscribers.Demand.none
  private var isStarted = false
  private var isAttaching = false
  private var waiting: SuccessionPublisher<Output>?

  fileprivate init(_ name: String, to downstream: Downstream) {
    description = name
    contents = Contents(downstream)
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

  /// Attaches to a publisher, at the latest when the attachment in progress has returned.
  fileprivate func proceed(to publisher: SuccessionPublisher<Output>) {
    let isFree = lock.withLock {
      defer { isAttaching = true }
      if isAttaching { waiting = publisher }
      return !isAttaching
    }
    var due = isFree ? publisher : nil
    while let next = due {
      attach(next)
      due = lock.withLock {
        if waiting == nil { isAttaching = false }
        return waiting.take()
      }
    }
  }

  /// Attaches to a publisher, or to the innermost one of its operators.
  private func attach(_ publisher: SuccessionPublisher<Output>) {
    var publisher = publisher
    while let stage = publisher.stage() {
      if let decision = stage.decision { add(decision) }
      publisher = stage.publisher
    }
    let number = lock.withLock { () -> Int? in
      guard contents != nil else { return nil }
      current += 1
      return current
    }
    if let number { publisher.subscribe(self, number) }
  }

  private func add(_ decision: SuccessionDecision<Output>) {
    lock.withLock { contents?.decisions.append(decision) }
  }

  /// Takes the decision of the innermost operator; nil if there is none, or after the end.
  private func takeDecision() -> SuccessionDecision<Output>? { lock.withLock { contents?.decisions.popLast() } }

  /// Ends an upstream that has completed. Returns false if it is no longer listened to.
  private func leave(_ number: Int) -> Bool {
    var ended: (any Subscription)?
    let isCurrent = lock.withLock {
      guard number == current, upstream != nil else { return false }
      current += 1
      ended = upstream.take()
      return true
    }
    withExtendedLifetime(ended) {}  // Released outside the lock, because deinitializers may call other code.
    return isCurrent
  }

  private func end() -> (contents: Contents?, upstream: (any Subscription)?) {
    var contents: Contents?
    var upstream: (any Subscription)?
    var waiting: SuccessionPublisher<Output>?
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

  fileprivate func receive(_ subscription: any Subscription, from number: Int) {
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

  fileprivate func receive(_ input: Output, from number: Int) -> Subscribers.Demand {
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

  /// Lets one operator after another decide, from the innermost one, until one names another publisher.
  fileprivate func receive(_ completion: Subscribers.Completion<any Error>, from number: Int) {
    guard leave(number) else { return }
    var completion = completion
    while let decision = takeDecision() {
      switch decision.next(completion) {
      case .complete(let next): completion = next
      case .again(let publisher):
        add(decision)
        return proceed(to: publisher)
      case .last(let publisher): return proceed(to: publisher)
      }
    }
    let downstream = end().contents?.downstream
    if let typed: Subscribers.Completion<Downstream.Failure> = completion.typed() {
      downstream?.receive(completion: typed)
    }
  }
}

extension SuccessiveOperator {
  /// Attaches a subscriber to the publishers of this operator.
  func subscribe<S: Subscriber>(_ subscriber: S, succession name: String)
  where S.Input == Output, S.Failure == Failure {
    Succession(name, to: subscriber).proceed(to: SuccessionPublisher(self))
  }
}
#endif
