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
  package let interceptor: any Interceptor
  private let tokens: OAuth2Tokens

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - authenticator: gets and renews tokens. It must not be asked through a session without a way around this observer:
  ///     what it sends to the backend while it works passes by.
  ///   - tokenStore: where tokens are kept; in memory by default.
  ///   - backend: whose requests carry them; by default that of the first request.
  public init(
    authenticator: any OAuth2Authentication, tokenStore: any OAuth2TokenStore = OAuth2TokenStorage(),
    backend: URL? = nil
  ) {
    tokens = OAuth2Tokens(Handed(value: authenticator), Handed(value: tokenStore))
    interceptor = OAuth2Interceptor(backend, tokens)
  }
}

extension OAuth2Observer: InterceptingObserver, CredentialHolder {
  func forgetCredentials() { tokens.forgetAll() }
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
  private let state: Locked<State>

  private struct State {
    let store: any OAuth2TokenStore
    var known: OAuth2Token?
    /// Rises before and after every writing: it is odd while one is under way.
    var writings = 0
    var urls: Set<URL> = []
  }

  init(_ authenticator: Handed<any OAuth2Authentication>, _ store: Handed<any OAuth2TokenStore>) {
    self.authenticator = authenticator
    state = Locked(State(store: store.value))
  }

  /// What the store has, compared with what is known. What was read beside a writing says nothing: it may be the older token.
  func look(for url: URL) -> Look {
    let (store, writings) = state.withLock { state in
      state.urls.insert(url)
      return (state.store, state.writings)
    }
    guard writings.isMultiple(of: 2), let stored = try? Optional.some(store.token(for: url)) else { return .same }
    return state.withLock { state in
      guard state.writings == writings, stored != state.known else { return .same }
      state.known = stored
      return .changed(stored)
    }
  }

  /// The token that follows: refreshed or obtained.
  func next(for url: URL) async throws -> OAuth2Token {
    let old = state.withLock { $0.known }
    let token: OAuth2Token
    if let renewed = await refreshed(old) { token = renewed } else { token = try await obtained() }
    let store = state.withLock { state in
      state.known = token
      state.writings += 1
      return state.store
    }
    defer { state.withLock { $0.writings += 1 } }
    do { try store.store(token: token, for: url) } catch {
      SAPURLSession.log("OAuth2Observer", "the token could not be stored")
    }
    return token
  }

  func forgetAll() {
    let (store, urls) = state.withLock { ($0.store, $0.urls) }
    for url in urls { try? store.deleteToken(for: url) }
    store.clear()
  }

  private func refreshed(_ old: OAuth2Token?) async -> OAuth2Token? {
    guard let old, old.refreshToken != nil else { return nil }
    do { return try await answer { authenticator.value.refresh(token: old, completionHandler: $0) } } catch {
      SAPURLSession.log("OAuth2Observer", "the token could not be refreshed, and is obtained anew")
      return nil
    }
  }

  private func obtained() async throws -> OAuth2Token {
    try await answer { authenticator.value.authenticate(completionHandler: $0) }
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
