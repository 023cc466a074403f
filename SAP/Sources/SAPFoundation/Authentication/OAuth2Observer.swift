@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Credentials) import MartletSemantics
@_spi(Credentials) import MartletSignIn
import Synchronization

/// Adds an access token to every request to one backend, and renews it when it has expired or is refused.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(OAuth2Observer(authenticator: authenticator, backend: settings.backendURL))
/// ```
///
/// - A token is obtained or renewed once for all requests that need it. It is refreshed if there is a refresh token,
///   and obtained again if there is none or if it is refused. If the server cannot be reached, the request fails as
///   without a network; if the server fails (429, 5xx) or refuses the client itself, it fails with
///   `.userAuthenticationRequired` and the authenticator's error, and the token is kept: no login page is shown.
/// - After a refused token was renewed, the request is sent again, once.
/// - Tokens are sent to one origin: the backend's, by default that of the first request. They are never sent to another
///   origin after a redirect.
/// - Changes that other code makes to the store take effect: a token that was deleted there is no longer sent.
open class OAuth2Observer: BuiltInObserver {
  private let backend: OAuth2Interceptor

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - authenticator: obtains and renews tokens. It may use the same session: see ``OAuth2Authentication``.
  ///   - tokenStore: stores tokens; in memory by default.
  ///   - backend: the URL to whose origin tokens are sent; by default that of the first request.
  public init(
    authenticator: any OAuth2Authentication, tokenStore: any OAuth2TokenStore = OAuth2TokenStorage(),
    backend: URL? = nil
  ) {
    self.backend = OAuth2Interceptor(
      backend, OAuth2Tokens(UncheckedSendable(value: authenticator), UncheckedSendable(value: tokenStore)))
  }

  /// Makes an observer that obtains tokens for the client itself.
  ///
  /// - Parameters:
  ///   - authenticationParameters: the token endpoint, and the client.
  ///   - tokenStore: stores tokens; in memory by default.
  ///   - sapURLSession: sends the token requests; it may be the one that the observer is registered with. A new one by
  ///     default.
  ///   - backend: the URL to whose origin tokens are sent; by default that of the first request.
  public convenience init(
    authenticationParameters: OAuth2ClientCredentialsAuthenticationParameters,
    tokenStore: any OAuth2TokenStore = OAuth2TokenStorage(), sapURLSession: SAPURLSession = SAPURLSession(),
    backend: URL? = nil
  ) {
    self.init(
      authenticator: OAuth2Authenticator(
        authenticationParameters: authenticationParameters, sapURLSession: sapURLSession),
      tokenStore: tokenStore, backend: backend)
  }

  /// Makes an observer that logs a user in. (SAP's has a web view; here the app shows the page.)
  ///
  /// - Parameters:
  ///   - authenticationParameters: the endpoints, and the client.
  ///   - tokenStore: stores tokens; in memory by default.
  ///   - sapURLSession: sends the token requests; it may be the one that the observer is registered with. A new one by
  ///     default.
  ///   - webViewPresenter: shows the login page.
  ///   - backend: the URL to whose origin tokens are sent; by default that of the first request.
  public convenience init(
    authenticationParameters: OAuth2AuthenticationParameters,
    tokenStore: any OAuth2TokenStore = OAuth2TokenStorage(), sapURLSession: SAPURLSession = SAPURLSession(),
    webViewPresenter: any LoginPagePresenting, backend: URL? = nil
  ) {
    self.init(
      authenticator: OAuth2Authenticator(
        authenticationParameters: authenticationParameters, sapURLSession: sapURLSession,
        webViewPresenter: webViewPresenter),
      tokenStore: tokenStore, backend: backend)
  }
}

extension OAuth2Observer: InterceptingObserver, CredentialHolder {
  var interceptor: any Interceptor { backend }

  var keeper: any CredentialKeeper { backend.tokens.kept }
}

/// Connects the engine's token source with the app's store, for the origin that the tokens are for.
private final class OAuth2Interceptor: Interceptor {
  private struct Backend: Sendable {
    let url: URL
    let origin: Origin
    let source: TokenSource
    let interceptor: AuthenticationInterceptor
  }

  private let backend = Mutex<Backend?>(nil)
  let tokens: OAuth2Tokens

  init(_ url: URL?, _ tokens: OAuth2Tokens) {
    self.tokens = tokens
    if let url { _ = backend(orFirst: url) }
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let asked = call.askedURL, let backend = backend(orFirst: asked), backend.origin == request.origin
    else { return .send(request) }
    let begun = Self.beginning(of: call)
    if var token = try tokens.changeInStore(for: backend.url, begun: begun) {
      // Outside of the store's lock, because this resumes waiting requests. So another request may have replaced the
      // token with a newer one, and the user may have signed out.
      while true {
        guard backend.source.replace(with: token?.accessTokenOfEngine, begun: begun) else {
          tokens.lookAgain(for: token)
          break
        }
        let current = tokens.current
        guard current != token else { break }
        token = current
      }
    }
    return try await backend.interceptor.prepare(request, in: call)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard let backend = backend.withLock({ $0 }), backend.origin == Origin(attempt.sent.url),
      !tokens.kept.store.hasSignedOut(since: Self.beginning(of: call))
    else { return .accept }
    return try await backend.interceptor.review(outcome, of: attempt, in: call)
  }

