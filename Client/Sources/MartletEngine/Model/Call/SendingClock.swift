import Synchronization

/// Measures the time since a request was sent. The time begins when the limits of the request's origin let it pass.
final class SendingClock: Sendable {
  private struct State {
    var stopwatch: Stopwatch?
    var action: (@Sendable () -> Void)?
  }

  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  init(_ clock: any Clock<Duration>) { self.clock = clock }

  /// The time since the request was sent; zero if it was not.
  var elapsed: Duration { state.withLock { $0.stopwatch }?.elapsed ?? .zero }

  /// Notes that the request is sent now; only the first time counts.
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
