#if !canImport(Darwin)
/// Delivers one result to all subscribers, including later ones. The work begins at once. If it should begin on demand,
/// use ``TaskPublisher``.
public final class Future<Output, Failure: Error>: Publisher, Sendable {
  /// Fulfils the promise with a result.
  public typealias Promise = (Result<Output, Failure>) -> Void

  private enum State {
    case waiting([any Waiter<Output, Failure>])
    case fulfilled(Result<Output, Failure>)
  }

  private let state = Locked(State.waiting([]))

  /// Makes a future. The closure is called at once, and fulfils the promise now or later. A second result is ignored.
  public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {
    attemptToFulfill { [self] in fulfill($0) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let subscription = FutureSubscription(to: subscriber, of: self)
    subscription.start()
    add(subscription)
    // The subscriber may have cancelled before the subscription was added.
    if subscription.lock.withLock({ subscription.isClosed }) { remove(subscription) }
  }

  private func add(_ waiter: any Waiter<Output, Failure>) {
    let result = state.withLock { state -> Result<Output, Failure>? in
      switch state {
      case .fulfilled(let result): return result
      case .waiting(let waiters):
        state = .waiting(waiters + [waiter])
        return nil
      }
    }
    if let result { waiter.fulfill(result) }
  }

  private func fulfill(_ result: Result<Output, Failure>) {
    let waiters = state.withLock { state -> [any Waiter<Output, Failure>] in
      guard case .waiting(let waiters) = state else { return [] }
      state = .fulfilled(result)
      return waiters
    }
    for waiter in waiters { waiter.fulfill(result) }
  }

  fileprivate func remove(_ waiter: any Waiter<Output, Failure>) {
    state.withLock { state in
      if case .waiting(let waiters) = state { state = .waiting(waiters.filter { $0 !== waiter }) }
    }
  }
}

private protocol Waiter<Output, Failure>: AnyObject {
  associatedtype Output
  associatedtype Failure: Error

  func fulfill(_ result: Result<Output, Failure>)
}

/// Waits for the result and for a request. A failure needs no request.
private final class FutureSubscription<Downstream: Subscriber>: OrderedSubscription<Downstream>, Waiter {
  private weak var future: Future<Downstream.Input, Downstream.Failure>?
  /// The value, until it is requested.
  private var value: Downstream.Input?

  init(to downstream: Downstream, of future: Future<Downstream.Input, Downstream.Failure>) {
    self.future = future
    super.init(to: downstream, name: "Future")
  }

  func fulfill(_ result: Result<Downstream.Input, Downstream.Failure>) {
    lock.withLock {
      switch result {
      case .success(let value): if !isClosed { deliver(value) }
      case .failure(let error): enqueue(.failure(error))
      }
    }
    deliver()
  }

  override func request(_ demand: Subscribers.Demand) {
    super.request(demand)
    lock.withLock { if let value { deliver(value) } }
    deliver()
  }

  /// Called while the lock is held.
  private func deliver(_ value: Downstream.Input) {
    let isRequested = enqueue(value)
    self.value = isRequested ? nil : value
    if isRequested { enqueue(.finished) }
  }

  override func cancel() {
    close()
    let value = lock.withLock { self.value.take() }
    withExtendedLifetime(value) {}  // Released outside the lock, because deinitializers may call other code.
    future?.remove(self)
  }
}

// MARK: - Async

private final class Awaiting<Output, Failure: Error, Thrown: Error>: Waiter {
  private let continuation: CheckedContinuation<Output, Thrown>
  private let convert: (Failure) -> Thrown

  init(_ continuation: CheckedContinuation<Output, Thrown>, _ convert: @escaping (Failure) -> Thrown) {
    (self.continuation, self.convert) = (continuation, convert)
  }

  func fulfill(_ result: Result<Output, Failure>) {
    // SAFETY: as in Combine, the user of the publisher decides whether its values may cross threads.
    nonisolated(unsafe) let result = result.mapError(convert)
    continuation.resume(with: result)
  }
}

extension Future where Failure == Never {
  /// The value, as soon as there is one.
  public var value: Output {
    get async { await withCheckedContinuation { add(Awaiting($0) { _ -> Never in }) } }
  }
}

extension Future {
  /// The value, as soon as there is one; throws the error of a failure.
  public var value: Output {
    get async throws { try await withCheckedThrowingContinuation { add(Awaiting($0) { $0 }) } }
  }
}
#endif
