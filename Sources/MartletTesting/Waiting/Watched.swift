import Synchronization

/// A value behind a lock, and tasks that sleep until it is as they want it. Everything in this module that a test can
/// await (a request, a gate, a clock's sleepers) is one of these, so that no test has to guess a time.
final class Watched<State: Sendable>: Sendable {
  private let content: Mutex<Content>

  private struct Content: Sendable {
    var state: State
    var waiters: [Waiter] = []
    var lastID = 0
  }

  private struct Waiter: Sendable {
    let id: Int
    let isDue: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  init(_ state: State) { content = Mutex(Content(state: state)) }

  var state: State { content.withLock { $0.state } }

  /// Changes the value, then wakes those who waited for what it is now, in the order in which they came.
  @discardableResult
  func update<Outcome: Sendable>(_ change: (inout State) -> Outcome) -> Outcome {
    let (outcome, due) = content.withLock { content in
      let outcome = change(&content.state)
      let state = content.state
      let due = content.waiters.filter { $0.isDue(state) }
      if !due.isEmpty { content.waiters.removeAll { waiter in due.contains { $0.id == waiter.id } } }
      return (outcome, due)
    }
    for waiter in due { waiter.continuation.resume() }
    return outcome
  }

  /// Suspends until the question has an answer. Cancellation ends the wait at once with a `CancellationError`.
  ///
  /// The question is asked under the lock: it looks at the value and does nothing else.
  func wait<Answer: Sendable>(for question: @escaping @Sendable (State) -> Answer?) async throws -> Answer {
    while true {
      if let answer = question(state) { return answer }
      try await suspend { question($0) != nil }
    }
  }

  private func suspend(until isDue: @escaping @Sendable (State) -> Bool) async throws {
    let id = content.withLock { content in
      content.lastID += 1
      return content.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early: Result<Void, any Error>? = content.withLock { content in
          if isDue(content.state) { return .success(()) }
          // A cancellation that came before has found nobody to wake; one that comes later finds the waiter.
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
