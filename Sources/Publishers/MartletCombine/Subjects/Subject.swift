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

/// What a subject delivers to one subscriber.
protocol SubjectSubscription<Output, Failure>: AnyObject {
  associatedtype Output
  associatedtype Failure: Error

  /// The position in the subject's list, which guards it.
  var position: Int { get set }

  func receive(_ value: Output, number: Int)
  func receive(_ completion: Subscribers.Completion<Failure>)
}

/// The subscribers of a subject, what is to be delivered to them, and the completion: the part that all subjects share.
/// A lock of the subject guards it.
///
/// Values of several threads are delivered in one order to all subscribers. A value that a subscriber sends while it
/// receives one is delivered at once: the other subscribers receive it first.
struct SubjectState<Output, Failure: Error> {
  enum Event {
    /// A value with its number, which counts from 1.
    case value(Output, number: Int)
    case completion(Subscribers.Completion<Failure>)
  }

  typealias Line = DeliveryLine<Event>

  private(set) var completion: Subscribers.Completion<Failure>?
  private(set) var count = 0
  private var line = Line()
  private var subscriptions: [(any SubjectSubscription<Output, Failure>)?] = []
  private var holes = 0
  /// The subscriptions to attached publishers.
  private(set) var upstreams: [any Subscription] = []

  // MARK: - Subscribers

  mutating func add(_ subscription: any SubjectSubscription<Output, Failure>) {
    subscription.position = subscriptions.count
    subscriptions.append(subscription)
  }

  /// Removes a subscriber in constant time: the list is only compacted when half of it is empty.
  mutating func remove(_ subscription: any SubjectSubscription<Output, Failure>) {
    let position = subscription.position
    guard subscriptions.indices.contains(position), subscriptions[position] === subscription else { return }
    subscriptions[position] = nil
    holes += 1
    guard holes > 16, holes * 2 > subscriptions.count else { return }
    subscriptions.removeAll { $0 == nil }
    for (index, remaining) in subscriptions.enumerated() { remaining?.position = index }
    holes = 0
  }

  // MARK: - Events

  /// Appends a value. Returns the turn to deliver, if it is this thread's.
  mutating func append(_ value: Output) -> Line.Turn? {
    guard completion == nil else { return nil }
    count += 1
    line.append(.value(value, number: count))
    return line.begin()
  }

  mutating func append(_ completion: Subscribers.Completion<Failure>) -> Line.Turn? {
    guard self.completion == nil else { return nil }
    self.completion = completion
    line.append(.completion(completion))
    return line.begin()
  }

  /// Returns the next event, and who receives it.
  mutating func next(_ turn: Line.Turn) -> (Event, [(any SubjectSubscription<Output, Failure>)?])? {
    guard let event = line.next(turn) else { return nil }
    if case .completion = event {
      defer { (subscriptions, holes) = ([], 0) }
      return (event, subscriptions)
    }
    return (event, subscriptions)
  }

  // MARK: - Attached publishers

  mutating func attach(_ upstream: any Subscription) { upstreams.append(upstream) }

  mutating func detachAll() -> [any Subscription] {
    defer { upstreams = [] }
    return upstreams
  }
}

/// A class with the state of a subject.
protocol SubjectCore<Output, Failure>: AnyObject {
  associatedtype Output
  associatedtype Failure: Error

  var state: Locked<SubjectState<Output, Failure>> { get }
}

extension SubjectCore {
  /// Delivers what is in line, if it is this thread's turn.
  func deliver(_ turn: SubjectState<Output, Failure>.Line.Turn?) {
    guard let turn else { return }
    while let (event, receivers) = state.withLock({ $0.next(turn) }) {
      switch event {
      case .value(let value, let number): for receiver in receivers { receiver?.receive(value, number: number) }
      case .completion(let completion): for receiver in receivers { receiver?.receive(completion) }
      }
    }
  }
}
#endif
