#if canImport(Darwin)
import CryptoKit
public import MartletSemantics

/// AES-256-GCM (NIST SP 800-38D), computed by CryptoKit.
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
    guard key.count == keyLength, let nonce = try? AES.GCM.Nonce(data: nonce),
      let box = try? AES.GCM.seal(data, using: SymmetricKey(data: key), nonce: nonce, authenticating: context)
    else { return nil }
    return box.ciphertext + box.tag
  }

  /// Returns the plaintext; nil if the key, the nonce, the context or any byte has changed.
  public static func open(_ sealed: Data, key: Data, nonce: Data, authenticating context: Data) -> Data? {
    guard key.count == keyLength, sealed.count >= tagLength, let nonce = try? AES.GCM.Nonce(data: nonce),
      let box = try? AES.GCM.SealedBox(
        nonce: nonce, ciphertext: sealed.dropLast(tagLength), tag: sealed.suffix(tagLength))
    else { return nil }
    return try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context)
  }
}
#endif
