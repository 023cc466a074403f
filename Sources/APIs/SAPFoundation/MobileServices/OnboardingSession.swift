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
  public typealias Opener = @Sendable (_ done: @escaping @Sendable (T?, (any Error)?) -> Void) -> Void

  private struct State {
    var session: T?
    /// The handlers that wait for a session to open; nil if none is being opened.
    var waiting: [@Sendable ((any Error)?) -> Void]?
    /// The number of sign-outs. A session that was opened before the last one is discarded.
    var signOuts = 0
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
    let (isOpen, begins, signOuts) = state.withLock { state in
      guard state.session == nil else { return (true, false, state.signOuts) }
      defer { state.waiting = (state.waiting ?? []) + [completionHandler] }
      return (false, state.waiting == nil, state.signOuts)
    }
    if isOpen { completionHandler(nil) }
    guard begins else { return }
    opener { [self] session, error in finish(session, error, signOuts) }
  }

  /// Ends the session: removes all data of the user (``SAPURLSession/clearCredentials()``), and cancels its tasks.
  public func reset() {
    let (session, waiting) = state.withLock { state in
      state.signOuts += 1
      return (Handed(value: state.session.take()), state.waiting.take())
    }
    end(session.value)
    for handler in waiting ?? [] { handler(OnboardingError.ended) }
  }

  private func finish(_ session: T?, _ error: (any Error)?, _ signOuts: Int) {
    let handed = Handed(value: session)
    let waiting = state.withLock { state -> [@Sendable ((any Error)?) -> Void]? in
      guard state.signOuts == signOuts else { return nil }
      if error == nil { state.session = handed.value }
      return state.waiting.take() ?? []
    }
    guard let waiting else { return end(session) }
    let failure = error ?? (session == nil ? OnboardingError.noSession : nil)
    for handler in waiting { handler(failure) }
  }

  private func end(_ session: T?) {
    session?.sapURLSession.clearCredentials()
    session?.sapURLSession.invalidateAndCancel()
  }
}

/// The error of opening a session.
public enum OnboardingError: Error, Sendable, Hashable {
  /// The opener returned neither a session nor an error.
  case noSession
  /// The user signed out while the session was being opened.
  case ended
}
