#if !canImport(Darwin)
/// A subscription with one upstream, of which it is the subscriber: for operators whose values come later than
/// upstream's values, or from another thread.
///
/// An operator that passes on one value for each value it receives keeps no count, because upstream obeys the demand.
/// Other operators count the demand.
class Relay<Input, Downstream: Subscriber>: OrderedSubscription<Downstream>, Subscriber {
  typealias Failure = Downstream.Failure

  /// The subscription to upstream.
  final let upstream: UpstreamSubscription
  private let counts: Bool
  private var isOver = false

  /// - Parameters:
  ///   - counts: whether values are delivered only if they are requested here; requests then do not reach upstream.
  ///   - demand: the demand that goes upstream before the subscriber has its subscription.
  init(to downstream: Downstream, name: String, counting counts: Bool, asking demand: Subscribers.Demand = .none) {
    upstream = UpstreamSubscription(name: name, asking: demand)
    self.counts = counts
    super.init(to: downstream, name: name)
    if !counts { self.demand = .unlimited }
  }

  // MARK: - What subclasses override

  /// Upstream has sent its subscription. Subclasses begin before or after they call this.
  func attached() { start() }

  func receive(_ input: Input) -> Subscribers.Demand { .none }

  /// Upstream has completed. This happens once, and after it has sent its subscription.
  func end(_ completion: Subscribers.Completion<Failure>) { finish(completion) }

  // MARK: - Upstream

  final func receive(subscription: any Subscription) {
    if upstream.attach(subscription) { attached() }
  }

  final func receive(completion: Subscribers.Completion<Failure>) {
    guard upstream.endIfAttached() else { return }
    lock.withLock { isOver = true }
    end(completion)
  }

  /// Whether a value of upstream is to be accepted: the subscriber has its subscription, and upstream has not
  /// completed. Guarded by ``lock``.
  final var isReceiving: Bool { isOpen && !isOver }

  /// Delivers a value, and returns what the subscriber requests in return.
  final func pass(_ value: Downstream.Input) -> Subscribers.Demand {
    var returned = Subscribers.Demand.none
    if let permit = lock.withLock({ offer(value) }) { deliver(value, by: permit) { returned = $0 } }
    return returned
  }

  // MARK: - Downstream

  override func request(_ demand: Subscribers.Demand) {
    if counts { super.request(demand) } else { upstream.request(demand) }
  }

  override func didClose() { upstream.cancel() }
}
#endif
