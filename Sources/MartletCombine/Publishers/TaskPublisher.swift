#if canImport(Combine)
public import Combine
#endif
import Synchronization

/// One value from asynchronous work, which begins when a subscriber first asks for it, anew for every subscriber, and is
/// cancelled with the subscription.
///
/// ```swift
/// TaskPublisher { try await session.data(for: request) }
///   .sink { completion in print(completion) } receiveValue: { data, response in print(response.status, data.count) }
/// ```
public struct TaskPublisher<Output: Sendable, Failure: Error>: Publisher {
  private let work: @Sendable () async throws(Failure) -> Output

  /// Makes a publisher of the work's result.
  public init(_ work: @escaping @Sendable () async throws(Failure) -> Output) { self.work = work }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    let task = LazyTask()
    let begin = { [work, weak outlet] in
      guard let outlet else { return }
      task.start {
        do throws(Failure) {
          outlet.send(try await work())
          outlet.finish(.finished)
        } catch {
          outlet.finish(.failure(error))
        }
      }
    }
    outlet.connect(onDemand: { _ in begin() }, onCancel: { task.cancel() })
    subscriber.receive(subscription: outlet)
  }
}

/// A task that starts at most once, and never after it was cancelled.
///
/// Only once it runs it keeps the outlet that it serves, which keeps this: otherwise a subscription that nobody uses would
/// keep itself.
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
