import MartletSemantics
import Synchronization

/// Lets calls begin until the shutdown, and tracks the calls in progress.
final class CallGate: Interceptor, EventListener {
  private enum Phase {
    case open
    /// No call begins, unless a call in progress needs it.
    case draining
    /// Nothing is sent, and everything in progress is cancelled.
    case closed
  }

  private struct State {
    var phase = Phase.open
    var calls: Set<UInt64> = []
    var ongoing: [UInt64: OngoingWork] = [:]
    var lastNumber: UInt64 = 0
  }

  /// Something in progress that does not end by itself before the gate is closed.
  private struct OngoingWork {
    let cancel: @Sendable () -> Void
    /// Asks a connection without an end of its own to end; nil for a request.
    var leave: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  /// Ends when the gate is draining and no call is in progress.
  private let emptied = AsyncStream.makeStream(of: Void.self)

  let stages: InterceptorStages = .prepare

  let events: Event.Kinds = [.started, .finished]

  // At a deadline a preparation is abandoned and may end after its call. So calls are admitted when they begin.
  func receive(_ event: Event, in call: Call) {
    switch event {
    case .started: admit(call)
    case .finished: change { $0.calls.remove(call.id) }
    default: break
    }
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard state.withLock({ $0.calls.contains(call.id) }) else { throw Self.error }
    return .send(request)
  }

  /// Admits a call while the gate is open. Until it is closed, it also admits calls that a call in progress needs, such
  /// as the request for its token.
  private func admit(_ call: Call) {
    let outer = call.parent.calls.map(\.id)
    change { state in
      let isAdmitted =
        switch state.phase {
        case .open: true
        case .draining: outer.contains { state.calls.contains($0) }
        case .closed: false
        }
      if isAdmitted { state.calls.insert(call.id) }
    }
  }

  /// Stops new calls, except calls that a call in progress needs, and asks upgraded connections to end.
  func drain() {
    change { if $0.phase == .open { $0.phase = .draining } }
    for work in state.withLock(\.ongoing).values { work.leave?() }
  }

  /// Returns when no call is in progress, or the task is cancelled. Call it only once the gate is draining.
  func waitUntilEmpty() async { for await _ in emptied.stream {} }

  /// Stops sending, and cancels everything in progress.
  func close() {
    let ongoing = state.withLock { state in
      defer { state.ongoing = [:] }
      state.phase = .closed
      return state.ongoing.values
    }
    for work in ongoing { work.cancel() }
    emptied.continuation.finish()
  }

  var isClosed: Bool { state.withLock { $0.phase == .closed } }

  /// Registers a work with a function that cancels it, until the returned object is deallocated or ends.
  ///
  /// - Throws: an error if the gate is closed.
  func register(_ cancel: @escaping @Sendable () -> Void) throws(HTTPError) -> Registration {
    let number = state.withLock { state -> UInt64? in
      guard state.phase != .closed else { return nil }
      state.lastNumber += 1
      state.ongoing[state.lastNumber] = OngoingWork(cancel: cancel)
      return state.lastNumber
    }
    guard let number else { throw Self.error }
    return Registration(gate: self, number: number)
  }

  private func setLeaving(_ work: UInt64, _ leave: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      state.ongoing[work]?.leave = leave
      return state.phase == .open
    }
    if !isOpen { leave() }
  }

  private func end(_ work: UInt64) { _ = state.withLock { $0.ongoing.removeValue(forKey: work) } }

  static var error: HTTPError {
    HTTPError(
      .shutDown, "the session is closed: begin calls before that, or give those in progress more time")
  }

  /// A work in progress.
  final class Registration: Sendable {
    private let gate: CallGate
    private let number: UInt64

    fileprivate init(gate: CallGate, number: UInt64) { (self.gate, self.number) = (gate, number) }

    /// Sets the function that asks the work to end when the session begins to close. If that has begun, it is
    /// called at once.
    func setLeaving(_ leave: @escaping @Sendable () -> Void) { gate.setLeaving(number, leave) }

    func end() { gate.end(number) }

    deinit { end() }
  }

  private func change(_ change: (inout State) -> Void) {
    let isDrained = state.withLock { state in
      change(&state)
      return state.phase != .open && state.calls.isEmpty
    }
    if isDrained { emptied.continuation.finish() }
  }
}
