#if os(Linux)
import CCrypto
@_spi(Toolkit) public import MartletSemantics

/// Computes hashes with the system's libcrypto.
@_spi(Toolkit) public enum MessageDigest {
  /// Returns the hash of the data; nil if libcrypto does not offer the algorithm, such as MD5 in FIPS mode.
  public static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
    switch algorithm {
    case .md5: hash(EVP_md5, data)
    case .sha256: hash(EVP_sha256, data)
    case .sha512_256: hash(EVP_sha512_256, data)
    }
  }

  /// Returns the SHA-1 of the data, for RFC 6455, where nothing depends on its strength; nil if libcrypto does not
  /// offer it.
  public static func sha1(_ data: Data) -> Data? { hash(EVP_sha1, data) }

  private static func hash(_ type: () -> OpaquePointer?, _ data: Data) -> Data? {
    CryptoLibrary.start()
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let isDone = data.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &bytes, &count, type(), nil) }
    return isDone == 1 ? Data(bytes.prefix(Int(count))) : nil
  }
}

/// A hash of bytes that arrive in pieces.
@_spi(Toolkit) public final class IncrementalDigest {
  private let context: OpaquePointer

  /// Returns nil if libcrypto does not offer the algorithm.
  public init?(_ algorithm: IntegrityDigest.Algorithm) {
    CryptoLibrary.start()
    guard let context = EVP_MD_CTX_new() else { return nil }
    self.context = context  // The deinitializer frees it, even if this returns nil.
    guard EVP_DigestInit_ex(context, algorithm == .sha256 ? EVP_sha256() : EVP_sha512(), nil) == 1 else { return nil }
  }

  public func update(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The hash of all bytes.
  public func value() -> Data {
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    EVP_DigestFinal_ex(context, &bytes, &count)
    return Data(bytes.prefix(Int(count)))
  }

  deinit { EVP_MD_CTX_free(context) }
}
#else
import CryptoKit
@_spi(Toolkit) public import MartletSemantics

/// Computes hashes with CryptoKit.
@_spi(Toolkit) public enum MessageDigest {
  /// Returns the hash of the data; nil for SHA-512/256, which CryptoKit does not offer.
  public static func hash(_ algorithm: DigestAlgorithm, _ data: Data) -> Data? {
    switch algorithm {
    case .md5: Data(Insecure.MD5.hash(data: data))
    case .sha256: Data(SHA256.hash(data: data))
    case .sha512_256: nil
    }
  }

  /// Returns the SHA-1 of the data, for RFC 6455, where nothing depends on its strength.
  public static func sha1(_ data: Data) -> Data? { Data(Insecure.SHA1.hash(data: data)) }
}

/// A hash of bytes that arrive in pieces.
@_spi(Toolkit) public final class IncrementalDigest {
  private var hash: any HashFunction

  public init?(_ algorithm: IntegrityDigest.Algorithm) { hash = algorithm == .sha256 ? SHA256() : SHA512() }

  public func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

  /// The hash of all bytes.
  public func value() -> Data { hash.finalize().withUnsafeBytes { Data($0) } }
}
#endif
