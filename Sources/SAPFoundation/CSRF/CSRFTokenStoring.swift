public import Foundation

/// Keeps CSRF tokens. The URLs are those that ``CSRFTokenURLProviding`` gives: where tokens are fetched, not where requests go.
///
/// What is thrown fails no request: the observer does without the store, and the log says so. Calls come one after another.
public protocol CSRFTokenStoring: AnyObject {
  /// Keeps a token in place of the one that was there.
  func store(token: String, for url: URL) throws

  /// The token of a URL; nil if there is none.
  func token(for url: URL) throws -> String?

  /// Forgets a token.
  func deleteToken(for url: URL) throws
}

/// Knows where the token for a request is fetched.
public protocol CSRFTokenURLProviding: AnyObject {
  /// The URL that gives the token for requests to this one. It may be the URL itself. One of another origin is not used: a
  /// token is good together with the cookie of its own host only.
  ///
  /// Asked on any thread, before every request that could change something; it should be quick.
  func csrfTokenURL(for url: URL) -> URL
}

/// Keeps tokens in a ``CodableStoring``.
///
/// A token is worth nothing without the session cookie that came with it: keep tokens in a file only if the cookies are
/// in one, with ``SAPHTTPCookieStorageOptions/persistSessionCookies``.
open class CSRFTokenStorage: CSRFTokenStoring {
  /// Where the tokens are.
  open var store: any CodableStoring

  /// Makes a storage.
  ///
  /// - Parameter store: where the tokens are; memory by default.
  public init(store: any CodableStoring = CodableStorage()) { self.store = store }

  open func store(token: String, for url: URL) throws { try store.put(token, for: Self.key(url)) }

  open func token(for url: URL) throws -> String? { try store.get(String.self, for: Self.key(url)) }

  open func deleteToken(for url: URL) throws { try store.remove(for: Self.key(url)) }

  private static func key(_ url: URL) -> String { "csrf-token " + url.absoluteString }
}