  /// When the work began for which the call was made: a task may wait before it makes its call.
  private static func beginning(of call: Call) -> Beginning {
    call[SAPURLSessionTask.ofCall]?.begun ?? Beginning(call.id)
  }

  private func backend(orFirst url: URL) -> Backend? {
    backend.withLock { backend in
      if backend == nil, let origin = Origin(url) {
        // The store's mark, so that a sign-out there is one for the source in the same step.
        let scope = CredentialScope.origins([origin])
        let source = TokenSource(nil, for: scope, signOut: tokens.kept.store.signOutMark, now: { .now }) { [tokens] _ in
          do { return try await tokens.next(for: url).accessTokenOfEngine } catch {
            // A lost network must be distinguishable from a refusal.
            throw (error as? URLError)?.underlyingHTTPError ?? error
          }
        }
        tokens.kept.setBackend(url, source)
        backend = Backend(
          url: url, origin: origin, source: source, interceptor: AuthenticationInterceptor([source]))
      }
      return backend
    }
  }
}

/// The tokens of one observer in memory, and the app's store for them.
final class OAuth2KeptTokens: CredentialKeeper {
  struct State {
    /// The token in requests.
    var current: OAuth2Token?
    /// The last token read from or written to the store.
    var stored: OAuth2Token?
    /// Whether the store did not take the current token.
    var isUnstored = false
    /// The number of running authentications. A sign-out does not wait for the one that it ends, so several may run.
    var authentications = 0
    /// Ends an authentication; nil while none is running.
    var cancel: (@Sendable () -> Void)?
    /// The URL under which the store keeps the token.
    fileprivate var url: URL?
    /// The engine's source of tokens, which holds the authenticator. Only the observer and its calls keep it alive.
    fileprivate weak var source: TokenSource?
  }

  /// Lock order: the store's lock is taken before that of `state`.
  let store: UserData<any OAuth2TokenStore>
  let state = Locked(State())

  init(_ store: UncheckedSendable<any OAuth2TokenStore>) { self.store = UserData(store.value) }

  func setBackend(_ url: URL, _ source: TokenSource) { state.withLock { ($0.url, $0.source) = (url, source) } }

  /// Removes the token because the user signs out. A token that is being obtained is discarded.
  func removeCredentials() {
    let url = state.withLock { $0.url }
    let (cancel, source) = store.signOut { store in
      if let url { SessionLog.failure(deleting: "OAuth 2 token") { try store.deleteToken(for: url) } }
      store.clear()
      // A token that the store could not delete is not used again.
      let rest = url.flatMap { try? store.token(for: $0) }
      return state.withLock { state in
        (state.current, state.stored, state.isUnstored) = (nil, rest, false)
        return (state.cancel, state.source)
      }
    }
    cancel?()
    source?.forget()
  }
}

/// Reads and writes the tokens of one observer, and calls its authenticator.
final class OAuth2Tokens: Sendable {
  let kept: OAuth2KeptTokens
  private let authenticator: UncheckedSendable<any OAuth2Authentication>
  private var store: UserData<any OAuth2TokenStore> { kept.store }
  private var state: Locked<OAuth2KeptTokens.State> { kept.state }

  init(_ authenticator: UncheckedSendable<any OAuth2Authentication>, _ store: UncheckedSendable<any OAuth2TokenStore>) {
    self.authenticator = authenticator
    kept = OAuth2KeptTokens(store)
  }

  /// The token in requests.
  var current: OAuth2Token? { state.withLock { $0.current } }

  /// Reads the store, and returns its token, or nil for none, if other code has changed or deleted it. A store that
  /// throws has no effect.
  ///
  /// - Throws: ``HTTPError/signedOut`` if the user has signed out since the call began.
  func changeInStore(for url: URL, begun: Beginning) throws -> OAuth2Token?? {
    try store.use(since: begun) { store in
      guard let stored = try? Optional.some(store.token(for: url)) else { return nil }
      let (unstored, change): (OAuth2Token?, OAuth2Token??) = state.withLock { state in
        guard stored != state.stored else { return (state.isUnstored ? state.current : nil, nil) }
        (state.stored, state.current, state.isUnstored) = (stored, stored, false)
        return (nil, .some(stored))
      }
      if let unstored, (try? store.store(token: unstored, for: url)) != nil {
        state.withLock { ($0.stored, $0.isUnstored) = (unstored, false) }
      }
      return change
    }
  }

