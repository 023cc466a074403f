import Synchronization

/// Protects state that is not `Sendable` with a lock, as the values and closures of publishers need not be.
// SAFETY: `state` is only accessed while `mutex` is locked. Whether the values may cross threads is up to the user of
// the publisher, as in Combine.
final class Locked<State>: @unchecked Sendable {
  private let mutex = Mutex(())
  private var state: State

  init(_ state: State) { self.state = state }

  /// Runs the work with exclusive access. It must not call subscribers, or this lock again.
  func withLock<Result>(_ work: (inout State) -> Result) -> Result {
    mutex.withLock { _ in Returned(value: work(&state)) }.value
  }

  /// Replaces the state, and returns the old one, so that it is released outside the lock.
  func replace(by state: State) -> State {
    withLock { current in
      defer { current = state }
      return current
    }
  }

  // SAFETY: the value is returned on the thread that computed it.
  private struct Returned<Value>: @unchecked Sendable {
    let value: Value
  }
}

extension Locked {
  /// Returns the content, and sets it to nil.
  func take<Content>() -> Content? where State == Content? { replace(by: nil) }
}
