/// The hashes of the Digest scheme (RFC 7616 §3.2), the weakest first.
///
/// SHA-512-256 is SHA-512/256 of FIPS 180-4. (The figures of the RFC's example are those of a truncated SHA-512, which is
/// another function: erratum 4897.)
package enum DigestAlgorithm: Int, Sendable, Hashable, CaseIterable, Comparable {
  case md5
  case sha256
  case sha512_256

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Reads `MD5`, `SHA-256-sess` and the like, in any case; nil for an unknown one.
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

/// Computes a hash; nil where the system does not offer it, as MD5 where only approved algorithms are allowed.
package typealias DigestHash = (DigestAlgorithm, Data) -> Data?
