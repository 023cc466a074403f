#if !canImport(Darwin)
/// The values of one upstream of a tuple.
class TupleColumn {
  fileprivate(set) var isOver = false

  var isEmpty: Bool { true }

  /// Removes all values, and returns them.
  func removeAll() -> Any? { nil }
}

final class Column<Value>: TupleColumn {
  private var values = FIFO<Value>()
  private let keepsLatest: Bool

  init(keepsLatest: Bool) { self.keepsLatest = keepsLatest }

  override var isEmpty: Bool { values.isEmpty }

  override func removeAll() -> Any? {
    defer { values = FIFO() }
    return values
  }

  /// Adds a value. Returns the one that it replaces.
  func add(_ value: Value) -> Value? {
    defer { values.append(value) }
    return keepsLatest ? values.popFirst() : nil
  }

  /// The value for the next tuple. The column is not empty.
  func next() -> Value { (keepsLatest ? values.first : values.popFirst()).unsafelyUnwrapped }
}

/// Delivers one value of each upstream together: `zip`, which uses each value once, and `combineLatest`.
///
/// Every upstream gets the whole demand. So `zip` need not count, if its upstreams obey the demand;
/// `combineLatest` drops what is not requested. The subscriber receives its subscription when all upstreams have sent
/// theirs, so that no value is missed.
final class TupleSubscription<Downstream: Subscriber>: OrderedSubscription<Downstream> {
  private let usesOnce: Bool
  private var columns: [TupleColumn] = []
  private var subscribers: [UpstreamSubscription] = []
  private var subscribe: [() -> Void] = []
  private var unattached = 0
  private var makeTuple: (() -> Downstream.Input)?

  init(to downstream: Downstream, name: String, usingOnce usesOnce: Bool) {
    self.usesOnce = usesOnce
    super.init(to: downstream, name: name)
    if usesOnce { demand = .unlimited }
  }

  // MARK: - Upstreams

  /// Adds an upstream.
  func column<P: Publisher>(_ publisher: P) -> Column<P.Output> where P.Failure == Downstream.Failure {
    let column = Column<P.Output>(keepsLatest: !usesOnce)
    let index = columns.count
    let subscriber = UpstreamSubscriber<P.Output, P.Failure>(
      name: description, onSubscription: { [self] in attached() },
      onValue: { [self] value, _ in
        var replaced: P.Output?
        defer { withExtendedLifetime(replaced) {} }
        return receive(from: index) { replaced = column.add(value) }
      },
      onCompletion: { [self] completion, _ in end(index, completion) })
    columns.append(column)
    subscribers.append(subscriber)
    subscribe.append { publisher.subscribe(subscriber) }
    return column
  }

  /// Subscribes to the upstreams, whose values the closure makes a tuple of.
  func run(_ makeTuple: @escaping () -> Downstream.Input) {
    self.makeTuple = makeTuple
    unattached = subscribers.count
    let work = subscribe
    subscribe = []
    for subscribe in work where !lock.withLock({ isClosed }) { subscribe() }
  }

  private func attached() {
    let isComplete = lock.withLock {
      unattached -= 1
      return unattached == 0
    }
    if isComplete { start() }
  }

  private func receive(from index: Int, _ store: () -> Void) -> Subscribers.Demand {
    var tuple: Downstream.Input?
    let permit = lock.withLock { () -> DeliveryPermit? in
      guard !isClosed else { return nil }
      store()
      tuple = nextTuple()
      guard let tuple else { return nil }
      defer { finishIfExhausted() }
      return offer(tuple)
    }
    guard let tuple, let permit else { return .none }
    var returned = Subscribers.Demand.none
    deliver(tuple, by: permit) { more in
      returned = more
      add(more, except: index)
    }
    return returned
  }

  private func nextTuple() -> Downstream.Input? {
    guard isOpen, demand > .none, let makeTuple, columns.allSatisfy({ !$0.isEmpty }) else { return nil }
    return makeTuple()
  }

  private func end(_ index: Int, _ completion: Subscribers.Completion<Downstream.Failure>) {
    let isOver = lock.withLock { () -> Bool in
      guard !isClosed else { return false }
      columns[index].isOver = true
      if case .failure = completion { enqueue(completion) } else { return finishIfExhausted() }
      return true
    }
    guard isOver else { return }
    start()  // Even if not all have sent their subscriptions.
    deliver()
  }

  /// Finishes if there can be no other tuple.
  @discardableResult
  private func finishIfExhausted() -> Bool {
    guard columns.contains(where: { $0.isOver && $0.isEmpty }) || columns.allSatisfy({ !usesOnce && $0.isOver })
    else { return false }
    enqueue(.finished)
    return true
  }

  // MARK: - Downstream

  override func request(_ demand: Subscribers.Demand) {
    if demand > .none { add(demand, except: nil) }
  }

  private func add(_ demand: Subscribers.Demand, except index: Int?) {
    let subscribers = lock.withLock {
      if !isClosed { self.demand += demand }
      return self.subscribers
    }
    for (position, subscriber) in subscribers.enumerated() where position != index { subscriber.request(demand) }
  }

  override func didClose() {
    let (subscribers, values, makeTuple) = lock.withLock {
      defer { (self.subscribers, columns, self.makeTuple) = ([], [], nil) }
      return (self.subscribers, columns.map { $0.removeAll() }, self.makeTuple)
    }
    for subscriber in subscribers.reversed() { subscriber.cancel() }
    withExtendedLifetime((values, makeTuple)) {}
  }
}
#endif
