public import Foundation
package import MartletEngine
import MartletSemantics
import Synchronization

/// Puts the CSRF token on requests that could change something, fetches it where there is none, and renews it where the server
/// does not take it any more.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(CSRFTokenObserver(rootUrl: serviceURL))
/// ```
///
/// - A token is fetched once for all who wait for it, through the same session: its other observers see that request, and this
///   one lets it pass. It has a correlation identifier of its own.
/// - Token and session cookie are one pair, so that the session has to keep cookies. A response of another session, which the
///   server opened for a parallel request, does not part them; a login that succeeds does.
/// - A token goes to the origin that gave it, and to no other. A request that has the field already keeps its own.
/// - 403 with `X-CSRF-Token: Required` renews the token and sends the request again, once; a streamed body is asked for anew. A
///   second refusal is the caller's response. A refused token is not used again. A server that gives no token is asked without one.
public final class CSRFTokenObserver: SAPURLSessionObserving {
  package let interceptor: any Interceptor
  private let tokens: CSRFTokenStoreAdapter
  private let makeCopy: () -> CSRFTokenObserver

  /// Makes an observer for services below one root URL, from which all tokens are fetched. Requests elsewhere on its host get
  /// a token when the server asks for it, and at once the next time at the same path or below it, so that several observers, one for each service of a host, go well together.
  ///
  /// - Parameters:
  ///   - rootUrl: where tokens are fetched.
  ///   - tokenStore: where they are kept; in memory by default.
  public init(rootUrl: URL, tokenStore: any CSRFTokenStoring = CSRFTokenStorage()) {
    let tokens = CSRFTokenStoreAdapter(tokenStore)
    self.tokens = tokens
    interceptor = CSRFInterceptor(root: rootUrl, options: tokens.options)
    makeCopy = { CSRFTokenObserver(rootUrl: rootUrl) }
  }

  /// Makes an observer for several services whose tokens come from different URLs.
  ///
  /// - Parameters:
  ///   - tokenUrlProvider: knows where the token for a request is fetched.
  ///   - tokenStore: where they are kept.
  public init(tokenUrlProvider: any CSRFTokenURLProviding, tokenStore: any CSRFTokenStoring = CSRFTokenStorage()) {
    let tokens = CSRFTokenStoreAdapter(tokenStore)
    self.tokens = tokens
    let provider = Locked(tokenUrlProvider)
    interceptor = CSRFInterceptor(options: tokens.options) { request in
      provider.withLock { $0 }.csrfTokenURL(for: request.url)
    }
    makeCopy = { CSRFTokenObserver(tokenUrlProvider: tokenUrlProvider) }
  }

  /// An observer for the same URLs, with a store of its own, in memory: another user has other tokens.
  public func copy() -> Any? { makeCopy() }
}

extension CSRFTokenObserver: InterceptingObserver, CredentialHolder {
  func forgetCredentials() { tokens.forgetAll() }
}

/// An app's store in the engine's terms.
final class CSRFTokenStoreAdapter: CSRFTokenStore {
  private let store: Serialized<any CSRFTokenStoring>
  /// Those whose tokens the store may have.
  private let urls = Mutex<Set<URL>>([])

  init(_ store: any CSRFTokenStoring) { self.store = Serialized(store) }

  var options: CSRFOptions {
    var options = CSRFOptions()
    options.store = self
    return options
  }

  func token(for url: URL) async throws -> String? { try inTurn(url) { try $0.token(for: url) } }

  func setToken(_ token: String?, for url: URL) async throws {
    try inTurn(url) { if let token { try $0.store(token: token, for: url) } else { try $0.deleteToken(for: url) } }
  }

  func forgetAll() {
    let urls = urls.withLock { $0 }
    store.call { store in for url in urls { try? store.deleteToken(for: url) } }
  }

  /// One call after another, because the tokens of several URLs may be wanted at once, and the store need not be ready for that.
  private func inTurn<Result>(_ url: URL, _ call: (any CSRFTokenStoring) throws -> Result) throws -> Result {
    urls.withLock { _ = $0.insert(url) }
    return try store.call(call)
  }
}
