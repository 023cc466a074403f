/// The sessions that are made while a user signs in. They belong to that user, and end if the sign-in is given up.
///
/// Code that opens a session for a user runs in ``perform(_:)``: a session that it makes, or that a `Task` makes that
/// begins there, is part of the opening until ``complete()``.
@_spi(Credentials) public final class SessionOpening: Sendable {
  private enum State {
    case running([Weak])
    /// The opening has succeeded: later sessions are not part of it.
    case complete
    /// The user has signed out before.
    case ended
  }

  private struct Weak {
    weak var session: SAPURLSession?
  }

  /// The opening of which the current code is a part; nil for all other code.
  @TaskLocal public static var current: SessionOpening?

  private let state = Locked(State.running([]))

  /// Begins an opening.
  public init() {}

  /// Runs code whose new sessions are part of the opening.
  public func perform<Result>(_ work: () throws -> Result) rethrows -> Result {
    try Self.$current.withValue(self, operation: work)
  }

  /// Adds a new session, or ends it if the user has signed out.
  func add(_ session: SAPURLSession) {
    let isEnded = state.withLock { state in
      if case .running(let sessions) = state { state = .running(sessions + [Weak(session: session)]) }
      if case .ended = state { return true }
      return false
    }
    if isEnded { session.invalidateAndCancel() }
  }

  /// Notes that the opening has succeeded.
  public func complete() {
    state.withLock { state in if case .running = state { state = .complete } }
  }

  /// Ends the sessions, because the user signs out: removes the user's data, and cancels the tasks.
  public func end() {
    guard case .running(let sessions) = state.replace(by: .ended) else { return }
    for weak in sessions {
      weak.session?.clearCredentials()
      weak.session?.invalidateAndCancel()
    }
  }
}