  /// Forgets that a token was read, because a sign-out came in between: the next call reads it again.
  func lookAgain(for token: OAuth2Token?) {
    state.withLock { state in
      if state.stored == token { state.stored = nil }
    }
  }

  /// Returns the next token: refreshed or newly obtained.
  func next(for url: URL) async throws -> OAuth2Token {
    let begun = Beginning.current
    let token: OAuth2Token
    let renewed = try await refreshed(current, begun: begun)
    if let renewed {
      token = renewed
    } else {
      guard !store.hasSignedOut(since: begun) else { throw HTTPError.signedOut }
      // A closed store has the token of a user whom no login may replace.
      try store.access { try Self.checkIsOpen($0, url) }
      token = try await obtained(begun: begun)
    }
    let isStored = try store.use(since: begun) { store in
      if renewed == nil { try Self.checkIsOpen(store, url) }  // it may have been closed during the login
      guard renewed == nil || !wasDeleted(from: store, for: url) else { throw HTTPError.signedOut }
      state.withLock { ($0.current, $0.isUnstored) = (token, true) }
      guard (try? store.store(token: token, for: url)) != nil else { return false }
      state.withLock { ($0.stored, $0.isUnstored) = (token, false) }
      return true
    }
    if !isStored { SessionLog.write(.warning, "OAuth2Observer", "the token could not be stored") }
    return token
  }

  /// - Throws: ``SecureStorageError/closed`` if the store says so; other errors are those of a store without effect.
  private static func checkIsOpen(_ store: any OAuth2TokenStore, _ url: URL) throws {
    do { _ = try store.token(for: url) } catch SecureStorageError.closed { throw SecureStorageError.closed } catch {}
  }

  /// Whether other code, such as another process in which the user has signed out, has deleted the stored token.
  private func wasDeleted(from store: any OAuth2TokenStore, for url: URL) -> Bool {
    guard state.withLock({ $0.stored }) != nil, let stored = try? Optional.some(store.token(for: url)) else {
      return false
    }
    return stored == nil
  }

  /// Returns the refreshed token; nil if a new one has to be obtained.
  ///
  /// - Throws: the error of a server that did not refuse the refresh token: a login would fail as well, or is not
  ///   needed.
  private func refreshed(_ old: OAuth2Token?, begun: Beginning) async throws -> OAuth2Token? {
    guard let old, old.refreshToken != nil else { return nil }
    do { return try await token(since: begun) { authenticator.value.refresh(token: old, completionHandler: $0) } } catch
    {
      guard error.renewalFailure == .refused else { throw error }
      SessionLog.write(.warning, "OAuth2Observer", "the token could not be refreshed; a new one is obtained")
      return nil
    }
  }

  private func obtained(begun: Beginning) async throws -> OAuth2Token {
    state.withLock { [authenticator] state in
      state.authentications += 1
      state.cancel = { authenticator.value.cancelAuthentication() }
    }
    defer {
      state.withLock { state in
        state.authentications -= 1
        if state.authentications == 0 { state.cancel = nil }
      }
    }
    return try await token(since: begun) { authenticator.value.authenticate(completionHandler: $0) }
  }

  /// Returns the token that an authenticator's function completes with.
  private func token(
    since begun: Beginning,
    _ function: (@escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) -> Void
  ) async throws -> OAuth2Token {
    let token = try await firstResult(of: begun) { done in
      function { token, error in done(token, token == nil ? error : nil) }
    }
    guard let token else { throw URLError(.userAuthenticationRequired) }
    return token
  }
}

extension Error {
  /// What an authenticator's error says about the user's login. An app's own errors count as refusals: its
  /// authenticator asks for a login in this way.
  fileprivate var renewalFailure: RenewalFailure {
    switch self {
    case let error as OAuth2Error: error.renewalFailureOfCase
    case let error as URLError where error.underlyingHTTPError != nil:
      error.underlyingHTTPError?.renewalFailure ?? .temporary
    case let error as URLError: error.code == .userAuthenticationRequired ? .refused : .temporary
    case let error as HTTPError: error.renewalFailure
    case is CancellationError: .temporary
    default: .refused
    }
  }
}

extension OAuth2Error {
  fileprivate var renewalFailureOfCase: RenewalFailure {
    switch self {
    case .server(let error): RenewalFailure(.badRequest, code: error.error)
    case .parse(_, let response, _): RenewalFailure(HTTPStatus(response.statusCode))
    case .http(_, let status, _): status.map { RenewalFailure(HTTPStatus($0)) } ?? .temporary
    case .missingHTTPResponse, .authenticationInProgress, .backgroundAuthentication, .cancelled, .webViewReloaded:
      .temporary
    case .invalidArgument: .unusable
    case .webView, .authorizationCode, .tokenRejected: .refused
    }
  }
}

extension OAuth2Token {
  fileprivate var accessTokenOfEngine: AccessToken {
    AccessToken(accessToken, type: tokenType, expires: expiryDate, refreshToken: refreshToken)
  }
}
