#if !canImport(Darwin)
/// Delivers the values of several publishers in the order in which they arrive: `merge` and `flatMap`.
///
/// With unlimited demand, everything is requested from each publisher. Otherwise one value is, and the next one when it
/// has been delivered, so that a slow subscriber slows all of them down. What arrives without demand waits.
class MergeSubscription<Downstream: Subscriber>: OrderedSubscription<Downstream> {
  typealias Child = UpstreamSubscriber<Downstream.Input, Downstream.Failure>

  private var children: [UpstreamSubscription] = []
  private var waiting = FIFO<(value: Downstream.Input, child: UpstreamSubscription)>()
  private var hasWaiting = false
  /// The number of upstreams that have not finished, including upstreams that are yet to come.
  private var unfinished: Int

  /// - Parameter upstreams: the number of upstreams; for `flatMap` one, which makes others.
  init(to downstream: Downstream, name: String, upstreams: Int) {
    unfinished = upstreams
    super.init(to: downstream, name: name)
    if upstreams == 0 { enqueue(.finished) }
  }

  /// A publisher has finished, and others have not.
  func childFinished() {}

  // MARK: - Upstreams

  /// Subscribes to one of the publishers.
  final func add<P: Publisher>(_ publisher: P) where P.Output == Downstream.Input, P.Failure == Downstream.Failure {
    if let child = makeChild() { publisher.subscribe(child) }
  }

  /// - Parameter isAdditional: whether the number of upstreams increases.
  /// - Returns: the subscriber of another publisher; nil at the end.
  final func makeChild(isAdditional: Bool = false) -> Child? {
    lock.withLock {
      guard isOpen else { return nil }
      let child = Child(
        name: description, asking: demand == .unlimited ? .unlimited : .max(1),
        onValue: { [self] value, child in receive(value, from: child) },
        onCompletion: { [self] completion, child in remove(child, completion) })
      child.position = children.count
      children.append(child)
      if isAdditional { unfinished += 1 }
      return child
    }
  }

  private func receive(_ value: Downstream.Input, from child: UpstreamSubscription) -> Subscribers.Demand {
    var next = Subscribers.Demand.none
    let permit = lock.withLock { () -> DeliveryPermit? in
      guard demand > .none, !hasWaiting else {
        if isOpen { keep(value, from: child) }
        return nil
      }
      if demand != .unlimited { next = .max(1) }
      return offer(value)
    }
    if let permit { deliver(value, by: permit, receivingDemand: request) }
    return next
  }

  private func keep(_ value: Downstream.Input, from child: UpstreamSubscription) {
    waiting.append((value, child))
    hasWaiting = true
  }

  private func remove(_ child: UpstreamSubscription, _ completion: Subscribers.Completion<Downstream.Failure>) {
    let isLast = lock.withLock { () -> Bool in
      guard !isClosed else { return true }
      if let last = children.popLast(), last !== child {
        last.position = child.position
        children[child.position] = last
      }
      return finishOne(completion)
    }
    deliver()
    if !isLast { childFinished() }
  }

  /// An upstream has completed. Call this while ``lock`` is held, and ``deliver()`` afterwards.
  ///
  /// - Returns: whether it was the last one.
  final func finishOne(_ completion: Subscribers.Completion<Downstream.Failure>) -> Bool {
    if case .failure = completion {
      enqueue(completion)
      return true
    }
    unfinished -= 1
    finishIfComplete()
    return unfinished == 0
  }

  private func finishIfComplete() {
    if unfinished == 0, !hasWaiting { enqueue(.finished) }
  }

  // MARK: - Downstream

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    let (unlimited, isWaiting) = lock.withLock { () -> ([UpstreamSubscription], Bool) in
      guard isOpen else { return ([], false) }
      let isLimited = self.demand != .unlimited
      self.demand += demand
      return (isLimited && self.demand == .unlimited ? children : [], hasWaiting)
    }
    if isWaiting { deliverWaiting() }
    for child in unlimited { child.request(.unlimited) }
  }

  private func deliverWaiting() {
    var resumed: UpstreamSubscription?
    drain {
      guard demand > .none, let (value, child) = waiting.popFirst() else {
        finishIfComplete()
        return nil
      }
      hasWaiting = !waiting.isEmpty
      resumed = demand == .unlimited ? nil : child
      return value
    } delivered: {
      resumed?.request(.max(1))
    }
  }

  override func didClose() {
    var released: Any?
    let children = lock.withLock { () -> [UpstreamSubscription] in
      if hasWaiting {
        released = waiting
        (waiting, hasWaiting) = (FIFO(), false)
      }
      defer { self.children = [] }
      return self.children
    }
    for child in children.reversed() { child.cancel() }
    withExtendedLifetime(released) {}
  }
}

extension Subscriber {
  /// Attaches this subscriber to several publishers, which the closure adds.
  func merge(_ name: String, upstreams: Int, _ add: (MergeSubscription<Self>) -> Void) {
    let subscription = MergeSubscription(to: self, name: name, upstreams: upstreams)
    subscription.start()
    add(subscription)
  }
}
#endif
