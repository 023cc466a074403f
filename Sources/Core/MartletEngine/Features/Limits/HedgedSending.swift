import MartletSemantics
import Synchronization

/// Notes when a request has passed the other limits, which are above it.
struct HedgedSendingTransport: Transport, DeadlineAware {
  let base: any Transport
  var endsAtDeadline: Bool { Deadline.ends(base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    HedgedSending.current?.begin()
    return try await base.send(request, in: call)
  }
}

/// One of the times a request is sent. Its time begins when the other limits let it pass.
final class HedgedSending: Sendable {
  private struct State {
    var stopwatch: Stopwatch?
    var action: (@Sendable () -> Void)?
  }

  /// The one for which the code below ``HedgingTransport`` runs.
  @TaskLocal static var current: HedgedSending?

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
