#if canImport(Darwin)
import Combine
#endif

/// The right to deliver a value at once, to the subscriber. It is no generic type, because code that is not specialised
/// looks those up each time.
struct DeliveryPermit {
  /// The receiver of the subscription.
  fileprivate let receiver: AnyObject
  fileprivate let position: DeliveryOrder.Position
}

/// The subscription of a publisher whose values come from several threads or several upstreams: one downstream with
/// its demand and its lock. Publishers inherit it and add what they do with demand.
///
/// The subscriber receives the subscription first. Events are then delivered one after another, as ``DeliveryLine``
/// says. Nothing is delivered after the completion or ``close()``, which release the downstream and the events in line.
class OrderedSubscription<Downstream: Subscriber>: Subscription, CustomStringConvertible {
  private enum Event {
    case value(Downstream.Input)
    case completion(Subscribers.Completion<Downstream.Failure>)
  }

  private enum Stage {
    /// The subscriber has not received its subscription.
    case new
    case open
    /// The completion is in line.
    case ending
    case closed
  }

  /// The downstream in an object: code that is not specialised handles a reference faster than any value.
  fileprivate final class Receiver {
    let downstream: Downstream

    init(_ downstream: Downstream) { self.downstream = downstream }
  }

  /// Guards all properties, including those of subclasses.
  final let lock = Lock()
  /// The number of requested values that are neither delivered nor in line. Guarded by ``lock``.
  final var demand = Subscribers.Demand.none
  private var receiver: Receiver?
  private var stage = Stage.new
  private var line = DeliveryLine<Event>()
  private var isDraining = false

  /// The name of the publisher, which `print()` shows.
  final let description: String

  init(to downstream: Downstream, name: String) {
    receiver = Receiver(downstream)
    description = name
  }

  /// Whether the subscription has ended. Guarded by ``lock``.
  final var isClosed: Bool { stage == .closed }

  /// Whether the subscriber has its subscription, and no completion was sent. Guarded by ``lock``.
  final var isOpen: Bool { stage == .open }

  // MARK: - What subclasses override

