#if !canImport(Combine)
/// Delivers values to the subscribers that have requested them at that time, and does not store them.
///
/// Values of an attached publisher are requested when the first subscriber requests one. Subjects may be used on any
/// thread: all subscribers receive the values in one order.
public final class PassthroughSubject<Output, Failure: Error>: Subject, SubjectCore, Sendable {
  let state = Locked(SubjectState<Output, Failure>())
  fileprivate let name: String
  private let isWanted = Locked(false)

  /// Makes a subject without subscribers.
  public convenience init() { self.init(name: "PassthroughSubject") }

  init(name: String) { self.name = name }

  deinit { for upstream in state.withLock({ $0.detachAll() }) { upstream.cancel() } }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let subscription = PassthroughSubscription(self, to: subscriber)
    let completion = state.withLock { state in
      if state.completion == nil { state.add(subscription) }
      return state.completion
    }
    if let completion { return subscriber.receive(only: completion) }
    subscription.start()
  }

  public func send(_ value: Output) { deliver(state.withLock { $0.append(value) }) }

  public func send(completion: Subscribers.Completion<Failure>) { deliver(state.withLock { $0.append(completion) }) }

  public func send(subscription: any Subscription) {
    state.withLock { $0.attach(subscription) }
    if isWanted.withLock({ $0 }) { subscription.request(.unlimited) }
  }

  fileprivate func want() {
    guard !isWanted.replace(by: true) else { return }
    for upstream in state.withLock({ $0.upstreams }) { upstream.request(.unlimited) }
  }
}

private final class PassthroughSubscription<Downstream: Subscriber>: Outlet<Downstream>, SubjectSubscription {
  private typealias Parent = PassthroughSubject<Downstream.Input, Downstream.Failure>

  var position = 0
  /// Kept until the end: a subject exists as long as somebody can receive from it.
  private var subject: Parent?

  init(_ subject: PassthroughSubject<Downstream.Input, Downstream.Failure>, to downstream: Downstream) {
    self.subject = subject
    super.init(to: downstream, name: subject.name)
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    lock.withLock { subject }?.want()
  }

  override func cancel() {
    leave()?.state.withLock { $0.remove(self) }
    close()
  }

  func receive(_ value: Downstream.Input, number: Int) { send(value) }

  func receive(_ completion: Subscribers.Completion<Downstream.Failure>) {
    _ = leave()
    finish(completion)
  }

  private func leave() -> Parent? { lock.withLock { subject.take() } }
}

extension Subscriber {
  /// The subscription of a publisher that has already ended.
  func receive(only completion: Subscribers.Completion<Failure>) {
    receive(subscription: Subscriptions.empty)
    receive(completion: completion)
  }
}
#endif
