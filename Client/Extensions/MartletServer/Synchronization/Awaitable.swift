import Synchronization

/// A value behind a lock; tasks can suspend until it meets a condition. Everything that a test can await in this module
/// (a request, a gate, a clock's sleepers) uses it, so that no test has to guess a time.
@_spi(Toolkit) public final class Awaitable<Value: Sendable>: Sendable {
  private let content: Mutex<Content>

  private struct Content: Sendable {
    var value: Value
    var waiters: [Waiter] = []
    var lastID = 0
  }

  private struct Waiter: Sendable {
    let id: Int
    let isDue: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  public init(_ value: Value) { content = Mutex(Content(value: value)) }

  public var value: Value { content.withLock { $0.value } }

  /// Changes the value, then resumes the waiters whose condition it now meets, in the order in which they arrived.
  @discardableResult
  public func update<Outcome: Sendable>(_ change: (inout Value) -> Outcome) -> Outcome {
    let (outcome, due) = content.withLock { content in
      let outcome = change(&content.value)
      let value = content.value
      let due = content.waiters.filter { $0.isDue(value) }
      if !due.isEmpty { content.waiters.removeAll { waiter in due.contains { $0.id == waiter.id } } }
      return (outcome, due)
    }
    for waiter in due { waiter.continuation.resume() }
    return outcome
  }

  /// Suspends until the closure returns a result for the value, and returns that. Cancellation ends the wait at once
  /// with a `CancellationError`.
  ///
  /// The closure runs under the lock: it reads the value and does nothing else.
  public func wait<Outcome: Sendable>(for outcome: @escaping @Sendable (Value) -> Outcome?) async throws -> Outcome {
    while true {
      if let result = outcome(value) { return result }
      try await suspend { outcome($0) != nil }
    }
  }

  /// Does the same as ``wait(for:)``, and reports the place and purpose of a wait that takes long.
  ///
  /// - Parameter description: the object of the test's wait, and its current state.
  public func wait<Outcome: Sendable>(
    at place: LongWait.Place, saying description: @escaping @Sendable (Value) -> String,
    _ longWait: LongWait = .standard,
    for outcome: @escaping @Sendable (Value) -> Outcome?
  ) async throws -> Outcome {
    if let result = outcome(value) { return result }
    return try await longWait.watch(place, for: { description(self.value) }) { try await wait(for: outcome) }
  }

  private func suspend(until isDue: @escaping @Sendable (Value) -> Bool) async throws {
    let id = content.withLock { content in
      content.lastID += 1
      return content.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early: Result<Void, any Error>? = content.withLock { content in
          if isDue(content.value) { return .success(()) }
          // An earlier cancellation found no waiter to resume; a later one finds this waiter.
          if Task.isCancelled { return .failure(CancellationError()) }
          content.waiters.append(Waiter(id: id, isDue: isDue, continuation: continuation))
          return nil
        }
        if let early { continuation.resume(with: early) }
      }
    } onCancel: {
      let waiter: Waiter? = content.withLock { content in
        guard let index = content.waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return content.waiters.remove(at: index)
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }
}
