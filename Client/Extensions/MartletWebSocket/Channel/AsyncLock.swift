public import MartletEngine
import Synchronization

/// A lock that one task has at a time. Others wait for it in order, without blocking a thread.
///
/// Continuations are unsafe ones, as in ``MartletEngine/SignalQueue``: each is taken out of the state under the lock.
@_spi(Toolkit) public final class AsyncLock: Sendable {
  private struct State: Sendable {
    var isTaken = false
    var waiters: [Waiter] = []
    var lastNumber = 0
    /// Why it is closed; nil while it is open.
    var closure: HTTPError?
  }

  private struct Waiter: Sendable {
    let number: Int
    let outlastsClosing: Bool
    let continuation: UnsafeContinuation<Void, any Error>
  }

  private let state = Mutex(State())

  public init() {}

  /// Acquires the lock if no task has it, even if it is closed. Returns whether it was acquired.
  func acquireIfFree() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  /// Acquires the lock; waits while another task has it.
  ///
  /// - Parameter outlastsClosing: whether a closed lock is acquired, too.
  public func acquire(outlastsClosing: Bool = false) async throws(HTTPError) {
    let number: Int? = try state.withLock { state throws(HTTPError) in
      if let closure = state.closure, !outlastsClosing { throw closure }
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      state.lastNumber += 1
      return state.lastNumber
    }
    if let number { try await wait(number, outlastsClosing: outlastsClosing) }
  }

  private func wait(_ number: Int, outlastsClosing: Bool) async throws(HTTPError) {
    do {
      try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          let ready: Result<Void, any Error>? = state.withLock { state in
            if Task.isCancelled { return .failure(CancellationError()) }
            if let closure = state.closure, !outlastsClosing { return .failure(closure) }
            guard state.isTaken else {
              state.isTaken = true
              return .success(())
            }
            state.waiters.append(
              Waiter(number: number, outlastsClosing: outlastsClosing, continuation: continuation))
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
  public func release() {
    let next = state.withLock { state -> UnsafeContinuation<Void, any Error>? in
      guard !state.waiters.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiters.removeFirst().continuation
    }
    next?.resume()
  }

  /// Closes the lock: all waits end with an error, and so do later ones, unless they outlast the closing. The first
  /// error counts.
  public func close(with error: HTTPError) {
    let ended = state.withLock { state in
      guard state.closure == nil else { return [Waiter]() }
      state.closure = error
      let ended = state.waiters.filter { !$0.outlastsClosing }
      state.waiters.removeAll { !$0.outlastsClosing }
      return ended
    }
    for waiter in ended { waiter.continuation.resume(throwing: error) }
  }
}
