public import MartletCombine

/// Work that is described and not yet begun: each run does it anew, and cancelling a run cancels the work.
///
/// Tasks chain as publishers do, ``NetworkTask``s and work of an app's own alike:
///
/// ```swift
/// let page = account().flatMap { account in orders(of: account) }.zip(shop()).timeout(.seconds(20))
/// let (own, offered) = try await page.value()     // or .value { result in }, or .valueProvider()
/// ```
public protocol AsyncTask<Value>: Sendable {
  /// What the work gives.
  associatedtype Value: Sendable

  /// Does the work.
  ///
  /// - Throws: why there is no value.
  func value() async throws -> Value
}

/// A closure as a task.
public struct AsyncWork<Value: Sendable>: AsyncTask {
  private let work: @Sendable () async throws -> Value

  /// Makes a task of a closure, which runs once for each run of the task.
  public init(_ work: @escaping @Sendable () async throws -> Value) { self.work = work }

  public func value() async throws -> Value { try await work() }
}

extension AsyncTask {
  /// Runs the task and hands over its value or its failure.
  ///
  /// - Returns: what cancels it.
  @discardableResult
  public func value(_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) -> Task<Void, Never> {
    Task { completion(await result()) }
  }

  /// A publisher that runs the task for each subscriber, on its first demand, and delivers its value or fails.
  public func valueProvider() -> AnyPublisher<Value, any Error> {
    TaskPublisher { () async throws(any Error) -> Value in try await value() }.eraseToAnyPublisher()
  }

  private func result() async -> Result<Value, any Error> {
    do { return .success(try await value()) } catch { return .failure(error) }
  }
}

extension AsyncTask {
  /// A task of what the closure makes of the value. What it throws is the failure.
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> AsyncWork<Other> {
    AsyncWork { try transform(await value()) }
  }

  /// Runs another task after this one, with its value.
  public func flatMap<Next: AsyncTask>(
    _ next: @escaping @Sendable (Value) throws -> Next
  ) -> AsyncWork<Next.Value> { AsyncWork { try await next(await value()).value() } }

  /// Runs another task at the same time, for both values. Where one fails, the other is cancelled.
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

  /// Runs again where it fails, at most so many times more, at once. A cancelled task does not run again.
  public func retry(_ times: Int) -> AsyncWork<Value> {
    AsyncWork { try await again(times, where: { $0.isFailure }, result).get() }
  }

  /// Runs another task where this one fails.
  public func `catch`<Other: AsyncTask<Value>>(
    _ handler: @escaping @Sendable (any Error) -> Other
  ) -> AsyncWork<Value> {
    AsyncWork { do { return try await value() } catch { return try await handler(error).value() } }
  }

  /// Fails with an `HTTPError` of kind `.deadlineExceeded` when the task, with everything before it, takes longer.
  public func timeout(_ limit: Duration) -> AsyncWork<Value> {
    AsyncWork { try await within(limit, otherwise: { .failure($0) }, result).get() }
  }

  /// Begins so much later.
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
