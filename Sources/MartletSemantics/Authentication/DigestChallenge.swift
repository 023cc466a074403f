/// A challenge of the Digest scheme that can be answered (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Hashable {
  package let realm: String
  package let nonce: String
  package let opaque: String?
  package let algorithm: DigestAlgorithm
  /// Whether the key is made anew for each session (`-sess`).
  package let isSession: Bool
  /// The algorithm as the server wrote it, which goes back with the answer; nil if it named none.
  package let writtenAlgorithm: String?
  /// Whether the server knows `qop=auth`; otherwise it speaks the digest of RFC 2069.
  package let hasQuality: Bool
  /// Whether only the nonce was too old: user name and password are right.
  package let isStale: Bool
  /// Whether user name and password are UTF-8.
  package let isUTF8: Bool
  /// Whether the user's name is to be sent as a hash.
  package let hashesUser: Bool
  /// Where else the answer is good, as the server wrote it; empty means all of the origin.
  package let domain: [String]

  /// Reads a challenge; nil if its scheme is not Digest, it has no nonce, its algorithm is unknown, or it insists on a
  /// quality of protection other than `auth`: `auth-int` is not offered, because it would need the whole body beforehand.
  package init?(_ challenge: AuthenticationChallenge) {
    let parameters = challenge.parameters
    guard challenge.isScheme("Digest"), let nonce = parameters["nonce"],
      let (algorithm, isSession) = DigestAlgorithm.parse(parameters["algorithm"] ?? "MD5")
    else { return nil }
    let qualities = (parameters["qop"] ?? "").utf8
      .split { $0 == UInt8(ascii: ",") || ASCII.isWhitespace($0) }.map { ASCII.lowercased(Substring($0)) }
    guard qualities.isEmpty || qualities.contains("auth") else { return nil }
    realm = challenge.realm ?? ""
    self.nonce = nonce
    opaque = parameters["opaque"]
    self.algorithm = algorithm
    self.isSession = isSession
    writtenAlgorithm = parameters["algorithm"]
    hasQuality = !qualities.isEmpty
    isStale = ASCII.equalIgnoringCase(parameters["stale"] ?? "", "true")
    isUTF8 = ASCII.equalIgnoringCase(parameters["charset"] ?? "", "UTF-8")
    hashesUser = ASCII.equalIgnoringCase(parameters["userhash"] ?? "", "true")
    domain = (parameters["domain"] ?? "").split(separator: " ").map(String.init)
  }

  /// The beginnings of the paths of this origin at which the answer is good (§3.3, `domain`). Those of other origins are
  /// left out: what was given to one origin is not for another.
  package func protectedPaths(at url: URL) -> [String] {
    guard !domain.isEmpty else { return ["/"] }
    let origin = Origin(url)
    return domain.compactMap { reference in
      guard let target = URL(string: reference, relativeTo: url)?.absoluteURL, Origin(target) == origin else {
        return nil
      }
      let path = target.path(percentEncoded: true)
      return path.isEmpty ? "/" : path
    }
  }
}
