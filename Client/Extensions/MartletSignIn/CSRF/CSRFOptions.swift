@_spi(Toolkit) import MartletEngine
public import MartletSemantics
import Synchronization

/// The protocol details of a ``CSRFInterceptor``. The defaults are those of SAP Gateway, SAP Mobile Services and
/// Tomcat's `RestCsrfPreventionFilter`.
public struct CSRFOptions: Sendable {
  /// The name of the field for the token and for the values `Fetch` and `Required`. `X-CSRF-Token` by default.
  public var field: FieldName = "X-CSRF-Token"
  /// The statuses that mean a refusal if the field is `Required`. 403 by default.
  public var refusals: Set<HTTPStatus> = [.forbidden]
  /// The store of the tokens; in memory by default. Tokens for requests with a partition
  /// (``Martlet/RequestOptions/partition``) are always in memory.
  public var store: any CSRFTokenStore = MemoryCSRFTokenStore()

  /// Makes the default options.
  public init() {}
}

/// A store for the tokens of a ``CSRFInterceptor``. It has one token for each URL from which one is fetched.
///
/// A token is valid only together with the session cookie of the same response: use a persistent store only with a
/// persistent cookie store. Tokens are secrets. An error of the store fails no request: the interceptor continues with
/// the tokens that it has in memory.
public protocol CSRFTokenStore: Sendable {
  /// Returns the token that was fetched from a URL; nil if there is none.
  func token(for url: URL) async throws -> String?

  /// Stores the token that was fetched from a URL; nil removes it.
  func setToken(_ token: String?, for url: URL) async throws
}

/// A token store in memory, for the 1,000 URLs that were used last.
public final class MemoryCSRFTokenStore: CSRFTokenStore {
  private let tokens = Mutex(LRUStorage<URL, String>(countLimit: 1000))

  /// Makes an empty store.
  public init() {}

  public func token(for url: URL) async throws -> String? { tokens.withLock { $0.use(url) } }

  public func setToken(_ token: String?, for url: URL) async throws {
    tokens.withLock { tokens in
      guard let token else {
        tokens.remove(url)
        return
      }
      tokens.set(token, for: url)
    }
  }
}
