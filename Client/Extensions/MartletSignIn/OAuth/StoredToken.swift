import MartletEngine
import MartletSemantics
import Synchronization

/// The token in the store of a source. Other processes may replace it.
final class StoredToken: Sendable {
  private let store: any KeyValueStore
  private let key: String
  private let rule: KeptTokenRule
  /// The token that the source has last taken from the store or written to it.
  private let known = Mutex<AccessToken?>(nil)

  init(in store: any KeyValueStore, as key: String, of client: OAuthClient) {
    (self.store, self.key, rule) = (store, key, KeptTokenRule(client))
  }

  /// Returns the token, which the source uses from now on.
  func take() async throws -> AccessToken? { try await read().map(took) }

  /// Notes that the source uses a token of the store, and returns it.
  func took(_ token: AccessToken) -> AccessToken {
    known.withLock { $0 = token }
    return token
  }

  /// Returns the token if another process has written it; nil if the source knows it. The source's own token may be
  /// newer than one that it knows: it may have got that from a login of the program.
  func replacement() async throws -> AccessToken? {
    guard let token = try await read() else { return nil }
    let isKnown = known.withLock { $0?.value == token.value && $0?.refreshToken == token.refreshToken }
    return isKnown ? nil : token
  }

  /// Replaces the token. If that fails, the token in the store remains known.
  func replace(with token: AccessToken) async {
    let kept = KeptToken(token: token, keyID: rule.keyID(of: token))
    guard let data = try? JSONEncoder().encode(kept), (try? await store.set(data, for: key)) != nil else { return }
    known.withLock { $0 = token }
  }

  func remove() async { try? await store.removeValue(for: key) }

  private func read() async throws -> AccessToken? {
    try await store.value(for: key).flatMap { try? JSONDecoder().decode(KeptToken.self, from: $0) }
      .flatMap(rule.usable)
  }
}

/// A token as it is kept: with the identifier of the key that it is bound to. Those of programs without a binding have
/// the form of an ``Martlet/AccessToken``.
struct KeptToken: Codable {
  var token: AccessToken
  var keyID: String?

  private enum Key: String, CodingKey { case keyID = "jkt" }

  init(token: AccessToken, keyID: String?) { (self.token, self.keyID) = (token, keyID) }

  init(from decoder: any Decoder) throws {
    token = try AccessToken(from: decoder)
    keyID = try decoder.container(keyedBy: Key.self).decodeIfPresent(String.self, forKey: .keyID)
  }

  func encode(to encoder: any Encoder) throws {
    try token.encode(to: encoder)
    var members = encoder.container(keyedBy: Key.self)
    try members.encodeIfPresent(keyID, forKey: .keyID)
  }
}

/// Decides whether a client can use a kept token: one that is bound to a key which is gone is useless, and a server
/// would refuse it again and again (RFC 9449 §5, §7).
struct KeptTokenRule: Sendable, Hashable {
  /// The type of bound tokens, in lower case; nil if the client has no binding.
  var boundType: String?
  var keyID: String?
  var requiresBinding = false
  /// Whether the client is a public one, whose refresh tokens are bound, too.
  var isPublic = true

  init(_ client: OAuthClient) {
    boundType = client.binding?.tokenType.lowercased()
    keyID = client.binding?.keyID
    requiresBinding = client.binding?.isRequired ?? false
    isPublic = client.authentication == .none
  }

  /// The identifier that is kept with a token; nil if it is not bound.
  func keyID(of token: AccessToken) -> String? { token.type.lowercased() == boundType ? keyID : nil }

  /// Returns the token as it can be used; nil if it is useless. One that can only be renewed has expired.
  func usable(_ kept: KeptToken) -> AccessToken? {
    let isBound = token(kept.token, hasType: boundType) || token(kept.token, hasType: "dpop") || kept.keyID != nil
    if !isBound {
      // It is from before the client had a binding: the next one is bound.
      return requiresBinding ? kept.token.onlyForRenewal : kept.token
    }
    if let keyID, kept.keyID == keyID, token(kept.token, hasType: boundType) { return kept.token }
    return isPublic ? nil : kept.token.onlyForRenewal
  }

  private func token(_ token: AccessToken, hasType type: String?) -> Bool { token.type.lowercased() == type }
}

extension AccessToken {
  /// The token as one that has expired; nil if it cannot be renewed.
  fileprivate var onlyForRenewal: AccessToken? {
    guard refreshToken != nil else { return nil }
    var token = self
    token.expires = .distantPast
    return token
  }
}
