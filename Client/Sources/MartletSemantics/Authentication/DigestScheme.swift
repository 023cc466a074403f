/// A supported challenge of the Digest scheme (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Hashable {
  package let realm: String
  package let nonce: String
  package let opaque: String?
  package let algorithm: DigestAlgorithm
  /// Whether the key is derived from the nonces of the session (`-sess`).
  package let isSession: Bool
  /// The algorithm as the server wrote it, which the answer repeats; nil if the server named none.
  package let writtenAlgorithm: String?
  /// Whether the server offers a quality of protection; otherwise the response is computed as in RFC 2069.
  package let hasQualityOfProtection: Bool
  /// Whether the answer covers the body of the request (`qop=auth-int`): the server does not offer `auth`.
  package let coversBody: Bool
  /// Whether only the nonce was too old, and user name and password are correct.
  package let isStale: Bool
  /// Whether the server expects user name and password in UTF-8.
  package let isUTF8: Bool
  /// Whether the user name is sent as a hash.
  package let hashesUser: Bool
  /// The URIs at which the answer is valid, as the server wrote them; empty means the whole origin.
  package let domain: [String]

  /// Makes a challenge; nil if the scheme is not Digest, the nonce is missing, the algorithm is unknown, or the server
  /// requires a quality of protection other than `auth` and `auth-int`. If both are offered, `auth` is used: `auth-int`
  /// needs the whole body before the first byte is sent.
  package init?(_ challenge: AuthenticationChallenge) {
    let parameters = challenge.parameters
    guard challenge.isScheme(PasswordScheme.digest.name), let nonce = parameters["nonce"],
      let (algorithm, isSession) = DigestAlgorithm.parse(parameters["algorithm"] ?? "MD5")
    else { return nil }
    let qualities = (parameters["qop"] ?? "").utf8
      .split { $0 == UInt8(ascii: ",") || ASCII.isWhitespace($0) }.map { ASCII.lowercased(Substring($0)) }
    coversBody = !qualities.isEmpty && !qualities.contains("auth")
    guard !coversBody || qualities.contains("auth-int") else { return nil }
    realm = challenge.realm ?? ""
    self.nonce = nonce
    opaque = parameters["opaque"]
    self.algorithm = algorithm
    self.isSession = isSession
    writtenAlgorithm = parameters["algorithm"]
    hasQualityOfProtection = !qualities.isEmpty
    isStale = ASCII.equalIgnoringCase(parameters["stale"] ?? "", "true")
    isUTF8 = ASCII.equalIgnoringCase(parameters["charset"] ?? "", "UTF-8")
    hashesUser = ASCII.equalIgnoringCase(parameters["userhash"] ?? "", "true")
    domain = (parameters["domain"] ?? "").split(separator: " ").map(String.init)
  }

  /// Returns the path prefixes of this origin at which the answer is valid (§3.3, `domain`). URIs of other origins are
  /// omitted: an origin's credentials are never sent to another one.
  package func protectedPaths(at url: URL) -> [String] {
    guard !domain.isEmpty else { return ["/"] }
    let origin = Origin(url)
    return domain.compactMap { reference in
      guard let target = URL(reference: reference, relativeTo: url), Origin(target) == origin else { return nil }
      let path = target.path(percentEncoded: true)
      return path.isEmpty ? "/" : path
    }
  }
}

/// The hash algorithms of the Digest scheme (RFC 7616 §3.2), the weakest first.
///
/// SHA-512-256 is SHA-512/256 of FIPS 180-4. (The RFC's example uses a truncated SHA-512, which is another function:
/// erratum 4897.)
@_spi(Toolkit) public enum DigestAlgorithm: Int, Sendable, Hashable, CaseIterable, Comparable {
  case md5
  case sha256
  case sha512_256

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Parses `MD5`, `SHA-256-sess` and so on, in upper or lower case; nil if the name is unknown.
  static func parse(_ name: String) -> (algorithm: DigestAlgorithm, isSession: Bool)? {
    switch ASCII.lowercased(name) {
    case "md5": (.md5, false)
    case "md5-sess": (.md5, true)
    case "sha-256": (.sha256, false)
    case "sha-256-sess": (.sha256, true)
    case "sha-512-256": (.sha512_256, false)
    case "sha-512-256-sess": (.sha512_256, true)
    default: nil
    }
  }
}

