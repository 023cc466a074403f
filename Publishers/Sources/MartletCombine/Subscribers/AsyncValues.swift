#if !canImport(Darwin)
/// The values of a publisher that may fail, for `for try await`. Each call of `next()` requests one value, and there is
/// no buffer: values that a subject sends between two calls are lost. To keep them, put
/// `buffer(size:prefetch:whenFull:)` before `values`.
public struct AsyncThrowingPublisher<P: Publisher>: AsyncSequence {
  /// A value.
  public typealias Element = P.Output

  private let publisher: P

  /// Makes a sequence of the values of a publisher.
  public init(_ publisher: P) { self.publisher = publisher }

  /// Makes an iterator, which subscribes to the publisher.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(receiver: ValueReceiver(publisher)) }

  /// Requests one value after another. Its release cancels the subscription.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let receiver: ValueReceiver<P.Output, P.Failure>

    /// Returns the next value; nil at the end, or if the task was cancelled, which ends it.
    ///
    /// - Throws: the publisher's failure, once.
    public mutating func next() async throws -> P.Output? { try await receiver.next()?.get() }
  }
}

/// The values of a publisher that cannot fail, for `for await`. Each call of `next()` requests one value, and there is
/// no buffer: values that a subject sends between two calls are lost. To keep them, put
/// `buffer(size:prefetch:whenFull:)` before `values`.
public struct AsyncPublisher<P: Publisher>: AsyncSequence where P.Failure == Never {
  /// A value.
  public typealias Element = P.Output

  private let publisher: P

  /// Makes a sequence of the values of a publisher.
  public init(_ publisher: P) { self.publisher = publisher }

  /// Makes an iterator, which subscribes to the publisher.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(receiver: ValueReceiver(publisher)) }

  /// Requests one value after another. Its release cancels the subscription.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let receiver: ValueReceiver<P.Output, Never>

    /// Returns the next value; nil at the end, or if the task was cancelled, which ends it.
    public mutating func next() async -> P.Output? { await receiver.next()?.get() }
  }
}

extension Publisher {
  /// The values as an asynchronous sequence: `for try await value in publisher.values`.
  public var values: AsyncThrowingPublisher<Self> { AsyncThrowingPublisher(self) }
}

extension Publisher where Failure == Never {
  /// The values as an asynchronous sequence: `for await value in publisher.values`.
  public var values: AsyncPublisher<Self> { AsyncPublisher(self) }
}

/// What an iterator holds: its release cancels the subscription.
private final class ValueReceiver<Value, Failure: Error>: Sendable {
  private let inbox: ValueInbox<Value, Failure>

  init<P: Publisher>(_ publisher: P) where P.Output == Value, P.Failure == Failure {
    inbox = ValueInbox()
    publisher.subscribe(inbox)
  }

  deinit { inbox.cancel() }

  func next() async -> Result<Value, Failure>? {
    let call = ValueInbox<Value, Failure>.Call()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { inbox.begin(call, $0) }
      return inbox.result(of: call)
    } onCancel: {
      inbox.cancel()
    }
  }
}

/// Hands values over from a publisher to the calls that wait for them. A call requests one value.
private final class ValueInbox<Value, Failure: Error>: Subscriber, Cancellable, Sendable {
  /// A call of `next()`, which waits until it is resumed, and then finds its result here.
  final class Call: Sendable {
    fileprivate let result = Locked<Result<Value, Failure>?>(nil)
    fileprivate let waiter = Locked<CheckedContinuation<Void, Never>?>(nil)

    fileprivate func resume(with result: Result<Value, Failure>?) {
      _ = self.result.replace(by: result)
      waiter.take()?.resume()
    }
  }

  private struct State {
    var subscription: (any Subscription)?
    var calls = FIFO<Call>()
    /// The failure, until a call has thrown it.
    var failure: Failure?
    var isOver = false

    mutating func end() -> ((any Subscription)?, FIFO<Call>) {
      isOver = true
      defer { (subscription, calls) = (nil, FIFO()) }
      return (subscription, calls)
    }
  }

  private let state = Locked(State())

  func begin(_ call: Call, _ waiter: CheckedContinuation<Void, Never>) {
    _ = call.waiter.replace(by: waiter)
    let (subscription, isOver, failure) = state.withLock { state -> ((any Subscription)?, Bool, Failure?) in
      if state.isOver { return (nil, true, state.failure.take()) }
      state.calls.append(call)
      return (state.subscription, false, nil)
    }
    if isOver { return call.resume(with: failure.map { .failure($0) }) }
    subscription?.request(.max(1))
  }

  func result(of call: Call) -> Result<Value, Failure>? { call.result.take() }

  func receive(subscription: any Subscription) {
    let waiting = state.withLock { state -> Int? in
      guard !state.isOver, state.subscription == nil else { return nil }
      state.subscription = subscription
      return state.calls.count
    }
    guard let waiting else { return subscription.cancel() }
    if waiting > 0 { subscription.request(.max(waiting)) }
  }

  func receive(_ value: Value) -> Subscribers.Demand {
    state.withLock { $0.subscription == nil ? nil : $0.calls.popFirst() }?.resume(with: .success(value))
    return .none
  }

  func receive(completion: Subscribers.Completion<Failure>) {
    // The subscription is returned, too, so that it is released outside the lock.
    var (_, first, calls) = state.withLock { state -> ((any Subscription)?, Call?, FIFO<Call>) in
      guard !state.isOver else { return (nil, nil, FIFO()) }
      var (subscription, calls) = state.end()
      guard case .failure(let error) = completion else { return (subscription, nil, calls) }
      let first = calls.popFirst()
      if first == nil { state.failure = error }
      return (subscription, first, calls)
    }
    if case .failure(let error) = completion { first?.resume(with: .failure(error)) }
    while let call = calls.popFirst() { call.resume(with: nil) }
  }

  func cancel() {
    var (subscription, calls) = state.withLock { $0.end() }
    subscription?.cancel()
    while let call = calls.popFirst() { call.resume(with: nil) }
  }
}
#endif
