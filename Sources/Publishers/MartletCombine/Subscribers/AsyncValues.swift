#if !canImport(Combine)
import Synchronization

/// The values of a publisher, for `for try await`. One value is requested at a time.
public struct AsyncThrowingPublisher<P: Publisher>: AsyncSequence where P.Output: Sendable {
  /// A value.
  public typealias Element = P.Output

  fileprivate let publisher: P

  /// Makes an iterator, which subscribes to the publisher.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(publisher) }

  /// Requests one value after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let buffer: ValueBuffer<P.Output>
    private let lifetime: AnyCancellable

    fileprivate init(_ publisher: P) {
      let source = Locked<UpstreamSubscriber<P.Output, P.Failure>?>(nil)
      let buffer = ValueBuffer<P.Output> { request in
        let receiver = source.withLock { $0 }
        switch request {
        case .more: receiver?.request(.max(1))
        case .stop: receiver?.cancel()
        }
      }
      let receiver = UpstreamSubscriber<P.Output, P.Failure> { value in
        buffer.put(value)
        return .none
      } onCompletion: { completion in
        if case .failure(let error) = completion { buffer.end(.failure(error)) } else { buffer.end(.success(nil)) }
      }
      source.withLock { $0 = receiver }
      publisher.receive(subscriber: receiver)
      self.buffer = buffer
      lifetime = AnyCancellable {
        receiver.cancel()
        source.withLock { $0 = nil }
      }
    }

    public mutating func next() async throws -> P.Output? {
      defer { withExtendedLifetime(lifetime) {} }
      return try await buffer.take()
    }
  }
}

extension Publisher where Output: Sendable {
  /// The values as an asynchronous sequence: `for try await value in publisher.values`.
  public var values: AsyncThrowingPublisher<Self> { AsyncThrowingPublisher(publisher: self) }
}

/// The values of a publisher that cannot fail, for `for await`. One value is requested at a time.
public struct AsyncPublisher<P: Publisher>: AsyncSequence where P.Output: Sendable, P.Failure == Never {
  /// A value.
  public typealias Element = P.Output

  fileprivate let values: AsyncThrowingPublisher<P>

  /// Makes an iterator, which subscribes to the publisher.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: values.makeAsyncIterator()) }

  /// Requests one value after another.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncThrowingPublisher<P>.AsyncIterator

    public mutating func next() async -> P.Output? { try? await base.next() }
  }
}

extension Publisher where Output: Sendable, Failure == Never {
  /// The values as an asynchronous sequence: `for await value in publisher.values`.
  public var values: AsyncPublisher<Self> { AsyncPublisher(values: AsyncThrowingPublisher(publisher: self)) }
}

/// Holds values between a publisher and the task that awaits them.
private final class ValueBuffer<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var ending: Result<Value?, any Error>?
    var waiter: CheckedContinuation<Value?, any Error>?

    /// Returns the next value or the ending; nil if there is none yet.
    mutating func takeReady() -> Result<Value?, any Error>? {
      if !values.isEmpty { return .success(values.removeFirst()) }
      defer { if ending != nil { ending = .success(nil) } }  // A failure is thrown once.
      return ending
    }
  }

  private let state = Mutex(State())
  private let upstream: @Sendable (UpstreamRequest) -> Void

  enum UpstreamRequest {
    case more
    case stop
  }

  init(upstream: @escaping @Sendable (UpstreamRequest) -> Void) { self.upstream = upstream }

  func put(_ value: Value) { change { if $0.ending == nil { $0.values.append(value) } } }

  func end(_ ending: Result<Value?, any Error>) { change { $0.ending = $0.ending ?? ending } }

  private func change(_ change: (inout State) -> Void) {
    let answer = state.withLock { state -> (CheckedContinuation<Value?, any Error>, Result<Value?, any Error>)? in
      change(&state)
      guard let waiter = state.waiter, let ready = state.takeReady() else { return nil }
      state.waiter = nil
      return (waiter, ready)
    }
    if let (waiter, ready) = answer { waiter.resume(with: ready) }
  }

  func take() async throws -> Value? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ready = state.withLock { state -> Result<Value?, any Error>? in
          let ready = state.takeReady()
          if ready == nil { state.waiter = continuation }
          return ready
        }
        if let ready { continuation.resume(with: ready) } else { upstream(.more) }
      }
    } onCancel: {
      upstream(.stop)
      end(.success(nil))
    }
  }
}
#endif
