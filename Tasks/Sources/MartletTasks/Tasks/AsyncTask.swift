@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Martlet
public import MartletCombine

/// Asynchronous work that starts again each time the task is run; cancelling a run cancels the work.
///
/// Tasks are combined with operators, like publishers:
///
/// ```swift
/// let page = account().flatMap { account in orders(of: account) }.zip(shop()).timeout(.seconds(20))
/// let (own, offered) = try await page.value()     // or .value { result in }, or .valueProvider()
/// ```
public protocol AsyncTask<Value>: Sendable {
  /// The result of the work.
  associatedtype Value: Sendable

  /// Runs the task.
  ///
  /// - Throws: the failure if there is no value.
  func value() async throws -> Value
}

/// A task made from a closure.
public struct AsyncWork<Value: Sendable>: AsyncTask {
  private let work: @Sendable () async throws -> Value

  /// Makes a task from a closure, which is called once for each run.
  public init(_ work: @escaping @Sendable () async throws -> Value) { self.work = work }

  @concurrent public func value() async throws -> Value { try await work() }
}

extension AsyncTask {
  /// Runs the task and calls the closure with its value or failure.
  ///
  /// - Returns: a handle that cancels the task.
  @discardableResult
  public func value(_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) -> Task<Void, Never> {
    Task { completion(await result()) }
  }

  /// Returns a publisher that runs the task for each subscriber, on its first demand, and delivers its value or fails.
  public func valueProvider() -> AnyPublisher<Value, any Error> {
    TaskPublisher { () async throws(any Error) -> Value in try await value() }.eraseToAnyPublisher()
  }

  private func result() async -> Result<Value, any Error> {
    do { return .success(try await value()) } catch { return .failure(error) }
  }
}

extension AsyncTask {
  /// Returns a task with a transformed value. An error of the closure becomes the failure.
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> AsyncWork<Other> {
    AsyncWork { try transform(await value()) }
  }

  /// Returns a task that runs another one after this one, with its value.
  public func flatMap<Next: AsyncTask>(
    _ next: @escaping @Sendable (Value) throws -> Next
  ) -> AsyncWork<Next.Value> { AsyncWork { try await next(await value()).value() } }

  /// Returns a task that runs both tasks at the same time, for both values. If one fails, the other is cancelled.
  public func zip<Other: AsyncTask>(_ other: Other) -> AsyncWork<(Value, Other.Value)> {
    AsyncWork {
      try await withThrowingTaskGroup(of: (Value?, Other.Value?).self) { group in
        group.addTask { (try await value(), nil) }
        group.addTask { (nil, try await other.value()) }
        var both: (Value?, Other.Value?) = (nil, nil)
        for try await half in group { both = (half.0 ?? both.0, half.1 ?? both.1) }
        guard let first = both.0, let second = both.1 else { throw CancellationError() }
        return (first, second)
      }
    }
  }

  /// Returns a task that runs again, without delay, if it fails, up to a number of additional times. A cancelled task
  /// does not run again.
  public func retry(_ times: Int) -> AsyncWork<Value> {
    AsyncWork { try await repeating(times, where: { $0.isFailure }, result).get() }
  }

  /// Returns a task that runs another one if this one fails.
  public func `catch`<Other: AsyncTask<Value>>(
    _ handler: @escaping @Sendable (any Error) -> Other
  ) -> AsyncWork<Value> {
    AsyncWork { do { return try await value() } catch { return try await handler(error).value() } }
  }

  /// Returns a task that fails with an `HTTPError` of kind `.deadlineExceeded` if it takes too long, including the
  /// operators added before. The work is then cancelled, without waiting for its end.
  public func timeout(_ limit: Duration) -> AsyncWork<Value> {
    AsyncWork { try await within(limit, otherwise: { .failure($0) }, result).get() }
  }

  /// Returns a task that starts after a delay.
  public func delay(_ time: Duration) -> AsyncWork<Value> {
    AsyncWork {
      try await Task.sleep(for: time.bounded)
      return try await value()
    }
  }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

/// Repeats work while it fails, up to a number of additional times, unless it is cancelled.
func repeating<Outcome>(
  _ times: Int, where hasFailed: (Outcome) -> Bool, _ work: () async -> Outcome
) async -> Outcome {
  var rest = times
  while true {
    let outcome = await work()
    guard hasFailed(outcome), rest > 0, !Task.isCancelled else { return outcome }
    rest -= 1
  }
}

/// Runs work with a time limit. When the time is up it returns, and cancels the work without waiting for it.
func within<Outcome: Sendable>(
  _ limit: Duration, otherwise failed: @escaping @Sendable (HTTPError) -> Outcome,
  _ work: @escaping @Sendable () async -> Outcome
) async -> Outcome {
  do {
    return try await Deadline(limit, for: "the task", on: ContinuousClock()).limiting(work)
  } catch {
    return failed(error as? HTTPError ?? HTTPError(.cancelled, "the task was cancelled"))
  }
}
