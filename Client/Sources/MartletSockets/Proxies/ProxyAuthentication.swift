#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics
import Synchronization

/// Authentication to one HTTP proxy, by Basic (RFC 7617), Digest (RFC 7616), or tokens from the caller (Negotiate, RFC
/// 4559). It keeps the proxy's challenge and counts the uses of its nonce, for all connections to the proxy. It belongs
/// to one ``ProxyServer`` and never sees an origin's challenge.
///
/// - If Basic is the only scheme, the password is sent with the first request. Otherwise the first request is sent
///   without, and later ones answer the proxy's challenge.
/// - Of the allowed schemes, the strongest that the proxy offers is used: Digest before Basic.
/// - A Digest answer is renewed if the nonce is stale, if an earlier request learned it and it has been replaced, or if
///   the proxy names another realm.
///   Any other second challenge means that the proxy does not accept the password or the token. A request is sent five
///   times at most.
struct ProxyAuthentication: Sendable {
  /// The authentication that one request or one handshake has sent. Each begins with a new value.
  struct Progress: Sendable {
    fileprivate enum Sent: Equatable {
      case nothing
      case basic
      case digest(nonce: String, realm: String)
      case token
    }

    fileprivate var sent = Sent.nothing
    /// The nonce that this request has learned from its own challenge.
    fileprivate var ownNonce: String?
    /// The number of challenges that were answered.
    fileprivate var answers = 0

    /// Whether the last request had a token.
    var hasSentToken: Bool { sent == .token }
  }

  private enum Method: Sendable {
    case basic
    case digest(DigestSession)
    case token
  }

  /// A challenge that can be answered.
  private enum Challenge {
    case password(PasswordChallenge)
    case token
  }

  private let credentials: ProxyCredentials?
  private let makeClientNonce: @Sendable () -> String
  /// How the next request authenticates; nil if that is not known yet.
  private var method: Method?

  /// Makes the authentication to a proxy.
  ///
  /// - Parameters:
  ///   - credentials: user name and password, or a source of tokens; nil if there are none: then nothing is ever sent.
  ///   - makeClientNonce: makes a random text; 128 random bits by default.
  init(
    _ credentials: ProxyCredentials?,
    makeClientNonce: @escaping @Sendable () -> String = { RandomIdentifier.make() }
  ) {
    self.credentials = credentials
    self.makeClientNonce = makeClientNonce
    if isOnlyBasic { method = .basic }
  }

  /// The source of the token that the next request needs; nil if it needs none.
  var neededTokens: (any ProxyTokens)? {
    if case .token = method, case .tokens(let tokens) = credentials { tokens } else { nil }
  }

  /// Whether the password may be sent by Basic and by no other scheme.
  private var isOnlyBasic: Bool {
    if case .password(_, let schemes) = credentials { schemes == [.basic] } else { false }
  }

  /// Returns the value of `Proxy-Authorization` for a request; nil to send none. A nonce counts as used.
  ///
  /// - Parameters:
  ///   - request: the method, and the target as it is sent: `host:port` for CONNECT, the absolute URL otherwise.
  ///   - token: the token of ``neededTokens``. Without it, the request gets a 407 if another one has found out in the
  ///     meantime that the proxy wants tokens.
  /// - Throws: ``CredentialError`` if the scheme cannot transmit the user name or the password.
  mutating func authorization(
    for request: (method: HTTPMethod, target: String), _ progress: inout Progress, token: String? = nil
  ) throws(CredentialError) -> String? {
    progress.sent = .nothing
    switch (method, credentials) {
    case (.basic, .password(let credential, _)):
      progress.sent = .basic
      return try BasicScheme.authorization(for: credential)
    case (.token, .tokens(let tokens)):
      guard let token else { return nil }
      progress.sent = .token
      return "\(tokens.scheme) \(token)"
    case (.digest(var session), .password(let credential, _)):
      let answer = DigestAnswer(in: session.next(), with: credential, for: request)
      self.method = .digest(session)
      progress.sent = .digest(nonce: session.nonce, realm: session.challenge.realm)
      return try answer.authorization(hash: MessageDigest.hash)
    default: return nil
    }
  }

