#if os(Linux)
import CCrypto
public import MartletSemantics

/// AES-256-GCM (NIST SP 800-38D), computed by the system's libcrypto.
@_spi(Toolkit) public enum AuthenticatedCipher {
  /// The length of a key in bytes.
  public static let keyLength = 32
  /// The length of a nonce in bytes. A nonce must be used only once with a key; random ones suffice for 2^32 messages
  /// (§8.3).
  public static let nonceLength = 12
  /// The length of the tag, which follows the ciphertext, in bytes.
  public static let tagLength = 16

  /// Returns the ciphertext and its tag; nil if a length is wrong.
  public static func seal(_ data: Data, key: Data, nonce: Data, authenticating context: Data) -> Data? {
    guard key.count == keyLength, nonce.count == nonceLength, let cipher = Cipher(key, nonce, encrypts: 1),
      cipher.authenticate(context), let sealed = cipher.transform(data), cipher.finish(), let tag = cipher.tag()
    else { return nil }
    return sealed + tag
  }

  /// Returns the plaintext; nil if the key, the nonce, the context or any byte has changed.
  public static func open(_ sealed: Data, key: Data, nonce: Data, authenticating context: Data) -> Data? {
    guard key.count == keyLength, nonce.count == nonceLength, sealed.count >= tagLength,
      let cipher = Cipher(key, nonce, encrypts: 0), cipher.authenticate(context),
      let data = cipher.transform(Data(sealed.dropLast(tagLength))),
      cipher.setTag(Data(sealed.suffix(tagLength))), cipher.finish()
    else { return nil }
    return data
  }

  /// One use of the library's cipher. Every call returns whether it succeeded.
  private final class Cipher {
    private let context: OpaquePointer

    init?(_ key: Data, _ nonce: Data, encrypts: Int32) {
      CryptoLibrary.start()
      guard let context = EVP_CIPHER_CTX_new() else { return nil }
      self.context = context
      guard EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, Array(key), Array(nonce), encrypts) == 1 else {
        return nil
      }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func authenticate(_ data: Data) -> Bool {
      guard let count = Int32(exactly: data.count) else { return false }
      var length: Int32 = 0
      return EVP_CipherUpdate(context, nil, &length, Array(data), count) == 1
    }

    func transform(_ data: Data) -> Data? {
      guard let count = Int32(exactly: data.count) else { return nil }
      var bytes = [UInt8](repeating: 0, count: max(1, data.count))
      var length: Int32 = 0
      guard EVP_CipherUpdate(context, &bytes, &length, Array(data), count) == 1, length == count else { return nil }
      return Data(bytes.prefix(data.count))
    }

    /// Ends the operation: GCM has no more output then. The tag of a ciphertext is compared here.
    func finish() -> Bool {
      var rest = [UInt8](repeating: 0, count: tagLength)
      var length: Int32 = 0
      return EVP_CipherFinal_ex(context, &rest, &length) == 1
    }

    func tag() -> Data? {
      var tag = [UInt8](repeating: 0, count: tagLength)
      guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(tagLength), &tag) == 1 else { return nil }
      return Data(tag)
    }

    func setTag(_ tag: Data) -> Bool {
      var tag = Array(tag)
      return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(tagLength), &tag) == 1
    }
  }
}
#endif
