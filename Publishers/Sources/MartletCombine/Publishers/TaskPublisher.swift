#if canImport(Darwin)
public import Combine
#endif

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
    CallbackPublisher<Output, Failure>("TaskPublisher", starting: .withTheFirstRequest) { [work] receiver in
      let task = Task {
        do throws(Failure) {
          receiver.send(try await work())
          receiver.finish(.finished)
        } catch {
          receiver.finish(.failure(error))
        }
      }
      return { task.cancel() }
    }.receive(subscriber: subscriber)
  }
}
