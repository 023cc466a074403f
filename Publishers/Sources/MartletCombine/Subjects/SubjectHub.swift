#if !canImport(Darwin)
/// The subscribers of a subject, its current value, and what is to be delivered: the part that all subjects share.
///
/// Values of several threads are delivered in one order to all subscribers. A value that a subscriber sends while it
/// receives one is delivered at once: the other subscribers receive it first.
// SAFETY: the lock guards all properties. The subject's user decides which values may cross threads, as in Combine.
final class SubjectHub<Output, Failure: Error>: @unchecked Sendable {
  typealias Completion = Subscribers.Completion<Failure>

  /// A subscriber of the subject.
  final class Member {
    fileprivate var position = 0
    fileprivate let receive: (Output, Int) -> Void
    fileprivate let end: (Completion) -> Void

    /// - Parameters:
    ///   - receive: receives a value with its number, which counts from 1.
    ///   - end: receives the completion.
    init(receive: @escaping (Output, Int) -> Void, end: @escaping (Completion) -> Void) {
      (self.receive, self.end) = (receive, end)
    }
  }

  private final class Stored {
    let value: Output

    init(_ value: Output) { self.value = value }
  }

  private enum Event {
    case value(Output, number: Int)
    case completion(Completion)
  }

  private let lock = Lock()
  private var current: Stored?
  private var count = 0
  private var completion: Completion?
  private var isOver = false
  private var line = DeliveryLine<Event>()
  /// Members, and nil where one has left. Code that is not specialised handles plain references several times faster.
  private var members: [AnyObject?] = []
  private var left = 0
  /// The subscriptions to attached publishers. Ended ones are dropped when the list is twice as long as after the last
  /// clean-up.
  private var upstreams: [any Subscription] = []
  private var nextCleanUp = 16
  private var requestsAll: Bool

  /// - Parameters:
  ///   - current: the current value, for a subject that has one.
  ///   - requestsAll: whether everything is requested from attached publishers before a subscriber requests something.
  init(current: Output? = nil, requestsAll: Bool) {
    self.current = current.map { Stored($0) }
    self.requestsAll = requestsAll
  }

  deinit { for upstream in upstreams { upstream.cancel() } }

  // MARK: - Sending

  /// Delivers a value to all members, unless the subject has completed.
  func send(_ value: Output) { _ = send(value, storing: nil) }

  /// Stores a value and delivers it, unless the subject has completed.
  ///
  /// - Returns: whether it has not.
  func store(_ value: Output) -> Bool { send(value, storing: Stored(value)) }

  private func send(_ value: Output, storing stored: Stored?) -> Bool {
    var receivers: [AnyObject?] = []
    var replaced: AnyObject?
    var number = 0
    let (isOpen, position) = lock.withLock { () -> (Bool, DeliveryOrder.Position?) in
      guard !isOver else { return (false, nil) }
      if let stored { (replaced, current) = (current, stored) }
      count += 1
      (receivers, number) = (members, count)
      return (true, line.begin(orAppend: .value(value, number: count)))
    }
    withExtendedLifetime(replaced) {}  // Released outside the lock, because deinitializers may call other code.
    guard let position else { return isOpen }
    deliver(value, number, to: receivers)
    deliverLine(position)
    return true
  }

  /// Completes for all members. Later calls have no effect.
  func send(completion: Completion) {
    let position = lock.withLock { () -> DeliveryOrder.Position? in
      guard !isOver else { return nil }
      (isOver, self.completion) = (true, completion)
      line.append(.completion(completion))
      return line.begin()
    }
    if let position { deliverLine(position) }
  }

  private func deliverLine(_ position: DeliveryOrder.Position) {
    if !lock.withLock({ line.endIfEmpty(position) }) { deliverWaiting(position) }
  }

  private func deliverWaiting(_ position: DeliveryOrder.Position) {
    while let (event, receivers) = next(position) {
      switch event {
      case .value(let value, let number): deliver(value, number, to: receivers)
      case .completion(let completion):
        for case let receiver? in receivers { unsafeDowncast(receiver, to: Member.self).end(completion) }
      }
    }
  }

  private func deliver(_ value: Output, _ number: Int, to receivers: [AnyObject?]) {
    for case let receiver? in receivers { unsafeDowncast(receiver, to: Member.self).receive(value, number) }
  }

  private func next(_ position: DeliveryOrder.Position) -> (Event, [AnyObject?])? {
    lock.withLock {
      guard let event = line.popFirst(position) else { return nil }
      guard case .completion = event else { return (event, members) }
      defer { (members, left) = ([], 0) }
      return (event, members)
    }
  }

  // MARK: - Members

  /// Adds a member, unless the subject has completed.
  ///
  /// - Returns: the completion, if it has.
  func add(_ member: Member) -> Completion? {
    lock.withLock {
      if !isOver {
        member.position = members.count
        members.append(member)
      }
      return completion
    }
  }

  /// Removes a member in constant time: the list is only compacted when half of it is empty.
  func remove(_ member: Member) {
    lock.withLock {
      guard members.indices.contains(member.position), members[member.position] === member else { return }
      members[member.position] = nil
      left += 1
      guard left > 16, left * 2 > members.count else { return }
      members.removeAll { $0 == nil }
      for (index, remaining) in members.enumerated() {
        if let remaining { unsafeDowncast(remaining, to: Member.self).position = index }
      }
      left = 0
    }
  }

  // MARK: - The current value

  /// The current value. A subject without one does not ask.
  var value: Output {
    get { lock.withLock { current }.unsafelyUnwrapped.value }
    set {
      let replaced = lock.withLock { () -> Stored? in
        defer { current = Stored(newValue) }
        return current
      }
      withExtendedLifetime(replaced) {}
    }
  }

  /// Calls the closure with the current value and its number, while no other can be sent.
  func withCurrent(_ use: (Output, Int) -> Void) {
    lock.withLock { if let current { use(current.value, count) } }
  }

  // MARK: - Attached publishers

  func attach(_ upstream: any Subscription) {
    var old: [any Subscription] = []
    let requests = lock.withLock { () -> Bool in
      if upstreams.count >= nextCleanUp {
        old = upstreams
        upstreams = old.filter { ($0 as? any AttachedSubscription)?.hasEnded != true }
        nextCleanUp = max(16, upstreams.count * 2)
      }
      upstreams.append(upstream)
      return requestsAll
    }
    withExtendedLifetime(old) {}  // Released outside the lock, because deinitializers may call other code.
    if requests { upstream.request(.unlimited) }
  }

  /// A subscriber has requested something: then everything is requested from attached publishers.
  func requestAll() {
    let upstreams = lock.withLock { () -> [any Subscription] in
      defer { requestsAll = true }
      return requestsAll ? [] : self.upstreams
    }
    for upstream in upstreams { upstream.request(.unlimited) }
  }
}

/// The subscription that a subject gets when it is attached to a publisher.
protocol AttachedSubscription: Subscription {
  /// Whether the publisher has completed, or the subject was detached from it.
  var hasEnded: Bool { get }
}
#endif
