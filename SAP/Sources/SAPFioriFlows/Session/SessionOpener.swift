@_spi(Credentials) import SAPFoundation

/// Opens the session of one user once, and ends it when the user signs out.
///
/// ```swift
/// final class ApplicationSession: OnboardingSession {}
/// let opener = SessionOpener<ApplicationSession> { done in
///   let session = SAPURLSession()
///   session.register(BasicAuthenticationObserver(credentialDiscovery: loginScreen))
///   done(ApplicationSession(sapURLSession: session), nil)
/// }
/// opener.open { error in print(opener.onboardingSession?.sapURLSession.isValid ?? false) }
/// ```
///
/// It is for apps without steps: it has ``onboardingSession`` and ``open(completionHandler:)`` of
/// ``OnboardingSessionManager``, and neither flows nor passcodes. Any thread may use it.
public final class SessionOpener<T: OnboardingSession>: Sendable {
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
    var opening: SessionOpening?
  }

  private let opener: Opener
  private let state = Locked(State())

  /// Makes an opener, without opening anything.
  public init(opener: @escaping Opener) { self.opener = opener }

  /// The session; nil until it is open.
  public var onboardingSession: T? { state.withLock { $0.session } }

  /// Opens the session, once for all calls in the meantime; does nothing if it is already open. The handler gets nil,
  /// or the error of the opener, after which the next call tries again. If the user signs out in the meantime, the
  /// error is ``SessionOpenerError/ended``.
  public func open(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    let (isOpen, new) = state.withLock { state -> (Bool, SessionOpening?) in
      guard state.session == nil else { return (true, nil) }
      let new = state.waiting == nil ? SessionOpening() : nil
      state.opening = new ?? state.opening
      state.waiting = (state.waiting ?? []) + [completionHandler]
      return (false, new)
    }
    if isOpen { completionHandler(nil) }
    guard let new else { return }
    new.perform { opener { [self] session, error in finish(session, error, new) } }
  }

  /// Ends the session: removes all data of the user (``SAPFoundation/SAPURLSession/clearCredentials()``), and cancels
  /// its tasks. The same applies to the sessions of an opener that is still running.
  public func reset() {
    let (session, opening, waiting) = state.withLock { state in
      (UncheckedSendable(value: state.session.take()), state.opening.take(), state.waiting.take())
    }
    session.value?.sapURLSession.clearCredentials()
    session.value?.sapURLSession.invalidateAndCancel()
    opening?.end()
    for handler in waiting ?? [] { handler(SessionOpenerError.ended) }
  }

  private func finish(_ session: T?, _ error: (any Error)?, _ opening: SessionOpening) {
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
    let failure = error ?? (session == nil ? SessionOpenerError.noSession : nil)
    for handler in waiting { handler(failure) }
  }
}

/// The error of a ``SessionOpener``.
public enum SessionOpenerError: Error, Sendable, Hashable {
  /// The opener returned neither a session nor an error.
  case noSession
  /// The user signed out while the session was being opened.
  case ended
}
