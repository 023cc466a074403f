#if ServiceLifecycle
import MartletEngine
import MartletSemantics
import Synchronization

/// Lets calls begin until the shutdown, and knows which are in progress.
final class CallGate: Interceptor, EventListener {
  private enum Phase {
    case open
    /// No call begins.
    case draining
    /// Nothing is sent, and what is in progress is cancelled.
    case closed
  }

  private struct State {
    var phase = Phase.open
    var calls: Set<UInt64> = []
    var transfers: [UInt64: @Sendable () -> Void] = [:]
    var lastTransfer: UInt64 = 0
  }

  private let state = Mutex(State())
  private let isEmpty = AsyncStream.makeStream(of: Void.self)

  let stages: InterceptorStages = .prepare

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let isAdmitted = state.withLock { state in
      if state.phase == .open { state.calls.insert(call.id) }
      return state.calls.contains(call.id)
    }
    guard isAdmitted else { throw Self.error }
    return .send(request)
  }

  func receive(_ event: Event, in call: Call) {
    guard case .finished = event else { return }
    change { $0.calls.remove(call.id) }
  }

  /// From now on no call begins.
  func drain() { change { if $0.phase == .open { $0.phase = .draining } } }

  /// Returns when no call is in progress, or the task is cancelled. Only once the gate is draining.
  func waitUntilEmpty() async { for await _ in isEmpty.stream {} }

  /// From now on nothing is sent; what is in progress is cancelled.
  func close() {
    let transfers = state.withLock { state in
      defer { state.transfers = [:] }
      state.phase = .closed
      return state.transfers.values
    }
    for cancel in transfers { cancel() }
    isEmpty.continuation.finish()
  }

  var isClosed: Bool { state.withLock { $0.phase == .closed } }

  /// Registers a transfer with a function that cancels it. Returns its number.
  ///
  /// - Throws: an error if the gate is closed.
  func begin(_ cancel: @escaping @Sendable () -> Void) throws(HTTPError) -> UInt64 {
    let number = state.withLock { state -> UInt64? in
      guard state.phase != .closed else { return nil }
      state.lastTransfer += 1
      state.transfers[state.lastTransfer] = cancel
      return state.lastTransfer
    }
    guard let number else { throw Self.error }
    return number
  }

  func end(_ transfer: UInt64) { _ = state.withLock { $0.transfers.removeValue(forKey: transfer) } }

  static var error: HTTPError {
    HTTPError(
      .shutDown, "the session's service shuts down: begin calls before that, or give those in progress more time")
  }

  private func change(_ change: (inout State) -> Void) {
    let isDrained = state.withLock { state in
      change(&state)
      return state.phase != .open && state.calls.isEmpty
    }
    if isDrained { isEmpty.continuation.finish() }
  }
}
#endif
