import Synchronization

/// One of the times a request is sent for a call that may send it twice. Its time begins when the limits of its origin
/// let it pass.
final class HedgedSending: Sendable {
  private struct State {
    var stopwatch: Stopwatch?
    var action: (@Sendable () -> Void)?
  }

  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  init(_ clock: any Clock<Duration>) { self.clock = clock }

  /// The time since it was sent; zero if it was not.
  var elapsed: Duration { state.withLock { $0.stopwatch }?.elapsed ?? .zero }

  func begin() {
    let action = state.withLock { state in
      if state.stopwatch == nil { state.stopwatch = Stopwatch(clock) }
      return state.action.take()
    }
    action?()
  }

  /// Calls the closure once, when the request is sent, or now if it was already sent.
  func whenSent(_ action: @escaping @Sendable () -> Void) {
    let isSent = state.withLock { state in
      if state.stopwatch == nil { state.action = action }
      return state.stopwatch != nil
    }
    if isSent { action() }
  }
}
