#if !canImport(Combine)
/// Stores a current value, which every new subscriber receives first. A subscriber that has requested nothing receives
/// only the newest value when it does.
///
/// Subjects may be used on any thread: all subscribers receive the values in one order, and the last one is the current
/// value.
public final class CurrentValueSubject<Output, Failure: Error>: Subject, SubjectCore, Sendable {
  let state = Locked(SubjectState<Output, Failure>())
  fileprivate let name: String
  private let current: Locked<Output>

  /// Makes a subject with an initial value.
  public convenience init(_ value: Output) { self.init(value, name: "CurrentValueSubject") }

  init(_ value: Output, name: String) {
    current = Locked(value)
    self.name = name
  }

  deinit { for upstream in state.withLock({ $0.detachAll() }) { upstream.cancel() } }

  /// The current value. Setting it delivers it. After the completion it can still be set.
  public var value: Output {
    get { current.withLock { $0 } }
    set {
      if !offer(newValue) { _ = current.replace(by: newValue) }
    }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let subscription = CurrentValueSubscription(self, to: subscriber)
    let completion = state.withLock { state in
      if state.completion == nil { state.add(subscription) }
      return state.completion
    }
    if let completion { return subscriber.receive(only: completion) }
    subscription.start()
  }

  public func send(_ value: Output) { _ = offer(value) }

  public func send(completion: Subscribers.Completion<Failure>) { deliver(state.withLock { $0.append(completion) }) }

  public func send(subscription: any Subscription) {
    state.withLock { $0.attach(subscription) }
    subscription.request(.unlimited)
  }

  /// - Returns: false after the completion.
  private func offer(_ value: Output) -> Bool {
    var old: Output?
    let (turn, isOpen) = state.withLock { state -> (SubjectState<Output, Failure>.Line.Turn?, Bool) in
      guard state.completion == nil else { return (nil, false) }
      old = current.replace(by: value)
      return (state.append(value), true)
    }
    withExtendedLifetime(old) {}  // Released outside the lock, because deinitializers may call other code.
    deliver(turn)
    return isOpen
  }

  /// Calls the closure with the current value and its number, while no other can be sent.
  fileprivate func withCurrent(_ use: (Output, Int) -> Void) {
    state.withLock { state in use(current.withLock { $0 }, state.count) }
  }
}

private final class CurrentValueSubscription<Downstream: Subscriber>: Outlet<Downstream>, SubjectSubscription {
  private typealias Parent = CurrentValueSubject<Downstream.Input, Downstream.Failure>

  var position = 0
  private var subject: Parent?
  /// The number of the newest value that was delivered. Every subscriber has yet to receive the current value.
  private var newest = -1

  init(_ subject: CurrentValueSubject<Downstream.Input, Downstream.Failure>, to downstream: Downstream) {
    self.subject = subject
    super.init(to: downstream, name: subject.name)
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    guard let subject = lock.withLock({ subject }) else { return }
    subject.withCurrent { value, number in
      lock.withLock { if newest < number, enqueue(value) { newest = number } }
    }
    deliver()
  }

  override func cancel() {
    leave()?.state.withLock { $0.remove(self) }
    close()
  }

  func receive(_ value: Downstream.Input, number: Int) {
    lock.withLock {
      // A request may have delivered it in the meantime.
      if newest != number, enqueue(value) { newest = max(newest, number) }
    }
    deliver()
  }

  func receive(_ completion: Subscribers.Completion<Downstream.Failure>) {
    _ = leave()
    finish(completion)
  }

  private func leave() -> Parent? { lock.withLock { subject.take() } }
}
#endif
