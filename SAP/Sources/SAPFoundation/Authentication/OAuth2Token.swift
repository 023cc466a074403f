import MartletSemantics

/// An access token, with its refresh token. A description of it shows neither.
public struct OAuth2Token: Codable, Sendable, Hashable {
  /// The token.
  public let accessToken: String
  /// The authentication scheme, usually `Bearer`.
  public let tokenType: String
  /// The granted scopes, if the server returns them.
  public let scopes: Set<String>
  /// The date at which the token expires; nil if the server does not say.
  public let expiryDate: Date?
  /// The token that renews this one; nil if there is none.
  public let refreshToken: String?

  /// Makes a token.
  public init(
    accessToken: String, tokenType: String, expiryDate: Date? = nil, scopes: Set<String> = [],
    refreshToken: String? = nil
  ) {
    self.accessToken = accessToken
    self.tokenType = tokenType
    self.scopes = scopes
    self.expiryDate = expiryDate
    self.refreshToken = refreshToken
  }
}

extension OAuth2Token: CustomStringConvertible, CustomReflectable {
  /// The words "an OAuth 2 token".
  public var description: String { "an OAuth 2 token" }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Obtains and renews tokens, from a login page or a server.
///
/// The implementation may make requests with the session that needs the token. They are sent without a token, and a 401
/// is returned to the implementation. The session recognizes such requests in two cases:
///
/// - They are made within the call of `authenticate` or `refresh`. This includes completion handlers of other such
///   requests.
/// - They request a token or the metadata of an OAuth 2 server (RFC 6749 §3, RFC 8414). These are recognized anywhere.
///
/// Any other request that is made on another queue needs the context of the call, or its own `Authorization`:
///
/// ```swift
/// let context = SAPURLSession.CallContext.current     // in `authenticate`
/// DispatchQueue.main.async {
///   context.perform { session.dataTask(with: url) { data, response, error in print(data?.count ?? 0) }.resume() }
/// }
/// ```
///
/// Otherwise the session cannot tell it from the app's other requests. Then it waits for the token as long as for a
/// response (`URLRequest.timeoutInterval`, 60 seconds by default), and after a 401 five times as long. After that it is
/// sent without a token.
public protocol OAuth2Authentication {
  /// Obtains a new token. Call the handler once, on any thread.
  func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void)

  /// Renews a token that has expired or was refused. Call the handler once, on any thread.
  func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void)

  /// Ends the authentication that ``authenticate(completionHandler:)`` has begun, because the user has signed out in
  /// the meantime.
  func cancelAuthentication()
}

/// Stores tokens. Only one thread at a time calls it. Its errors do not fail any request.
public protocol OAuth2TokenStore {
  /// Stores a token. It replaces a previous one.
  func store(token: OAuth2Token, for url: URL) throws

  /// Returns the token for a URL; nil if there is none.
  func token(for url: URL) throws -> OAuth2Token?

  /// Deletes the token for a URL.
  func deleteToken(for url: URL) throws

  /// Deletes all tokens. Does nothing by default.
  func clear()
}

extension OAuth2TokenStore {
  /// Does nothing.
  public func clear() {}
}

/// Stores tokens in a ``CodableStoring``. They are secrets: use an encrypted store.
open class OAuth2TokenStorage: OAuth2TokenStore {
  /// The store of the tokens.
  open var store: any CodableStoring
  /// Returns the key of a URL's token.
  open var keyHandler: (URL) -> String

  /// Makes a storage; by default with a key for each origin, below ``keyPrefix``.
  public init(
    store: any CodableStoring = CodableStorage(), keyHandler: @escaping (URL) -> String = OAuth2TokenStorage.key
  ) {
    self.store = store
    self.keyHandler = keyHandler
  }

  /// The prefix of all keys.
  public static let keyPrefix = "oauth2-token "

  /// Returns the key of a URL's token: the same for all URLs with its scheme, host and port.
  public static func key(for url: URL) -> String { url.storageKey(keyPrefix) }

  open func store(token: OAuth2Token, for url: URL) throws {
    try store.put(token, for: keyHandler(url), listedBelow: Self.keyPrefix)
  }

  open func token(for url: URL) throws -> OAuth2Token? { try store.get(OAuth2Token.self, for: keyHandler(url)) }

  open func deleteToken(for url: URL) throws { try store.remove(for: keyHandler(url)) }

  /// Deletes all tokens, even those of earlier runs of the program. For this the store has a list of their keys.
  open func clear() { store.removeAll(listedBelow: Self.keyPrefix) }
}
