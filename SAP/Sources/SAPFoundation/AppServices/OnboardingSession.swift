/// The session of a user who has signed in. An app may add properties in a subclass.
///
/// In SAP's framework an `OnboardingFlow`, which shows screens, makes the session. There is none here: a subclass calls
/// ``init(sapURLSession:settingsParameters:)`` instead.
open class OnboardingSession {
  /// The session, with the observers that sign the user in.
  public let sapURLSession: SAPURLSession
  /// The app's Mobile Services; nil if it has none.
  open var settingsParameters: SAPcpmsSettingsParameters?

  /// Makes a session of a user.
  public init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters? = nil) {
    self.sapURLSession = sapURLSession
    self.settingsParameters = settingsParameters
  }
}

/// Opens the session of one user once, and ends it when the user signs out.
///
/// ```swift
/// final class ApplicationSession: OnboardingSession {}
/// let manager = OnboardingSessionManager<ApplicationSession> { done in
///   let session = SAPURLSession()
///   session.register(BasicAuthenticationObserver(credentialDiscovery: loginScreen))
///   done(ApplicationSession(sapURLSession: session), nil)
/// }
/// manager.open { error in print(manager.onboardingSession?.sapURLSession.isValid ?? false) }
/// ```
///
/// It has the members that articles about SAP's framework use: ``onboardingSession``, ``open(completionHandler:)`` and
/// `shared`, which an app declares itself in an extension. SAP's screens and steps, locking and passcodes are not
/// supported, so the initializer is not SAP's. Any thread may use the manager.
public final class OnboardingSessionManager<T: OnboardingSession>: Sendable {
  /// Opens a session, and signs the user in if necessary. Call the handler once, on any thread.
  ///
  /// Sessions that are made within the opener, or in a `Task` that begins there, belong to the user who is signing in:
  /// if the user signs out before the handler is called, they are ended, and so is a session that is made afterwards.
  public typealias Opener = @Sendable (_ done: @escaping @Sendable (T?, (any Error)?) -> Void) -> Void

  private struct State {
    var session: T?
    /// The handlers that wait for a session to open; nil if none is being opened.
    var waiting: [@Sendable ((any Error)?) -> Void]?
    /// The opening for which they wait. One that is no longer here was ended by a sign-out.
    var opening: Opening?
  }

  private let opener: Opener
  private let state = Locked(State())

  /// Makes a manager, without opening anything.
  public init(opener: @escaping Opener) { self.opener = opener }

  /// The session; nil until it is open.
  public var onboardingSession: T? { state.withLock { $0.session } }

  /// Opens the session, once for all calls in the meantime; does nothing if it is already open. The handler gets nil,
  /// or the error of the opener, after which the next call tries again. If the user signs out in the meantime, the
  /// error is ``OnboardingError/ended``.
  public func open(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    let (isOpen, new) = state.withLock { state -> (Bool, Opening?) in
      guard state.session == nil else { return (true, nil) }
      let new = state.waiting == nil ? Opening() : nil
      state.opening = new ?? state.opening
      state.waiting = (state.waiting ?? []) + [completionHandler]
      return (false, new)
    }
    if isOpen { completionHandler(nil) }
    guard let new else { return }
    Opening.$current.withValue(new) { opener { [self] session, error in finish(session, error, new) } }
  }

  /// Ends the session: removes all data of the user (``SAPURLSession/clearCredentials()``), and cancels its tasks. The
  /// same applies to the sessions of an opener that is still running.
  public func reset() {
    let (session, opening, waiting) = state.withLock { state in
      (UncheckedSendable(value: state.session.take()), state.opening.take(), state.waiting.take())
    }
    session.value?.sapURLSession.end()
    opening?.end()
    for handler in waiting ?? [] { handler(OnboardingError.ended) }
  }

  private func finish(_ session: T?, _ error: (any Error)?, _ opening: Opening) {
    let handed = UncheckedSendable(value: session)
    let (waiting, hasNext) = state.withLock { state -> ([@Sendable ((any Error)?) -> Void]?, Bool) in
      guard state.opening === opening else { return (nil, state.opening != nil || state.session != nil) }
      if error == nil { state.session = handed.value }
      state.opening = nil
      return (state.waiting.take() ?? [], false)
    }
    opening.complete()
    guard let waiting else {
      // If the next user is signing in or has signed in, the session's stores may already be that user's.
      if !hasNext { session?.sapURLSession.clearCredentials() }
      session?.sapURLSession.invalidateAndCancel()
      return
    }
    let failure = error ?? (session == nil ? OnboardingError.noSession : nil)
    for handler in waiting { handler(failure) }
  }
}

/// The sessions that an opener makes. They belong to the user who is signing in.
final class Opening: Sendable {
  private enum State {
    case running([Weak])
    /// The opener has called its handler: later sessions are not part of the opening.
    case complete
    /// The user has signed out before.
    case ended
  }

  private struct Weak {
    weak var session: SAPURLSession?
  }

  /// The opening of which the current code is a part; nil for all other code.
  @TaskLocal static var current: Opening?

  private let state = Locked(State.running([]))

  /// Adds a new session, or ends it if the user has signed out.
  func add(_ session: SAPURLSession) {
    let isEnded = state.withLock { state in
      if case .running(let sessions) = state { state = .running(sessions + [Weak(session: session)]) }
      if case .ended = state { return true }
      return false
    }
    if isEnded { session.invalidateAndCancel() }
  }

  /// Notes that the opener has called its handler.
  func complete() {
    state.withLock { state in if case .running = state { state = .complete } }
  }

  /// Ends the sessions, because the user signs out.
  func end() {
    guard case .running(let sessions) = state.replace(by: .ended) else { return }
    for weak in sessions { weak.session?.end() }
  }
}

extension SAPURLSession {
  /// Ends the session of a user who signs out.
  fileprivate func end() {
    clearCredentials()
    invalidateAndCancel()
  }
}

/// The error of opening a session.
public enum OnboardingError: Error, Sendable, Hashable {
  /// The opener returned neither a session nor an error.
  case noSession
  /// The user signed out while the session was being opened.
  case ended
}
