public import MartletSemantics

#if os(Linux)
import CCrypto

/// Derives keys from passwords with PBKDF2-HMAC-SHA-256 (RFC 8018 §5.2), computed by the system's libcrypto.
@_spi(Credentials) public enum PasswordKey {
  /// Returns a key of 32 bytes; nil if the library refuses.
  public static func derive(from password: String, salt: Data, steps: Int32) -> Data? {
    CryptoLibrary.start()
    let password = password.utf8.map { CChar(bitPattern: $0) }
    var key = [UInt8](repeating: 0, count: 32)
    let isDone = PKCS5_PBKDF2_HMAC(
      password, Int32(password.count), Array(salt), Int32(salt.count), steps, EVP_sha256(), Int32(key.count), &key)
    return isDone == 1 ? Data(key) : nil
  }
}
#else
import CommonCrypto

/// Derives keys from passwords with PBKDF2-HMAC-SHA-256 (RFC 8018 §5.2), computed by CommonCrypto.
@_spi(Credentials) public enum PasswordKey {
  /// Returns a key of 32 bytes; nil if the library refuses.
  public static func derive(from password: String, salt: Data, steps: Int32) -> Data? {
    let password = password.utf8.map { CChar(bitPattern: $0) }
    var key = [UInt8](repeating: 0, count: 32)
    let status = CCKeyDerivationPBKDF(
      CCPBKDFAlgorithm(kCCPBKDF2), password, password.count, Array(salt), salt.count,
      CCPseudoRandomAlgorithm(kCCPRFHmacAlgSHA256), UInt32(steps), &key, key.count)
    return status == kCCSuccess ? Data(key) : nil
  }
}
#endif
