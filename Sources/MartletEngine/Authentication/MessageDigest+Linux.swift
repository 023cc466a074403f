#if os(Linux)
import CCrypto
package import MartletSemantics

/// The hashes of the Digest scheme, computed by the system's libcrypto.
package enum MessageDigest {
  /// nil where the library was set up not to offer the hash, as MD5 under FIPS.
  package static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
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
#endif
