public import MartletSemantics
import Synchronization

/// Where a ``CSRFInterceptor`` keeps its tokens: one for each URL that they are fetched from.
///
/// A token is worth nothing without the session cookie that came with it: a store that outlives the process goes with a
/// cookie store that does too. Tokens are secrets. A store that throws fails no request: the interceptor does without.
public protocol CSRFTokenStore: Sendable {
  /// The token that was fetched from the URL, nil if there is none.
  func token(for url: URL) async throws -> String?

  /// Keeps the token of a URL; nil removes it.
  func setToken(_ token: String?, for url: URL) async throws
}

/// Keeps tokens in memory: the default.
public final class MemoryCSRFTokenStore: CSRFTokenStore {
  private let tokens = Mutex<[URL: String]>([:])

  /// Makes an empty store.
  public init() {}

  public func token(for url: URL) async throws -> String? { tokens.withLock { $0[url] } }

  public func setToken(_ token: String?, for url: URL) async throws { tokens.withLock { $0[url] = token } }
}