/// Computes a hash; nil if the system does not offer it, such as MD5 if only approved algorithms are allowed.
package typealias DigestHash = (DigestAlgorithm, Data) -> Data?

/// The state that all answers to one Digest challenge share. The client nonce stays the same, so the key of a `-sess`
/// algorithm does too.
package struct DigestSession: Sendable, Hashable {
  package let challenge: DigestChallenge
  package let clientNonce: String
  /// The server's nonce: that of the challenge, or a later `nextnonce`.
  package private(set) var nonce: String
  /// The number of requests that were sent with this nonce (`nc`).
  package private(set) var count: UInt32

  /// Makes a session; by default a new one, with the nonce of the challenge.
  package init(_ challenge: DigestChallenge, clientNonce: String, nonce: String? = nil, count: UInt32 = 0) {
    self.challenge = challenge
    self.clientNonce = clientNonce
    self.nonce = nonce ?? challenge.nonce
    self.count = count
  }

  /// Counts a request, and returns the session with which that request answers the challenge.
  package mutating func next() -> DigestSession {
    count &+= 1
    return self
  }

  /// Continues with a nonce that the server has named.
  package mutating func adopt(_ nextNonce: String) { (nonce, count) = (nextNonce, 0) }
}

/// The answer of one request to a challenge of the Digest scheme (RFC 7616 §3.4).
package struct DigestAnswer: Sendable, Hashable {
  /// The session, in which this request has been counted.
  private let session: DigestSession
  package let credential: Credential
  package let method: String
  /// The request target as it is sent: path and query, `*`, or for a proxy the absolute URL or `host:port`.
  package let target: String
  /// The body of the request, which counts only if ``DigestChallenge/coversBody``; empty by default.
  package var body = Data()

  package init(
    in session: DigestSession, with credential: Credential, for request: (method: HTTPMethod, target: String)
  ) {
    self.session = session
    self.credential = credential
    method = request.method.rawValue
    target = request.target
  }

  /// Makes the answer of a request to the origin of its URL.
  package init(
    in session: DigestSession, with credential: Credential, for request: (method: HTTPMethod, url: URL)
  ) {
    let target = Self.target(of: request.url, for: request.method)
    self.init(in: session, with: credential, for: (request.method, target: target))
  }

  package var challenge: DigestChallenge { session.challenge }

  /// The server's nonce.
  package var nonce: String { session.nonce }

  /// The number of requests that were sent with this nonce, including this one (`nc`).
  package var count: UInt32 { session.count }

  package var clientNonce: String { session.clientNonce }

  /// Returns the value of `Authorization`; nil if the system does not offer the hash.
  ///
  /// - Throws: ``CredentialError`` if user name or password contain a control character.
  package func authorization(hash: DigestHash) throws(CredentialError) -> String? {
    guard !(credential.user + credential.password).utf8.contains(where: ASCII.isControl) else {
      throw CredentialError("the user name or the password contains a control character, which Digest cannot transmit")
    }
    guard let response = response(method: method, hash: hash), let user = userParameters(hash: hash) else { return nil }
    var parameters = [user.name, "realm=\(QuotedString.quoted(challenge.realm))"]
    parameters.append("nonce=\(QuotedString.quoted(nonce))")
    parameters.append("uri=\(QuotedString.quoted(target))")
    if let algorithm = challenge.writtenAlgorithm { parameters.append("algorithm=\(algorithm)") }
    parameters.append("response=\"\(response)\"")
    if let opaque = challenge.opaque { parameters.append("opaque=\(QuotedString.quoted(opaque))") }
    if challenge.hasQualityOfProtection { parameters.append("qop=\(quality), nc=\(count.digits(8, radix: 16))") }
    if challenge.hasQualityOfProtection || challenge.isSession {
      parameters.append("cnonce=\(QuotedString.quoted(clientNonce))")
    }
    if user.isHashed { parameters.append("userhash=true") }
    return "Digest " + parameters.joined(separator: ", ")
  }

  /// Returns whether the `rspauth` of `Authentication-Info` is correct. A server can only compute it from the password
  /// (§3.5). nil if there is none for this answer, if it covers the body of the response, or if the system does not
  /// offer the hash.
  package func isProven(by info: AuthenticationInfo, hash: DigestHash) -> Bool? {
    guard challenge.hasQualityOfProtection, !challenge.coversBody, let proof = info.responseProof,
      proof.utf8.count == 32 || proof.utf8.count == 64,
      info.qualityOfProtection.map({ ASCII.equalIgnoringCase($0, "auth") }) != false,
      info.clientNonce ?? clientNonce == clientNonce,
      info.count.map({ UInt32($0, radix: 16) == count }) != false,
      let expected = response(method: "", hash: hash)
    else { return nil }
    return ASCII.equalIgnoringCase(proof, expected)
  }

  /// Returns the digest of §3.4.1 to §3.4.3. With an empty method it is the server's proof (§3.5).
  private func response(method: String, hash: DigestHash) -> String? {
    func hashed(_ text: String) -> String? {
      hash(challenge.algorithm, Data(text.utf8))?.hexadecimal
    }
    guard var secret = hashed("\(credential.user):\(challenge.realm):\(credential.password)") else { return nil }
    if challenge.isSession {
      // The key stays the same if the server continues with another nonce (§3.4.2).
      guard let key = hashed("\(secret):\(challenge.nonce):\(clientNonce)") else { return nil }
      secret = key
    }
    guard let bodyHash = challenge.coversBody ? hash(challenge.algorithm, body)?.hexadecimal : "",
      let request = hashed("\(method):\(target)\(challenge.coversBody ? ":" + bodyHash : "")")
    else { return nil }
    guard challenge.hasQualityOfProtection else { return hashed("\(secret):\(nonce):\(request)") }
    return hashed("\(secret):\(nonce):\(count.digits(8, radix: 16)):\(clientNonce):\(quality):\(request)")
  }

  /// The quality of protection of the answer.
  private var quality: String { challenge.coversBody ? "auth-int" : "auth" }

  /// Returns the user name as a parameter: hashed if the server asks for that (§3.4.4), in the extended notation of RFC
  /// 8187 if it is not ASCII and the server expects UTF-8, quoted otherwise.
  private func userParameters(hash: DigestHash) -> (name: String, isHashed: Bool)? {
    if challenge.hashesUser {
      guard let bytes = hash(challenge.algorithm, Data("\(credential.user):\(challenge.realm)".utf8)) else {
        return nil
      }
      return ("username=\"\(bytes.hexadecimal)\"", true)
    }
    guard challenge.isUTF8, !credential.user.utf8.allSatisfy({ $0 < 128 }) else {
      return ("username=\(QuotedString.quoted(credential.user))", false)
    }
    return ("username*=UTF-8''\(PercentEncoding.extendedValue.encode(credential.user))", false)
  }

  /// Returns the path, which is never empty, and the query of a URL; `*` for an OPTIONS of a URL without them, which
  /// addresses the server itself (RFC 9112 §3.2.4).
  package static func target(of url: URL, for method: HTTPMethod) -> String {
    let path = url.path(percentEncoded: true)
    let query = url.query(percentEncoded: true)
    guard method != .options || !path.isEmpty || query != nil else { return "*" }
    return (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "")
  }
}

extension DigestAnswer: CustomStringConvertible, CustomReflectable {
  package var description: String { "a Digest answer" }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The `Authentication-Info` of a response to an accepted Digest answer (RFC 9110 §11.6.3, RFC 7616 §3.5).
package struct AuthenticationInfo: Sendable, Hashable {
  private var parameters = FieldParameters()

  /// Parses the field of a response; nil if there is none.
  package init?(_ fields: HTTPFields) {
    guard fields.contains(.authenticationInfo) else { return nil }
    var names: Set<FieldName> = []
    for element in fields.list(.authenticationInfo) {
      guard let (name, value) = FieldParameters.pair(in: element[...]), let value else { continue }
      parameters.appendFirst(name, value, names: &names)
    }
  }

  /// The nonce for the next requests.
  package var nextNonce: String? { parameters["nextnonce"].flatMap { $0.isEmpty ? nil : $0 } }
  /// The server's proof that it has the password.
  package var responseProof: String? { parameters["rspauth"] }

  var qualityOfProtection: String? { parameters["qop"] }
  var clientNonce: String? { parameters["cnonce"] }
  var count: String? { parameters["nc"] }
}
