#if canImport(Darwin)
public import Combine
#endif

/// A publisher of what other code calls back with: a task, an observer, a timer. The work begins once for every
/// subscriber, and is stopped when the subscription is cancelled.
@_spi(Toolkit) public struct CallbackPublisher<Output, Failure: Error>: Publisher {
  /// When the work begins.
  public enum Start {
    case withTheSubscription
    case withTheFirstRequest
  }

  /// Delivers to the subscriber, from any thread.
  // SAFETY: the subscription guards its properties with its lock. The subscriber receives values on the thread of the
  // callback, as in Combine: the publisher's user decides which objects may cross threads.
  public struct Receiver: @unchecked Sendable {
    fileprivate let subscription: any CallbackTarget<Output, Failure>

    /// Delivers a value, or drops it if it was not requested.
    public func send(_ value: Output) { subscription.send(value) }

    /// Delivers a value, or keeps it until the next one if it has yet to be requested.
    public func sendLatest(_ value: Output) { subscription.sendLatest(value) }

    /// Waits until a value is requested. Returns false if the subscription has ended.
    public func waitForRequest() async -> Bool {
      await withCheckedContinuation { continuation in subscription.whenRequested { continuation.resume(returning: $0) }
      }
    }

    public func finish(_ completion: Subscribers.Completion<Failure>) { subscription.end(completion) }
  }

  private let name: String
  private let start: Start
  private let begin: (Receiver) -> () -> Void

  /// - Parameter begin: begins the work, and returns what stops it.
  public init(_ name: String, starting start: Start, _ begin: @escaping (Receiver) -> () -> Void) {
    self.name = name
    self.start = start
    self.begin = begin
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let subscription = CallbackSubscription(to: subscriber, name: name, begin: begin)
    if start == .withTheSubscription { subscription.beginOnce() }
    subscription.start()
  }
}

private protocol CallbackTarget<Output, Failure>: AnyObject {
  associatedtype Output
  associatedtype Failure: Error

  func send(_ value: Output)
  func sendLatest(_ value: Output)
  func whenRequested(_ action: @escaping (Bool) -> Void)
  func end(_ completion: Subscribers.Completion<Failure>)
}

private final class CallbackSubscription<Downstream: Subscriber>: OrderedSubscription<Downstream>, CallbackTarget {
  typealias Output = Downstream.Input
  typealias Failure = Downstream.Failure
  typealias Receiver = CallbackPublisher<Downstream.Input, Downstream.Failure>.Receiver

  private enum Work {
    case ready((Receiver) -> () -> Void)
    case beginning
    case running(stop: () -> Void)
    case over
  }

  private var work: Work
  /// The newest value, if it has yet to be requested.
  private var latest: Downstream.Input?
  /// Called when the subscriber requests something, with true, or ends, with false.
  private var waiter: ((Bool) -> Void)?
  /// Waits for the newest value: the last state is not lost.
  private var completion: Subscribers.Completion<Downstream.Failure>?

  init(to downstream: Downstream, name: String, begin: @escaping (Receiver) -> () -> Void) {
    work = .ready(begin)
    super.init(to: downstream, name: name)
  }

  func beginOnce() {
    let begin = lock.withLock { () -> ((Receiver) -> () -> Void)? in
      guard case .ready(let begin) = work else { return nil }
      work = .beginning
      return begin
    }
    guard let begin else { return }
    let stop = begin(Receiver(subscription: self))
    let isOver = lock.withLock {
      guard case .beginning = work else { return true }
      work = .running(stop: stop)
      return false
    }
    if isOver { stop() }
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    lock.withLock {
      guard let value = latest, enqueue(value) else { return }
      latest = nil
      if let completion { enqueue(completion) }
    }
    deliver()
    beginOnce()
    let waiter = lock.withLock { self.demand > .none ? self.waiter.take() : nil }
    waiter?(true)
  }

  /// Calls the action when a value is requested, or with false at the end of the subscription.
  func whenRequested(_ action: @escaping (Bool) -> Void) {
    let answer = lock.withLock { () -> Bool? in
      if !isOpen { return false }
      if demand > .none { return true }
      waiter = action
      return nil
    }
    if let answer { action(answer) }
  }

  override func didClose() { lock.withLock { waiter.take() }?(false) }

  override func cancel() {
    close()  // First, so that the failure that the cancellation of the work causes is not delivered.
    if case .running(let stop) = endWork() { stop() }
  }

  func sendLatest(_ value: Downstream.Input) {
    let old = lock.withLock { () -> Downstream.Input? in
      defer { latest = isClosed || enqueue(value) ? nil : value }
      return latest
    }
    withExtendedLifetime(old) {}
    deliver()
  }

  func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    let ended = lock.withLock { () -> Work in
      defer { work = .over }
      if latest == nil { enqueue(completion) } else { self.completion = completion }
      return work
    }
    withExtendedLifetime(ended) {}
    deliver()
  }

  private func endWork() -> Work {
    let (ended, value) = lock.withLock { () -> (Work, Downstream.Input?) in
      defer { (work, latest) = (.over, nil) }
      return (work, latest)
    }
    withExtendedLifetime(value) {}
    return ended
  }
}
