#if !canImport(Darwin)
/// The subscription of a publisher that has one value, which is delivered with the first request.
final class ReadyValue<Downstream: Subscriber>: Subscription, CustomStringConvertible {
  let description: String
  private let quota = Quota()
  private var contents: Contents?

  private final class Contents {
    let value: Downstream.Input
    let downstream: Downstream

    init(_ value: Downstream.Input, _ downstream: Downstream) { (self.value, self.downstream) = (value, downstream) }
  }

  init(_ value: Downstream.Input, of name: String, to downstream: Downstream) {
    description = name
    contents = Contents(value, downstream)
  }

  func request(_ demand: Subscribers.Demand) {
    guard quota.add(demand), let contents else { return }
    _ = contents.downstream.receive(contents.value)
    self.contents = nil
    if !quota.close().wasClosed { contents.downstream.receive(completion: .finished) }
  }

  func cancel() {
    let (wasClosed, isDelivering) = quota.close()
    if !wasClosed, !isDelivering { contents = nil }
  }
}

/// The subscription of a publisher of the elements of a sequence, which are delivered as they are requested. The
/// completion follows the last one without a request.
final class ReadyValues<Elements: Sequence, Downstream: Subscriber>: Subscription, CustomStringConvertible
where Downstream.Input == Elements.Element {
  private final class Contents {
    let elements: Elements
    let completion: Subscribers.Completion<Downstream.Failure>
    let downstream: Downstream
    var iterator: Elements.Iterator
    /// One element ahead, so that the last one is known.
    var next: Elements.Element?

    init(
      _ elements: Elements, _ completion: Subscribers.Completion<Downstream.Failure>, _ downstream: Downstream
    ) {
      (self.elements, self.completion, self.downstream) = (elements, completion, downstream)
      iterator = elements.makeIterator()
      next = iterator.next()
    }
  }

  private let nameAfterTheEnd: String
  private let quota = Quota()
  private let lock = Lock()
  /// Guarded by ``lock``. Its variables belong to the thread that delivers.
  private var contents: Contents?

  private init(_ contents: Contents, nameAfterTheEnd: String) {
    self.contents = contents
    self.nameAfterTheEnd = nameAfterTheEnd
  }

  /// Gives a subscriber its subscription, or an empty one and the completion if there is no element.
  static func start(
    _ elements: Elements, completion: Subscribers.Completion<Downstream.Failure>, to downstream: Downstream,
    nameAfterTheEnd: String
  ) {
    let contents = Contents(elements, completion, downstream)
    guard contents.next != nil else { return downstream.receive(onlyCompletion: completion) }
    downstream.receive(subscription: ReadyValues(contents, nameAfterTheEnd: nameAfterTheEnd))
  }

  var description: String { lock.withLock { contents }.map { "\($0.elements)" } ?? nameAfterTheEnd }

  func request(_ demand: Subscribers.Demand) {
    guard quota.add(demand), let contents = lock.withLock({ contents }) else { return }
    deliver(contents)
  }

  private func deliver(_ contents: Contents) {
    let downstream = contents.downstream
    var iterator = contents.iterator
    var next = contents.next
    while let value = next {
      next = iterator.next()
      let more = downstream.receive(value)
      if more > .none { _ = quota.add(more) }
      if next == nil { break }
      if quota.isUnlimited { continue }
      (contents.iterator, contents.next) = (iterator, next)  // Another thread may deliver the next one.
      if !quota.useOne() {
        if quota.isClosed { release() }
        return
      }
    }
    release()
    if !quota.close().wasClosed { downstream.receive(completion: contents.completion) }
  }

  func cancel() {
    let (wasClosed, isDelivering) = quota.close()
    if !wasClosed, !isDelivering { release() }
  }

  private func release() {
    let released = lock.withLock { contents.take() }
    withExtendedLifetime(released) {}  // Released outside the lock, because deinitializers may call other code.
  }
}

extension Subscriber {
  /// Receives a subscription without values, and the completion.
  func receive(onlyCompletion completion: Subscribers.Completion<Failure>) {
    receive(subscription: Subscriptions.empty)
    receive(completion: completion)
  }
}
#endif