  /// Processes a 407. Returns whether to send the request again, with the answer to the challenge; false means that the
  /// 407 is final.
  mutating func answers(_ fields: HTTPFields, _ progress: inout Progress) -> Bool {
    guard let challenge = challenge(in: fields) else { return false }
    switch (progress.sent, challenge) {
    case (.nothing, _), (.basic, .password(.digest)), (.basic, .token), (.digest, .token): break
    case (.digest(let nonce, let realm), .password(.digest(let challenge))):
      guard challenge.isStale || challenge.realm != realm || (progress.ownNonce != nonce && challenge.nonce != nonce)
      else {
        return refused(nonce: nonce)
      }
    case (.basic, .password(.basic)), (.token, _): return refused(nonce: nil)
    case (.digest(let nonce, _), .password(.basic)): return refused(nonce: nonce)
    }
    guard progress.answers < 4 else { return false }
    progress.answers += 1
    adopt(challenge)
    if case .password(.digest(let challenge)) = challenge { progress.ownNonce = challenge.nonce }
    return true
  }

  /// Processes the head of a response that is not a 407: a proxy may name the nonce for the next requests (RFC 7615
  /// §4).
  mutating func accepted(_ fields: HTTPFields, _ progress: Progress) {
    guard case .digest(var session) = method, case .digest(let nonce, _) = progress.sent, nonce == session.nonce,
      let text = fields["Proxy-Authentication-Info"],
      let next = AuthenticationInfo([.authenticationInfo: text])?.nextNonce, next != nonce
    else { return }
    session.adopt(next)
    method = .digest(session)
  }

  private mutating func adopt(_ challenge: Challenge) {
    switch challenge {
    case .token: method = .token
    case .password(.basic): method = .basic
    case .password(.digest(let challenge)):
      // A nonce in use continues to be counted: it is never sent twice with the same count.
      if case .digest(let session) = method, session.nonce == challenge.nonce,
        session.challenge.realm == challenge.realm
      {
        return
      }
      method = .digest(DigestSession(challenge, clientNonce: makeClientNonce()))
    }
  }

  /// Forgets the refused method, unless another request has learned something newer. Returns false.
  private mutating func refused(nonce: String?) -> Bool {
    switch method {
    case .digest(let session) where session.nonce == nonce: method = nil
    case .basic where !isOnlyBasic: method = nil
    case .token: method = nil
    default: break
    }
    return false
  }

  /// Returns the strongest challenge that the credentials can answer.
  private func challenge(in fields: HTTPFields) -> Challenge? {
    let challenges = AuthenticationChallenge.challenges(in: fields, .proxyAuthenticate)
    switch credentials {
    case nil: return nil
    case .tokens(let tokens): return challenges.contains { $0.isScheme(tokens.scheme) } ? .token : nil
    case .password(_, let schemes):
      let strongest = PasswordChallenge.strongest(of: challenges, allowing: schemes, realm: nil) {
        MessageDigest.hash($0, Data()) != nil
      }
      return strongest.map { .password($0) }
    }
  }
}

extension ProxyAuthentication: CustomStringConvertible, CustomReflectable {
  var description: String { "authentication to a proxy" }
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A transport's knowledge about authentication to its proxies.
final class ProxyAuthentications: Sendable {
  private let proxies = Mutex<[ProxyServer: ProxyAuthentication]>([:])

  /// Calls the closure with the authentication to a proxy.
  func use<Result>(
    _ server: ProxyServer, _ body: (inout ProxyAuthentication) throws(HTTPError) -> Result
  ) throws(HTTPError) -> Result {
    try proxies.withLock { proxies throws(HTTPError) in
      try body(&proxies[server, default: ProxyAuthentication(server.credentials)])
    }
  }
}
#endif
