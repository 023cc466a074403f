public import Foundation
package import MartletEngine
import MartletSemantics
import Synchronization

/// Sends an access token with every request to one backend, and renews it where it has expired or is refused.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(OAuth2Observer(authenticator: authenticator, backend: settings.backendURL))
/// ```
///
/// - A token is obtained or renewed once for all requests that wait for it. With a refresh token it is refreshed; where that
///   fails, and without one, it is obtained anew. A stored token that is refused is renewed, and the request sent again, once.
/// - Tokens go to one origin: the backend's or, where none is given, that of the first request that this observer sees. They
///   never go where a redirect leads.
/// - What somebody else does to the store counts: a token that was deleted there is not sent any more.
public final class OAuth2Observer: SAPURLSessionObserving {
  private let backend: OAuth2Interceptor

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - authenticator: gets and renews tokens. What it sends to the backend through the same session passes by this observer
  ///     if it begins within the call; what begins on another thread would wait for the token, so use another session there.
  ///   - tokenStore: where tokens are kept; in memory by default.
  ///   - backend: whose requests carry them; by default that of the first request.
  public init(
    authenticator: any OAuth2Authentication, tokenStore: any OAuth2TokenStore = OAuth2TokenStorage(),
    backend: URL? = nil
  ) {
    self.backend = OAuth2Interceptor(backend, OAuth2Tokens(Handed(value: authenticator), Handed(value: tokenStore)))
  }
}

extension OAuth2Observer: InterceptingObserver, CredentialHolder {
  package var interceptor: any Interceptor { backend }

  func forgetCredentials() { backend.forget() }
}

/// Brings the engine's token source, and an app's store, to the origin that the tokens are for.
private final class OAuth2Interceptor: Interceptor {
  private struct Backend: Sendable {
    let url: URL
    let origin: Origin
    let source: TokenSource
    let interceptor: AuthenticationInterceptor
  }

  private let backend = Mutex<Backend?>(nil)
  private let tokens: OAuth2Tokens

  init(_ url: URL?, _ tokens: OAuth2Tokens) {
    self.tokens = tokens
    if let url { _ = backend(orFirst: url) }
  }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard let asked = exchange.askedURL, let backend = backend(orFirst: asked), backend.origin == Origin(request.url)
    else { return request }
    if case .changed(let token) = tokens.look(for: backend.url) { backend.source.use(token?.engines) }
    return try await backend.interceptor.prepare(request, in: exchange)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    guard let backend = backend.withLock({ $0 }), backend.origin == Origin(attempt.sent.url) else { return .accept }
    return try await backend.interceptor.review(outcome, of: attempt, in: exchange)
  }

  func forget() {
    let backend = backend.withLock { $0 }
    tokens.forget(for: backend?.url)
    backend?.source.use(nil)
  }

  private func backend(orFirst url: URL) -> Backend? {
    backend.withLock { backend in
      if backend == nil, let origin = Origin(url) {
        let source = TokenSource(for: .origins([origin])) { [tokens] _ in try await tokens.next(for: url).engines }
        backend = Backend(
          url: url, origin: origin, source: source, interceptor: AuthenticationInterceptor([source]))
      }
      return backend
    }
  }
}

/// The tokens of one observer: what the store says, and what the authenticator makes of it.
final class OAuth2Tokens: Sendable {
  enum Look {
    case same
    /// Somebody else has put another token into the store, or taken it away.
    case changed(OAuth2Token?)
  }

  private let authenticator: Handed<any OAuth2Authentication>
  /// Its lock is taken before that of `state`, never within.
  private let store: Serialized<any OAuth2TokenStore>
  private let state = Mutex(State())

  private struct State: Sendable {
    /// What requests carry.
    var current: OAuth2Token?
    /// What the store said last, or took.
    var stored: OAuth2Token?
    var isAuthenticating = false
    /// How often everything was forgotten.
    var endings = 0
  }

  init(_ authenticator: Handed<any OAuth2Authentication>, _ store: Handed<any OAuth2TokenStore>) {
    self.authenticator = authenticator
    self.store = Serialized(store.value)
  }

  /// What the store has, compared with what it had. A store that fails says nothing.
  func look(for url: URL) -> Look {
    store.call { store in
      guard let stored = try? Optional.some(store.token(for: url)) else { return .same }
      return state.withLock { state in
        guard stored != state.stored else { return .same }
        (state.stored, state.current) = (stored, stored)
        return .changed(stored)
      }
    }
  }

  /// The token that follows: refreshed or obtained.
  func next(for url: URL) async throws -> OAuth2Token {
    let (old, endings) = state.withLock { ($0.current, $0.endings) }
    let token: OAuth2Token
    if let renewed = await refreshed(old) { token = renewed } else { token = try await obtained() }
    let isStored = try store.call { store in
      try use(token, isStored: false, after: endings)
      guard (try? store.store(token: token, for: url)) != nil else { return false }
      try use(token, isStored: true, after: endings)
      return true
    }
    if !isStored { SAPURLSession.log("OAuth2Observer", "the token could not be stored") }
    return token
  }

  /// Takes a new token, unless everything was forgotten since it was asked for.
  private func use(_ token: OAuth2Token, isStored: Bool, after endings: Int) throws {
    try state.withLock { state in
      guard state.endings == endings else { throw URLError(.userCancelledAuthentication) }
      state.current = token
      if isStored { state.stored = token }
    }
  }

  /// Forgets the token. One that is on its way is nobody's any more: it would be that of the user who has left.
  func forget(for url: URL?) {
    let wasAuthenticating = store.call { store in
      if let url { try? store.deleteToken(for: url) }
      store.clear()
      return state.withLock { state in
        state.current = nil
        state.endings += 1
        return state.isAuthenticating
      }
    }
    if wasAuthenticating { authenticator.value.cancelAuthentication() }
  }

  private func refreshed(_ old: OAuth2Token?) async -> OAuth2Token? {
    guard let old, old.refreshToken != nil else { return nil }
    do { return try await answer { authenticator.value.refresh(token: old, completionHandler: $0) } } catch {
      SAPURLSession.log("OAuth2Observer", "the token could not be refreshed, and is obtained anew")
      return nil
    }
  }

  private func obtained() async throws -> OAuth2Token {
    state.withLock { $0.isAuthenticating = true }
    defer { state.withLock { $0.isAuthenticating = false } }
    return try await answer { authenticator.value.authenticate(completionHandler: $0) }
  }

  private func answer(
    _ ask: (@escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) -> Void
  ) async throws -> OAuth2Token {
    let gate = AnswerGate<OAuth2Token>()
    ask { token, error in
      gate.answer(token.map { .success($0) } ?? .failure(error ?? URLError(.userAuthenticationRequired)))
    }
    return try await gate.wait()
  }
}

extension OAuth2Token {
  fileprivate var engines: AccessToken {
    AccessToken(accessToken, type: tokenType, expires: expiryDate, refreshToken: refreshToken)
  }
}
