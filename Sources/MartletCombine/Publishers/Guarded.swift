import Synchronization

/// State that is not `Sendable`, as the values and closures of publishers need not be, behind a lock.
// SAFETY: `state` is only touched while `mutex` is held. What leaves it crosses threads as Combine's values do: its user
// decides what may.
final class Guarded<State>: @unchecked Sendable {
  private let mutex = Mutex(())
  private var state: State

  init(_ state: State) { self.state = state }

  /// Does the work while nobody else does any. The work must not call out: to subscribers, or to this again.
  func withLock<Result>(_ work: (inout State) -> Result) -> Result {
    mutex.withLock { _ in Returned(value: work(&state)) }.value
  }

  /// Exchanges the state; the old one is released by the caller, and not under the lock.
  func replace(by state: State) -> State {
    withLock { current in
      defer { current = state }
      return current
    }
  }

  // SAFETY: the value leaves the lock in the thread that computed it.
  private struct Returned<Value>: @unchecked Sendable {
    let value: Value
  }
}

extension Guarded {
  /// Takes what is there; afterwards there is nothing.
  func take<Content>() -> Content? where State == Content? { replace(by: nil) }
}
