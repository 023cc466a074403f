import MartletSemantics
import Synchronization

/// Below the other limits: notes when a request has passed them.
struct HedgedSendingTransport: Transport, DeadlineAware {
  let base: any Transport
  var endsAtDeadline: Bool { Deadline.ends(base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    HedgedSending.current?.begin()
    return try await base.send(request, in: call)
  }
}

/// One sending of a request, whose time begins when the other limits let it pass.
final class HedgedSending: Sendable {
  private struct State {
    var stopwatch: Stopwatch?
    var action: (@Sendable () -> Void)?
  }

  /// The one for which code below ``HedgingTransport`` runs.
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

  /// Calls the closure once, when it is sent, or now if it was.
  func whenSent(_ action: @escaping @Sendable () -> Void) {
    let isSent = state.withLock { state in
      if state.stopwatch == nil { state.action = action }
      return state.stopwatch != nil
    }
    if isSent { action() }
  }
}
