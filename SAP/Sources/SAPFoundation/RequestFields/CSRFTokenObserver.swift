import MartletEngine
import MartletSemantics
@_spi(Credentials) import MartletSignIn
import Synchronization

/// Adds a CSRF token to requests with unsafe methods, fetches it if there is none, and renews it if the server refuses
/// it.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(CSRFTokenObserver(rootUrl: serviceURL))
/// ```
///
/// - A token is fetched once for all requests that need it. The same session fetches it, so its other observers are
///   called for that request. It has a correlation identifier of its own.
/// - A token is only valid with its session cookie, so the session needs cookies. If the server opens another session
///   for a parallel request, that cookie is not stored, and the pair stays together; the cookie of a successful login
///   is stored.
/// - A token is sent only to the origin that issued it. If a request already has the field, its value is not changed.
/// - After a 403 with `X-CSRF-Token: Required` the token is renewed and the request sent again, once; a streamed body
///   needs a new stream. A second refusal is returned to the caller. A refused token is not used again.
/// - If parallel requests end each other's tokens, a request that is refused twice is sent alone when its turn comes:
///   see `MartletSignIn.CSRFInterceptor`.
/// - If the server issues no token, requests are sent without one. If they are refused, no token is fetched for 30
///   seconds, unless the cookies change.
public final class CSRFTokenObserver: SAPURLSessionObserving {
  var interceptor: any Interceptor { csrf }
  private let csrf: CSRFInterceptor
  private let tokens: CSRFTokenStoreAdapter
  private let makeCopy: () -> CSRFTokenObserver

  /// Makes an observer for services below one root URL. All tokens are fetched from this URL.
  ///
  /// Requests to other paths of its host get a token when the server requires one. Later requests to the same path or
  /// below it get one at once. So there can be several observers, one for each service of a host.
  ///
  /// - Parameters:
  ///   - rootUrl: the URL from which tokens are fetched.
  ///   - tokenStore: stores tokens; in memory by default.
  public init(rootUrl: URL, tokenStore: any CSRFTokenStoring = CSRFTokenStorage()) {
    let tokens = CSRFTokenStoreAdapter(tokenStore, knowing: [rootUrl])
    self.tokens = tokens
    csrf = CSRFInterceptor(root: rootUrl, options: tokens.options)
    tokens.setInterceptor(csrf)
    makeCopy = { CSRFTokenObserver(rootUrl: rootUrl) }
  }

  /// Makes an observer for several services with different token URLs.
  ///
  /// - Parameters:
  ///   - tokenUrlProvider: provides the URL from which the token for a request is fetched.
  ///   - tokenStore: stores tokens; in memory by default.
  public init(tokenUrlProvider: any CSRFTokenURLProviding, tokenStore: any CSRFTokenStoring = CSRFTokenStorage()) {
    let tokens = CSRFTokenStoreAdapter(tokenStore)
    self.tokens = tokens
    let provider = Locked(tokenUrlProvider)
    csrf = CSRFInterceptor(options: tokens.options) { request in
      provider.withLock { $0 }.csrfTokenURL(for: request.url)
    }
    tokens.setInterceptor(csrf)
    makeCopy = { CSRFTokenObserver(tokenUrlProvider: tokenUrlProvider) }
  }

  /// Returns an observer for the same URLs with a new store in memory, because another user has other tokens.
  public func copy() -> Any? { makeCopy() }
}

extension CSRFTokenObserver: InterceptingObserver, CredentialHolder {
  var keeper: any CredentialKeeper { tokens }
}

/// An app's store as a store of the engine.
final class CSRFTokenStoreAdapter: CSRFTokenStore, CredentialKeeper {
  private struct Weak {
    weak var interceptor: CSRFInterceptor?
  }

  /// The interceptor, which holds this store. Calls that use it hold it.
  private let csrf = Locked(Weak())
  private let store: Synchronized<any CSRFTokenStoring>
  /// The URLs whose tokens the store may have.
  private let urls: Mutex<Set<URL>>

