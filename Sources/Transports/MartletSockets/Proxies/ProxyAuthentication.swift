#if os(Linux)
import MartletEngine
import MartletSemantics

/// Authentication to one HTTP proxy, by Basic (RFC 7617) or Digest (RFC 7616). It keeps what the proxy has asked for and
/// counts the uses of its nonce, for all connections to it; it belongs to one ``ProxyServer`` and never sees an origin's
/// challenge.
///
/// - If Basic is the only scheme, the password is sent with the first request. Otherwise the first request is sent
///   without, and what the proxy asked for is answered from then on.
/// - Of the allowed schemes, the strongest that the proxy offers is used: Digest before Basic.
/// - A Digest answer is renewed if the nonce is stale, or was learned by an earlier request and has been replaced. Any
///   other second challenge means that the proxy does not accept the password. A request is sent five times at most.
struct ProxyAuthentication: Sendable {
  /// What one request or one handshake has sent. A new one begins with each.
  struct Progress: Sendable {
    fileprivate enum Sent: Equatable {
      case nothing
      case basic
      case digest(nonce: String)
    }

    fileprivate var sent = Sent.nothing
    /// The nonce that this request has learned from its own challenge.
    fileprivate var ownNonce: String?
    /// The number of challenges that were answered.
    fileprivate var answers = 0
  }

  /// A sequence of answers with the proxy's nonces. The client nonce stays the same, and with it the key of a `-sess`
  /// algorithm.
  private struct DigestSession: Sendable {
    let challenge: DigestChallenge
    let clientNonce: String
    var nonce: String
    var count: UInt32 = 0
  }

  private enum Method: Sendable {
    case basic
    case digest(DigestSession)
  }

  private let credentials: ProxyCredentials?
  private let makeClientNonce: @Sendable () -> String
  /// How the next request authenticates; nil if that is not known.
  private var method: Method?

  /// Makes the authentication to a proxy.
  ///
  /// - Parameters:
  ///   - credentials: user name and password; nil if there are none: then nothing is ever sent.
  ///   - makeClientNonce: makes a random text; 128 random bits by default.
  init(
    _ credentials: ProxyCredentials?, makeClientNonce: @escaping @Sendable () -> String = Self.randomText
  ) {
    self.credentials = credentials
    self.makeClientNonce = makeClientNonce
    if credentials?.schemes == [.basic] { method = .basic }
  }

  /// Returns the value of `Proxy-Authorization` for a request; nil if none is to be sent. A nonce counts as used.
  ///
  /// - Parameter request: the method, and the target as it is sent: `host:port` for CONNECT, the absolute URL otherwise.
  /// - Throws: ``CredentialError`` if the scheme cannot transmit the user name or the password.
  mutating func authorization(
    for request: (method: HTTPMethod, target: String), _ progress: inout Progress
  ) throws(CredentialError) -> String? {
    progress.sent = .nothing
    guard let credential = credentials?.credential, let method else { return nil }
    switch method {
    case .basic:
      progress.sent = .basic
      return try BasicScheme.authorization(for: credential)
    case .digest(var session):
      session.count &+= 1
      self.method = .digest(session)
      progress.sent = .digest(nonce: session.nonce)
      let answer = DigestAnswer(
        to: session.challenge, with: credential, nonce: session.nonce, count: session.count,
        clientNonce: session.clientNonce, for: request)
      return try answer.authorization(hash: MessageDigest.hash)
    }
  }

  /// Processes a 407. Returns whether the request is to be sent again, with the answer to the challenge; false means that
  /// the 407 is final.
  mutating func answers(_ fields: HTTPFields, _ progress: inout Progress) -> Bool {
    guard let credentials, let challenge = Self.challenge(in: fields, credentials.schemes) else { return false }
    switch (progress.sent, challenge) {
    case (.nothing, _), (.basic, .digest): break
    case (.digest(let nonce), .digest(let challenge)):
      guard challenge.isStale || (progress.ownNonce != nonce && challenge.nonce != nonce) else {
        return refused(nonce: nonce)
      }
    case (.basic, .basic): return refused(nonce: nil)
    case (.digest(let nonce), .basic): return refused(nonce: nonce)
    }
    guard progress.answers < 4 else { return false }
    progress.answers += 1
    adopt(challenge)
    if case .digest(let challenge) = challenge { progress.ownNonce = challenge.nonce }
    return true
  }

  /// Processes the head of a response that is not a 407: a proxy may name the nonce for the next requests (RFC 7615 §4).
  mutating func accepted(_ fields: HTTPFields, _ progress: Progress) {
    guard case .digest(var session) = method, case .digest(let nonce) = progress.sent, nonce == session.nonce,
      let text = fields["Proxy-Authentication-Info"],
      let next = AuthenticationInfo([.authenticationInfo: text])?.nextNonce, next != nonce
    else { return }
    session.nonce = next
    session.count = 0
    method = .digest(session)
  }

  private mutating func adopt(_ challenge: PasswordChallenge) {
    switch challenge {
    case .basic: method = .basic
    case .digest(let challenge):
      // a nonce that is in use is counted further: it is never sent twice with the same count
      if case .digest(let session) = method, session.nonce == challenge.nonce { return }
      method = .digest(
        DigestSession(challenge: challenge, clientNonce: makeClientNonce(), nonce: challenge.nonce))
    }
  }

  /// Forgets what was refused, unless another request has learned something newer. Returns false.
  private mutating func refused(nonce: String?) -> Bool {
    switch method {
    case .digest(let session) where session.nonce == nonce: method = nil
    case .basic where credentials?.schemes != [.basic]: method = nil
    default: break
    }
    return false
  }

  /// Returns the strongest challenge of the allowed schemes.
  private static func challenge(in fields: HTTPFields, _ schemes: Set<Proxy.Scheme>) -> PasswordChallenge? {
    let allowed = AuthenticationChallenge.challenges(in: fields, .proxyAuthenticate).filter { challenge in
      (challenge.isScheme("Basic") && schemes.contains(.basic))
        || (challenge.isScheme("Digest") && schemes.contains(.digest))
    }
    return .strongest(of: allowed, realm: nil) { MessageDigest.hash($0, Data()) != nil }
  }

  private static let randomText: @Sendable () -> String = {
    (0..<16).map { _ in DigestAnswer.hexadecimal(UInt8.random(in: 0...255)) }.joined()
  }
}

extension ProxyAuthentication: CustomStringConvertible, CustomReflectable {
  var description: String { "authentication to a proxy" }
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
#endif
