#if os(Linux)
import CCrypto
package import MartletSemantics

/// Computes hashes with the system's libcrypto.
package enum MessageDigest {
  /// Returns the hash of the data; nil if libcrypto does not offer the algorithm, such as MD5 in FIPS mode.
  package static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
    CryptoLibrary.start()
    let type =
      switch algorithm {
      case .md5: EVP_md5()
      case .sha256: EVP_sha256()
      case .sha512_256: EVP_sha512_256()
      }
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let isDone = data.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &bytes, &count, type, nil) }
    return isDone == 1 ? Data(bytes.prefix(Int(count))) : nil
  }
}
#else
import CryptoKit
package import MartletSemantics

/// Computes hashes with CryptoKit.
package enum MessageDigest {
  /// Returns the hash of the data; nil for SHA-512/256, which CryptoKit does not offer.
  package static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
    switch algorithm {
    case .md5: Data(Insecure.MD5.hash(data: data))
    case .sha256: Data(SHA256.hash(data: data))
    case .sha512_256: nil
    }
  }
}
#endif
