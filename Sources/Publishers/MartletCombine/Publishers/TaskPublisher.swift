#if canImport(Combine)
public import Combine
#endif
import Synchronization

/// Delivers the result of asynchronous work. The work begins when a subscriber first requests a value. It runs once for
/// every subscriber, and is cancelled with the subscription.
///
/// ```swift
/// TaskPublisher { try await session.data(for: request) }
///   .sink { completion in print(completion) } receiveValue: { data, response in print(response.status, data.count) }
/// ```
public struct TaskPublisher<Output: Sendable, Failure: Error>: Publisher {
  private let work: @Sendable () async throws(Failure) -> Output

  /// Makes a publisher of the result of the work.
  public init(_ work: @escaping @Sendable () async throws(Failure) -> Output) { self.work = work }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    let task = LazyTask()
    let begin = { [work, weak downstream] in
      guard let downstream else { return }
      task.start {
        do throws(Failure) {
          downstream.send(try await work())
          downstream.finish(.finished)
        } catch {
          downstream.finish(.failure(error))
        }
      }
    }
    downstream.connect(onDemand: { _ in begin() }, onCancel: { task.cancel() })
    subscriber.receive(subscription: downstream)
  }
}

/// A task that starts at most once, and never after it was cancelled.
///
/// It refers to the subscription only while it runs: otherwise an unused subscription would keep itself alive.
final class LazyTask: Sendable {
  private enum State {
    case ready
    case running(Task<Void, Never>)
    case cancelled
  }

  private let state = Mutex(State.ready)

  func start(_ work: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      if case .ready = state { state = .running(Task { await work() }) }
    }
  }

  func cancel() {
    state.withLock { state in
      if case .running(let task) = state { task.cancel() }
      state = .cancelled
    }
  }
}

/// Delivers the values of an asynchronous stream. The stream is created when a subscriber first requests a value, once
/// for every subscriber, and released with the subscription. The next value replaces one that was not requested yet.
/// Use this for states, if only the latest matters.
///
/// ```swift
/// LatestPublisher { counter.activity }.receive(on: DispatchQueue.main).sink { spinner.isHidden = !$0 }
/// ```
public struct LatestPublisher<Output: Sendable>: Publisher {
  /// The publisher never fails.
  public typealias Failure = Never

  private let makeValues: @Sendable () -> AsyncStream<Output>

  /// Makes a publisher of the values of a stream.
  public init(_ makeValues: @escaping @Sendable () -> AsyncStream<Output>) { self.makeValues = makeValues }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
    let downstream = DownstreamSubscription<Output, Never>(to: subscriber)
    let task = LazyTask()
    let begin = { [makeValues, weak downstream] in
      guard let downstream else { return }
      task.start {
        for await value in makeValues() { downstream.sendLatest(value) }
        downstream.finish(.finished)
      }
    }
    downstream.connect(onDemand: { _ in begin() }, onCancel: { task.cancel() })
    subscriber.receive(subscription: downstream)
  }
}
