#if canImport(Darwin)
import CryptoKit
package import MartletSemantics

/// AES-256-GCM (NIST SP 800-38D), computed by CryptoKit.
package enum AuthenticatedCipher {
  /// The bytes of a key.
  package static let keyLength = 32
  /// The bytes of a nonce: each must be used once with a key. Random ones are good for 2^32 messages (§8.3).
  package static let nonceLength = 12
  /// The bytes of the tag, which stands behind the ciphertext.
  package static let tagLength = 16

  /// The ciphertext and its tag; nil because of a length that is wrong.
  package static func seal(_ data: Data, key: Data, nonce: Data, authenticating context: Data) -> Data? {
    guard key.count == keyLength, let nonce = try? AES.GCM.Nonce(data: nonce),
      let box = try? AES.GCM.seal(data, using: SymmetricKey(data: key), nonce: nonce, authenticating: context)
    else { return nil }
    return box.ciphertext + box.tag
  }

  /// What was sealed; nil if key, nonce, context or any byte is not what it was then.
  package static func open(_ sealed: Data, key: Data, nonce: Data, authenticating context: Data) -> Data? {
    guard key.count == keyLength, sealed.count >= tagLength, let nonce = try? AES.GCM.Nonce(data: nonce),
      let box = try? AES.GCM.SealedBox(
        nonce: nonce, ciphertext: sealed.dropLast(tagLength), tag: sealed.suffix(tagLength))
    else { return nil }
    return try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context)
  }
}
#endif
