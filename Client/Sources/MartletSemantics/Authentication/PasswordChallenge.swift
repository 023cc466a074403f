/// A scheme by which a client proves that it has a password.
@nonexhaustive public enum PasswordScheme: Sendable, Hashable {
  /// The password as plain text (RFC 7617): only as secret as the connection.
  case basic
  /// A hash that proves that the client has the password (RFC 7616).
  case digest

  /// The name of the scheme in a challenge.
  package var name: String {
    switch self {
    case .basic: "Basic"
    case .digest: "Digest"
    }
  }
}

/// A challenge that can be answered with a user name and a password.
package enum PasswordChallenge: Sendable, Hashable {
  case basic(realm: String)
  case digest(DigestChallenge)

  package var realm: String {
    switch self {
    case .basic(let realm): realm
    case .digest(let challenge): challenge.realm
    }
  }

  package var scheme: PasswordScheme {
    switch self {
    case .basic: .basic
    case .digest: .digest
    }
  }

  /// Returns the strongest challenge that can be answered: Digest before Basic, and Digest with the strongest hash
  /// first; nil if there is none.
  ///
  /// Among equals the first is returned, which is the one that the server prefers (RFC 7616 §3.7).
  ///
  /// - Parameters:
  ///   - challenges: the server's challenges, in its order.
  ///   - schemes: the only schemes to be answered; both by default. If Digest is the only one, the answer is never
  ///     Basic, even if the server's Digest challenges cannot be answered.
  ///   - realm: the only realm to be answered; nil means any.
  ///   - knowsBody: whether the body of the request is known, so that an answer can cover it; false by default.
  ///   - supports: whether the system offers a hash.
  package static func strongest(
    of challenges: [AuthenticationChallenge], allowing schemes: Set<PasswordScheme> = [.basic, .digest], realm: String?,
    knowsBody: Bool = false, supports: (DigestAlgorithm) -> Bool = { _ in true }
  ) -> PasswordChallenge? {
    let usable = challenges.filter { challenge in
      (realm == nil || challenge.realm == realm) && schemes.contains { challenge.isScheme($0.name) }
    }
    var best: DigestChallenge?
    for challenge in usable.compactMap(DigestChallenge.init)
    where supports(challenge.algorithm) && (knowsBody || !challenge.coversBody) {
      if let found = best, found.algorithm >= challenge.algorithm { continue }
      best = challenge
    }
    if let best { return .digest(best) }
    return usable.first { $0.isScheme(PasswordScheme.basic.name) }.map { .basic(realm: $0.realm ?? "") }
  }
}

/// The Basic scheme (RFC 7617): user name and password without encryption, only as secret as the connection.
@_spi(Credentials) public enum BasicScheme {
  /// Returns the value of `Authorization`.
  ///
  /// The text is encoded as UTF-8, whether or not the challenge has `charset="UTF-8"`: no other charset can be
  /// requested (§2.1), and without the parameter servers and browsers use UTF-8 in practice.
  ///
  /// - Throws: ``CredentialError`` if the user name contains a colon, which would end it, or if either contains a
  ///   control character (§2).
  public static func authorization(for credential: Credential) throws(CredentialError) -> String {
    guard !credential.user.utf8.contains(UInt8(ascii: ":")) else {
      throw CredentialError(
        "the user name contains a colon, which Basic cannot transmit (RFC 7617 §2): use another name")
    }
    guard !(credential.user + credential.password).utf8.contains(where: ASCII.isControl) else {
      throw CredentialError(
        "the user name or the password contains a control character, which Basic cannot transmit (RFC 7617 §2)")
    }
    return "Basic " + Data("\(credential.user):\(credential.password)".utf8).base64EncodedString()
  }

  /// Returns the path prefix of the URLs to which a credential accepted for one URL can be sent without a challenge
  /// (§2.2).
  package static func protectedPath(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
    return String(path[...slash])
  }
}
