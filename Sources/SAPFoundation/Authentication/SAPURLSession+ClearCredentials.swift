import Foundation

extension SAPURLSession {
  /// Takes away all that the session keeps of a user: cookies, cached responses, CSRF tokens, access tokens and passwords, the
  /// latter also in the stores that were given to observers; and which client certificate an origin is shown. Call it when
  /// the user signs out, after `POST …/mobileservices/sessions/logout`.
  ///
  /// It holds for every request that begins later, and needs no network. Tasks that run may still bring new cookies: end them
  /// before, with ``invalidateAndCancel()`` and a new session, or wait for them. What is in the configuration's
  /// `urlCredentialStorage` stays; it is Foundation's, and usually shared by all of the program.
  public func clearCredentials() {
    cookieStorage?.removeCookies(since: .distantPast)
    urlCache?.removeAllCachedResponses()
    (wire.base as? any AskingTransport)?.forgetAnswers()
    for observer in observers { (observer as? any CredentialHolder)?.forgetCredentials() }
  }
}
