#if canImport(Darwin)
import CryptoKit
package import MartletSemantics

/// The hashes of the Digest scheme, computed by CryptoKit, which has no SHA-512/256.
package enum MessageDigest {
  package static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
    switch algorithm {
    case .md5: Data(Insecure.MD5.hash(data: data))
    case .sha256: Data(SHA256.hash(data: data))
    case .sha512_256: nil
    }
  }
}
#endif
