@_spi(Credentials) import MartletEngine
import MartletSemantics

extension SAPURLSession {
  /// Removes all data of a user that the session keeps: cookies, cached responses, CSRF tokens, access tokens,
  /// passwords, and the choice of client certificates. Call it when the user signs out, after `POST
  /// …/mobileservices/sessions/logout`.
  ///
  /// It also empties the stores of observers, including unregistered ones. Values from an earlier run of the program
  /// are removed there, too.
  ///
  /// It needs no network. Work that began before the sign-out leaves no data if it completes later. Logins, tokens and
  /// passwords are discarded, and the tasks that wait for them fail with `URLError.userAuthenticationRequired`; cookies
  /// that such tasks receive are not stored; and their 401 responses are returned without another challenge. Such a
  /// task sends nothing more: a redirect, a retry or a delayed start fails it with the same error. Requests that are
  /// already sent still get their response. To end those, use ``invalidateAndCancel()`` and a new session, or wait
  /// until they complete. An authenticator of the app that goes on after it was cancelled is part of the work that
  /// began before: its tasks send nothing, and cookies that it sets are not stored. If it continues on a queue of its
  /// own, it must stop there itself.
  ///
  /// Credentials that observers or the delegate gave for the session or permanently are removed. Credentials that the
  /// app itself added to the configuration's `urlCredentialStorage` stay, because the whole program usually shares that
  /// storage.
  public func clearCredentials() {
    removeOwnCredentials()
    let (observers, former) = state.withLock { state in
      defer { state.formerKeepers = [] }
      return (state.observers, state.formerKeepers)
    }
    let keepers = observers.compactMap { ($0.events as? any CredentialHolder)?.keeper }
    for keeper in keepers + former.filter({ one in !keepers.contains { $0 === one } }) { keeper.removeCredentials() }
    // A login that was running until now may have set cookies in the meantime, and a task that has just begun may have
    // answered a challenge with what an observer still kept.
    removeOwnCredentials()
    urlCache?.removeAllCachedResponses()
  }

  /// Removes what the session itself keeps of the user.
  private func removeOwnCredentials() {
    signOut.set()
    cookieStorage?.removeCookies(since: .distantPast)
    credentials.removeAll()
    if foundationConfiguration.urlCredentialStorage === URLCredentialStorage.shared { KeptCredentials.removeAll() }
    acceptedPasswords.removeAll()
    (transport.base as? any ChallengingTransport)?.removeAnswers()
  }

  /// Whether the login pages of its observers do not open, because the session is locked: whoever signed in there would
  /// replace the user.
  @_spi(Credentials) public var refusesLogins: Bool {
    get { state.withLock { $0.refusesLogins } }
    set { state.withLock { $0.refusesLogins = newValue } }
  }

  /// Removes the answer to the TLS challenges of one origin: its next request asks again.
  func removeTLSAnswer(for origin: Origin) {
    (transport.base as? any ChallengingTransport)?.removeAnswer(for: origin)
  }
}
