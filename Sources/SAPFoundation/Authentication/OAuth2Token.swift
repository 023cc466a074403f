public import Foundation
import MartletSemantics

/// An access token, with what is needed to renew it. A description of it shows neither.
public struct OAuth2Token: Codable, Sendable, Hashable {
  /// The token.
  public let accessToken: String
  /// How requests carry it: `Bearer` as a rule.
  public let tokenType: String
  /// What it is good for, as far as the server says.
  public let scopes: Set<String>
  /// When it ends; nil where the server does not say.
  public let expiryDate: Date?
  /// What the next one is asked for with; nil if there is nothing.
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
  /// That it is one.
  public var description: String { "an OAuth 2 token" }

  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Gets and renews tokens: shows a login page, asks a server.
public protocol OAuth2Authentication {
  /// Gets a token from the beginning. The handler is to be called once, on any thread.
  func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void)

  /// Gets a token in the place of one that has expired. The handler is to be called once, on any thread.
  func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void)

  /// Ends what ``authenticate(completionHandler:)`` has begun: called when the user signs out meanwhile.
  func cancelAuthentication()
}

/// Keeps tokens. Calls come one after another. What is thrown fails no request.
public protocol OAuth2TokenStore {
  /// Keeps a token in place of the one that was there.
  func store(token: OAuth2Token, for url: URL) throws

  /// The token of a URL; nil if there is none.
  func token(for url: URL) throws -> OAuth2Token?

  /// Forgets a token.
  func deleteToken(for url: URL) throws

  /// Forgets all tokens. Does nothing by default.
  func clear()
}

extension OAuth2TokenStore {
  /// Does nothing.
  public func clear() {}
}

/// Keeps tokens in a ``CodableStoring``. They are secrets: prefer a store that is encrypted.
open class OAuth2TokenStorage: OAuth2TokenStore {
  /// Where the tokens are.
  open var store: any CodableStoring
  /// The key of a URL's token.
  open var keyHandler: (URL) -> String

  /// Makes a storage; by default with a key for each origin, below ``keyPrefix``.
  public init(
    store: any CodableStoring = CodableStorage(), keyHandler: @escaping (URL) -> String = OAuth2TokenStorage.key
  ) {
    self.store = store
    self.keyHandler = keyHandler
  }

  /// What all keys begin with.
  public static let keyPrefix = "oauth2-token "

  /// The key of a URL's token: the same for all URLs with its scheme, host and port.
  public static func key(for url: URL) -> String { keyPrefix + (Origin(url)?.description ?? url.absoluteString) }

  open func store(token: OAuth2Token, for url: URL) throws { try store.put(token, for: keyHandler(url)) }

  open func token(for url: URL) throws -> OAuth2Token? { try store.get(OAuth2Token.self, for: keyHandler(url)) }

  open func deleteToken(for url: URL) throws { try store.remove(for: keyHandler(url)) }

  /// Forgets all tokens of this kind where the store can name its keys (``CodableStorage``); otherwise does nothing.
  open func clear() {
    guard let storage = store as? CodableStorage, let keys = try? storage.keys() else { return }
    for key in keys where key.hasPrefix(Self.keyPrefix) { try? storage.remove(for: key) }
  }
}
