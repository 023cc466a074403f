/// One answer to a challenge of the Digest scheme: what is computed for one request (RFC 7616 §3.4).
package struct DigestAnswer: Sendable, Hashable {
  package let challenge: DigestChallenge
  package let credential: Credential
  /// The server's nonce: the challenge's, or the one that came after it.
  package let nonce: String
  /// How many requests were sent with this nonce, this one included.
  package let count: UInt32
  package let clientNonce: String
  package let method: String
  /// The target of the request line: path and query.
  package let target: String

  package init(
    to challenge: DigestChallenge, with credential: Credential, nonce: String, count: UInt32, clientNonce: String,
    for request: (method: HTTPMethod, url: URL)
  ) {
    self.challenge = challenge
    self.credential = credential
    self.nonce = nonce
    self.count = count
    self.clientNonce = clientNonce
    method = request.method.rawValue
    target = Self.target(of: request.url)
  }

  /// The value of `Authorization`; nil where the system lacks the hash.
  ///
  /// - Throws: ``CredentialError`` where user name or password hold a control character.
  package func authorization(hash: DigestHash) throws(CredentialError) -> String? {
    guard !(credential.user + credential.password).utf8.contains(where: ASCII.isControl) else {
      throw CredentialError("the user's name or the password holds a control character, which Digest cannot carry")
    }
    guard let response = response(method: method, hash: hash), let user = userParameters(hash: hash) else { return nil }
    var parameters = [user.name, "realm=\(QuotedString.quoted(challenge.realm))"]
    parameters.append("nonce=\(QuotedString.quoted(nonce))")
    parameters.append("uri=\(QuotedString.quoted(target))")
    if let algorithm = challenge.writtenAlgorithm { parameters.append("algorithm=\(algorithm)") }
    parameters.append("response=\"\(response)\"")
    if let opaque = challenge.opaque { parameters.append("opaque=\(QuotedString.quoted(opaque))") }
    if challenge.hasQuality { parameters.append("qop=auth, nc=\(Self.written(count))") }
    if challenge.hasQuality || challenge.isSession {
      parameters.append("cnonce=\(QuotedString.quoted(clientNonce))")
    }
    if user.isHashed { parameters.append("userhash=true") }
    return "Digest " + parameters.joined(separator: ", ")
  }

  /// Whether the server's `Authentication-Info` proves that it knows the password too (§3.5); nil where it offers no proof
  /// for this answer, or the system lacks the hash.
  package func isProven(by info: AuthenticationInfo, hash: DigestHash) -> Bool? {
    guard challenge.hasQuality, let proof = info.responseProof, proof.utf8.count == 32 || proof.utf8.count == 64,
      info.quality.map({ ASCII.equalIgnoringCase($0, "auth") }) != false,
      info.clientNonce ?? clientNonce == clientNonce,
      info.count.map({ UInt32($0, radix: 16) == count }) != false,
      let expected = response(method: "", hash: hash)
    else { return nil }
    return ASCII.equalIgnoringCase(proof, expected)
  }

  /// The digest of §3.4.1 to §3.4.3; the server's proof is the one without a method.
  private func response(method: String, hash: DigestHash) -> String? {
    func hashed(_ text: String) -> String? {
      hash(challenge.algorithm, Data(text.utf8)).map { $0.map(Self.hexadecimal).joined() }
    }
    guard var secret = hashed("\(credential.user):\(challenge.realm):\(credential.password)") else { return nil }
    if challenge.isSession {
      // The key belongs to the session: it stays when the server goes on to another nonce (§3.4.2).
      guard let key = hashed("\(secret):\(challenge.nonce):\(clientNonce)") else { return nil }
      secret = key
    }
    guard let request = hashed("\(method):\(target)") else { return nil }
    guard challenge.hasQuality else { return hashed("\(secret):\(nonce):\(request)") }
    return hashed("\(secret):\(nonce):\(Self.written(count)):\(clientNonce):auth:\(request)")
  }

  /// The user's name: hashed where the server asks for that (§3.4.4), in the extended notation of RFC 8187 where it is no
  /// ASCII and the server knows UTF-8, quoted otherwise.
  private func userParameters(hash: DigestHash) -> (name: String, isHashed: Bool)? {
    if challenge.hashesUser {
      guard let bytes = hash(challenge.algorithm, Data("\(credential.user):\(challenge.realm)".utf8)) else {
        return nil
      }
      return ("username=\"\(bytes.map(Self.hexadecimal).joined())\"", true)
    }
    guard challenge.isUTF8, !credential.user.utf8.allSatisfy({ $0 < 128 }) else {
      return ("username=\(QuotedString.quoted(credential.user))", false)
    }
    return ("username*=UTF-8''\(PercentEncoding.extendedValue.encode(credential.user))", false)
  }

  package static func target(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    return (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
  }

  private static func written(_ count: UInt32) -> String {
    let digits = String(count, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  package static func hexadecimal(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}

extension DigestAnswer: CustomStringConvertible, CustomReflectable {
  package var description: String { "an answer to Digest" }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