  /// - Parameter urls: URLs whose tokens an earlier run of the program may have stored.
  init(_ store: any CSRFTokenStoring, knowing urls: Set<URL> = []) {
    self.store = Synchronized(store)
    self.urls = Mutex(urls)
  }

  var options: CSRFOptions {
    var options = CSRFOptions()
    options.store = self
    return options
  }

  func token(for url: URL) async throws -> String? { try serialized(url) { try $0.token(for: url) } }

  func setToken(_ token: String?, for url: URL) async throws {
    try serialized(url) { if let token { try $0.store(token: token, for: url) } else { try $0.deleteToken(for: url) } }
  }

  func setInterceptor(_ interceptor: CSRFInterceptor) { csrf.withLock { $0.interceptor = interceptor } }

  func removeCredentials() {
    csrf.withLock { $0.interceptor }?.forget()
    let urls = urls.withLock { $0 }
    store.call { store in
      for url in urls { SessionLog.failure(deleting: "CSRF token") { try store.deleteToken(for: url) } }
      store.clear()
    }
  }

  /// Calls the store, one thread at a time, because it need not be thread-safe.
  private func serialized<Result>(_ url: URL, _ call: (any CSRFTokenStoring) throws -> Result) throws -> Result {
    urls.withLock { _ = $0.insert(url) }
    return try store.call(call)
  }
}

/// Stores CSRF tokens. Its URLs are the URLs from which tokens are fetched (``CSRFTokenURLProviding``), not the URLs of
/// requests.
///
/// Only one thread at a time calls it. Its errors do not fail any request: they are logged, and the observer continues
/// without the store.
public protocol CSRFTokenStoring {
  /// Stores a token. It replaces a previous one.
  func store(token: String, for url: URL) throws

  /// Returns the token for a URL; nil if there is none.
  func token(for url: URL) throws -> String?

  /// Deletes the token for a URL.
  func deleteToken(for url: URL) throws

  /// Deletes all tokens at a sign-out, including tokens that an earlier run of the program stored. Does nothing by
  /// default: the tokens of the observer's root URL and of the URLs that this run has used are deleted one by one
  /// anyway.
  func clear()
}

extension CSRFTokenStoring {
  /// Does nothing.
  public func clear() {}
}

/// Provides the URLs from which tokens are fetched.
public protocol CSRFTokenURLProviding {
  /// Returns the URL from which the token for requests to this URL is fetched. It may be the URL itself. A URL of
  /// another origin is not used, because a token is valid only with the cookie of its own host.
  ///
  /// It is called on any thread, before every request with an unsafe method, and should be fast.
  func csrfTokenURL(for url: URL) -> URL
}

/// Stores tokens in a ``CodableStoring``.
///
/// A token is not valid without the session cookie of the same response: store tokens in a file only if cookies are
/// stored in a file, too, with ``SAPHTTPCookieStorageOptions/persistSessionCookies``.
open class CSRFTokenStorage: CSRFTokenStoring {
  /// The store of the tokens.
  open var store: any CodableStoring

  /// Makes a storage.
  ///
  /// - Parameter store: the store of the tokens; in memory by default.
  public init(store: any CodableStoring = CodableStorage()) { self.store = store }

  open func store(token: String, for url: URL) throws {
    try store.put(token, for: Self.key(url), listedBelow: Self.keyPrefix)
  }

  open func token(for url: URL) throws -> String? { try store.get(String.self, for: Self.key(url)) }

  open func deleteToken(for url: URL) throws { try store.remove(for: Self.key(url)) }

  /// Deletes all tokens, even those of earlier runs of the program. For this the store has a list of their keys.
  open func clear() { store.removeAll(listedBelow: Self.keyPrefix) }

  /// The prefix of all keys.
  static let keyPrefix = "csrf-token "

  private static func key(_ url: URL) -> String { keyPrefix + url.absoluteString }
}
