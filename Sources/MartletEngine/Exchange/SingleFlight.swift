import Synchronization

/// One piece of work a key at a time, shared by all who ask for it meanwhile: a token, a validation, an image.
///
/// The work runs in a task of its own, so that nobody's cancellation takes it from the others: a cancelled caller leaves at
/// once, alone. What was shared is not kept: who asks after the end starts anew. The work inherits the task-local values of
/// the caller who started it, the marks of ``StepAside`` among them.
///
/// ```swift
/// let token = try await flight.value(for: url) { try await fetchToken(url) }
/// ```
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What becomes of work that nobody waits for any more.
  package enum Abandonment: Sendable {
    /// It goes on: its result is useful to those who come later.
    case goesOn
    /// It is cancelled; who comes later starts anew.
    case isCancelled
  }

  private struct Flight {
    let id: UInt64
    var waiters: [ObjectIdentifier: AnswerGate<Value>]
    var task: Task<Void, Never>?
  }

  private struct State {
    var flights: [Key: Flight] = [:]
    var lastID: UInt64 = 0
  }

  private let state = Mutex(State())
  private let abandonment: Abandonment

  package init(abandoned abandonment: Abandonment = .goesOn) { self.abandonment = abandonment }

  /// The value of the work that runs for the key, or of this work if none does.
  ///
  /// - Throws: what the work throws, to all who wait for it; a `CancellationError` to a caller that is cancelled.
  package func value(for key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try Task.checkCancellation()
    let gate = AnswerGate<Value>()
    if let id = board(gate, for: key) {
      let task = Task {
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        land(result, id, key)
      }
      keep(task, id, key)
    }
    defer { leave(gate, key) }
    return try await gate.wait()
  }

  /// How many wait for the work of a key; 0 where none runs.
  package func waiting(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiters.count ?? 0 } }

  /// Takes a seat. Returns the number of a new flight, nil where one was under way.
  private func board(_ gate: AnswerGate<Value>, for key: Key) -> UInt64? {
    state.withLock { state in
      if state.flights[key] != nil {
        state.flights[key]?.waiters[ObjectIdentifier(gate)] = gate
        return nil
      }
      state.lastID += 1
      state.flights[key] = Flight(id: state.lastID, waiters: [ObjectIdentifier(gate): gate])
      return state.lastID
    }
  }

  /// The task is known only now: until then its flight may have landed, or everybody may have left.
  private func keep(_ task: Task<Void, Never>, _ id: UInt64, _ key: Key) {
    state.withLock { state in
      if state.flights[key]?.id == id { state.flights[key]?.task = task }
    }
  }

  private func land(_ result: Result<Value, any Error>, _ id: UInt64, _ key: Key) {
    let waiters = state.withLock { state in
      state.flights[key]?.id == id ? state.flights.removeValue(forKey: key)?.waiters : nil
    }
    for waiter in (waiters ?? [:]).values { waiter.answer(result) }
  }

  private func leave(_ gate: AnswerGate<Value>, _ key: Key) {
    let abandoned = state.withLock { state -> Task<Void, Never>? in
      guard state.flights[key]?.waiters.removeValue(forKey: ObjectIdentifier(gate)) != nil else { return nil }
      guard abandonment == .isCancelled, state.flights[key]?.waiters.isEmpty == true else { return nil }
      return state.flights.removeValue(forKey: key)?.task
    }
    abandoned?.cancel()
  }
}
