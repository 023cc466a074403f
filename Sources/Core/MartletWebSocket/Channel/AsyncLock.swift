package import MartletEngine
import Synchronization

/// A lock that one task has at a time. Others wait for it in order, without blocking a thread.
///
/// Continuations are unsafe ones, as in ``MartletEngine/SignalQueue``: each is taken out of the state under the lock.
package final class AsyncLock: Sendable {
  private struct State: Sendable {
    var isTaken = false
    var waiters: [(number: Int, continuation: UnsafeContinuation<Void, any Error>)] = []
    var lastNumber = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// Acquires the lock if no task has it. Returns whether it was acquired.
  func acquireIfFree() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  /// Acquires the lock; waits while another task has it.
  package func acquire() async throws(HTTPError) {
    let number: Int? = state.withLock { state in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      state.lastNumber += 1
      return state.lastNumber
    }
    if let number { try await wait(number) }
  }

  private func wait(_ number: Int) async throws(HTTPError) {
    do {
      try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          let ready: Result<Void, any Error>? = state.withLock { state in
            if Task.isCancelled { return .failure(CancellationError()) }
            guard state.isTaken else {
              state.isTaken = true
              return .success(())
            }
            state.waiters.append((number, continuation))
            return nil
          }
          if let ready { continuation.resume(with: ready) }
        }
      } onCancel: {
        let waiter = state.withLock { state in
          state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(throwing: CancellationError())
      }
    } catch { throw HTTPError(wrapping: error) }
  }

  /// Releases the lock for the next task that waits.
  package func release() {
    let next = state.withLock { state -> UnsafeContinuation<Void, any Error>? in
      guard !state.waiters.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiters.removeFirst().continuation
    }
    next?.resume()
  }

  /// Ends all waits with an error.
  package func fail(_ error: HTTPError) {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(throwing: error) }
  }
}