  /// The subscriber wants more values, which are added to ``demand``.
  func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    lock.withLock { if !isClosed { self.demand += demand } }
  }

  func cancel() { close() }

  /// The subscriber has asked for more as it received a value. By default, this is a request.
  func receiveDemand(_ more: Subscribers.Demand) { request(more) }

  /// The subscription has ended. Subclasses release what they keep, and cancel what they receive from.
  func didClose() {}

  // MARK: - Delivering

  /// Gives the subscription to the subscriber, and then delivers what other threads have put in line.
  final func start() {
    let permit = lock.withLock { () -> DeliveryPermit? in
      guard stage == .new, let receiver, let position = line.begin() else { return nil }
      stage = .open
      return DeliveryPermit(receiver: receiver, position: position)
    }
    guard let permit else { return }
    downstream(of: permit).receive(subscription: self)
    deliverLine(permit.position)
  }

  /// Delivers a value, or drops it if it was not requested.
  final func send(_ value: Downstream.Input) {
    guard let permit = lock.withLock({ offer(value) }) else { return }
    let more = downstream(of: permit).receive(value)
    if more > .none { receiveDemand(more) }
    deliverLine(permit.position)
  }

  /// Completes after the events in line.
  final func finish(_ completion: Subscribers.Completion<Downstream.Failure>) {
    lock.withLock { enqueue(completion) }
    deliver()
  }

  /// Accepts a value if it was requested. Call this while ``lock`` is held, and then deliver the value by the permit
  /// that is returned. If it is nil, the value was dropped, or is in line for the thread that delivers now.
  final func offer(_ value: Downstream.Input) -> DeliveryPermit? {
    guard stage == .open, demand > .none, let receiver else { return nil }
    demand -= 1
    guard let position = line.begin(orAppend: .value(value)) else { return nil }
    return DeliveryPermit(receiver: receiver, position: position)
  }

  /// Delivers a value that was accepted, passes on the demand that the subscriber returns, if any, and delivers the
  /// events that have come into line meanwhile.
  final func deliver(
    _ value: Downstream.Input, by permit: DeliveryPermit, receivingDemand receive: (Subscribers.Demand) -> Void
  ) {
    let more = downstream(of: permit).receive(value)
    if more > .none { receive(more) }
    deliverLine(permit.position)
  }

  /// Delivers stored values until the closure returns nil. The closure is called while ``lock`` is held, and looks at
  /// ``demand``. It is iterative: a request that comes meanwhile is served by the same loop.
  final func drain(_ next: () -> Downstream.Input?, delivered: () -> Void = {}) {
    guard lock.withLock({ beginDraining() }) else { return }
    while true {
      var value: Downstream.Input?
      let permit = lock.withLock { () -> DeliveryPermit? in
        value = isOpen ? next() : nil
        isDraining = value != nil
        return value.flatMap { offer($0) }
      }
      guard let value else { break }
      if let permit { deliver(value, by: permit, receivingDemand: receiveDemand) }
      delivered()
    }
    deliver()
  }

  private func downstream(of permit: DeliveryPermit) -> Downstream {
    unsafeDowncast(permit.receiver, to: Receiver.self).downstream
  }

  private func beginDraining() -> Bool {
    defer { isDraining = true }
    return !isDraining
  }

  /// Puts a value in line, for a caller that cannot deliver it yet. Call this while ``lock`` is held, and ``deliver()``
  /// afterwards: so the order of values is the order of the changes that caused them.
  ///
  /// - Returns: whether the value was requested. One that was not is dropped.
  @discardableResult
  final func enqueue(_ value: Downstream.Input) -> Bool {
    guard isOpen, demand > .none else { return false }
    demand -= 1
    line.append(.value(value))
    return true
  }

  /// Puts the completion in line. Call this while ``lock`` is held, and ``deliver()`` afterwards.
  final func enqueue(_ completion: Subscribers.Completion<Downstream.Failure>) {
    guard !isClosed else { return }
    line.append(.completion(completion))
    if isOpen { stage = .ending }
  }

  /// Takes the values in line back, as if they had never been sent. Call this while ``lock`` is held, and release what
  /// is returned afterwards.
  final func withdrawLine() -> Any? {
    guard isOpen, line.count > 0 else { return nil }
    demand += line.count
    return line.removeAll()
  }

  /// Delivers the events in line. If another thread is delivering, that thread does it.
  final func deliver() {
    guard let position = lock.withLock({ line.count == 0 || stage == .new ? nil : line.begin() }) else { return }
    deliverLine(position)
  }

  private func deliverLine(_ position: DeliveryOrder.Position) {
    if !lock.withLock({ line.endIfEmpty(position) }) { deliverWaiting(position) }
  }

  private func deliverWaiting(_ position: DeliveryOrder.Position) {
    while let (receiver, event) = next(position) {
      switch event {
      case .value(let value):
        let more = receiver.downstream.receive(value)
        if more > .none { receiveDemand(more) }
      case .completion(let completion):
        close()
        receiver.downstream.receive(completion: completion)
      }
    }
  }

  private func next(_ position: DeliveryOrder.Position) -> (Receiver, Event)? {
    lock.withLock {
      // A closed subscription has an empty line.
      guard let event = line.popFirst(position), let receiver else { return nil }
      return (receiver, event)
    }
  }

  /// Ends the subscription. Nothing is delivered any more.
  final func close() {
    var released: Any?
    let receiver = lock.withLock { () -> Receiver? in
      guard !isClosed else { return nil }
      (stage, demand) = (.closed, .none)
      released = line.removeAll()
      return self.receiver.take()
    }
    if receiver != nil { didClose() }
    withExtendedLifetime((receiver, released)) {}  // Released outside the lock: deinitializers may call other code.
  }
}
