import Synchronization

/// A result that arrives once and that one task waits for. It turns a callback, or the first of several, into an
/// `await`.
@_spi(Toolkit) public final class OneShot<Value: Sendable>: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Value, any Error>)
    case answered(Result<Value, any Error>)
    case done
  }

  private let state = Mutex(State.idle)

  public init() {}

  /// Whether the result has arrived.
  public var isAnswered: Bool {
    state.withLock { state in
      switch state {
      case .idle, .waiting: false
      case .answered, .done: true
      }
    }
  }

  /// Sets the result and resumes the waiting task. Returns whether this is the first result; later ones are ignored.
  @discardableResult
  public func answer(_ result: Result<Value, any Error>) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
      switch state {
      case .idle:
        state = .answered(result)
        return (true, nil)
      case .waiting(let continuation):
        state = .done
        return (true, continuation)
      case .answered, .done:
        return (false, nil)
      }
    }
    waiter?.resume(with: result)
    return isFirst
  }

  /// Waits for the result. Cancelling the task throws a `CancellationError` at once.
  public func wait() async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ready = state.withLock { state -> Result<Value, any Error>? in
          guard case .answered(let result) = state else {
            state = .waiting(continuation)
            return nil
          }
          state = .done
          return result
        }
        if let ready { continuation.resume(with: ready) }
      }
    } onCancel: {
      answer(.failure(CancellationError()))
    }
  }
}
