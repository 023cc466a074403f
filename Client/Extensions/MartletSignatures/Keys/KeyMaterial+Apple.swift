#if canImport(Darwin)
import CryptoKit
import MartletSemantics
import Security

/// A key of CryptoKit, or of the Security framework for RSA.
final class KeyMaterial: Sendable {
  private enum Key: Sendable {
    case secret(SymmetricKey)
    case p256(P256.Signing.PrivateKey?, P256.Signing.PublicKey)
    case p384(P384.Signing.PrivateKey?, P384.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PrivateKey?, Curve25519.Signing.PublicKey)
    /// The bytes that Security reads: RSAPrivateKey or RSAPublicKey (RFC 8017 §A.1).
    case rsa(Data, isRestricted: Bool)
  }

  private let key: Key
  let kind: KeyKind?
  let canSign: Bool

  init?(_ bytes: Data, as form: KeyForm) {
    guard let (key, kind) = Self.curve(bytes, as: form) ?? Self.rsa(bytes, as: form) else { return nil }
    (self.key, self.kind, canSign) = (key, kind, form == .privateKey)
  }

  init?(secret: Data) { (key, kind, canSign) = (.secret(SymmetricKey(data: secret)), nil, true) }

  private init(_ key: Key, _ kind: KeyKind) { (self.key, self.kind, canSign) = (key, kind, true) }

  /// Makes a new key for elliptic curves; nil for another kind.
  static func generated(_ kind: KeyKind) -> KeyMaterial? {
    switch kind {
    case .p256:
      let key = P256.Signing.PrivateKey()
      return KeyMaterial(.p256(key, key.publicKey), kind)
    case .p384:
      let key = P384.Signing.PrivateKey()
      return KeyMaterial(.p384(key, key.publicKey), kind)
    case .ed25519:
      let key = Curve25519.Signing.PrivateKey()
      return KeyMaterial(.ed25519(key, key.publicKey), kind)
    case .rsa, .rsaPSS: return nil
    }
  }

  /// The private key in a form that the initializer reads; nil for a public key or a secret.
  var privateBytes: Data? {
    switch key {
    case .secret: nil
    case .p256(let key, _): key?.derRepresentation
    case .p384(let key, _): key?.derRepresentation
    case .ed25519(let key, _):
      key.map {
        Data([0x30, 0x2E, 0x02, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]) + $0.rawRepresentation
      }
    case .rsa(let content, _): canSign ? content : nil
    }
  }

  /// The numbers of the public key: modulus and exponent of RSA, the coordinates of a point, or the bytes of Ed25519.
  var publicNumbers: [Data]? {
    switch key {
    case .secret: return nil
    case .p256(_, let key): return [key.rawRepresentation.prefix(32), key.rawRepresentation.suffix(32)]
    case .p384(_, let key): return [key.rawRepresentation.prefix(48), key.rawRepresentation.suffix(48)]
    case .ed25519(_, let key): return [key.rawRepresentation]
    case .rsa(let content, _):
      // RSAPublicKey begins with both numbers, RSAPrivateKey with a version before them (RFC 8017 §A.1).
      let integers = DER.integers(in: content)
      let start = canSign ? 1 : 0
      return integers.count >= start + 2 ? Array(integers[start..<start + 2]) : nil
    }
  }

  /// Returns the SHA-256 of the data.
  static func sha256(_ data: Data) -> Data? { Data(SHA256.hash(data: data)) }

  private static func curve(_ bytes: Data, as form: KeyForm) -> (Key, KeyKind)? {
    switch form {
    case .privateKey:
      if let key = try? P256.Signing.PrivateKey(derRepresentation: bytes) { return (.p256(key, key.publicKey), .p256) }
      if let key = try? P384.Signing.PrivateKey(derRepresentation: bytes) { return (.p384(key, key.publicKey), .p384) }
      // PKCS #8 of RFC 8410 §7: a fixed beginning, and the 32 bytes of the key.
      let head = Data([0x30, 0x2E, 0x02, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20])
      guard bytes.starts(with: head), bytes.count == 48,
        let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.suffix(32))
      else { return nil }
      return (.ed25519(key, key.publicKey), .ed25519)
    case .publicKey:
      if let key = try? P256.Signing.PublicKey(derRepresentation: bytes) { return (.p256(nil, key), .p256) }
      if let key = try? P384.Signing.PublicKey(derRepresentation: bytes) { return (.p384(nil, key), .p384) }
      let head = Data([0x30, 0x2A, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 3, 0x21, 0])
      guard bytes.starts(with: head), bytes.count == 44,
        let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes.suffix(32))
      else { return nil }
      return (.ed25519(nil, key), .ed25519)
    case .publicRSAKey: return nil
    }
  }

  /// Reads RSA's own form, or the one that PKCS #8 or SubjectPublicKeyInfo wraps behind the algorithm's identifier.
  private static func rsa(_ bytes: Data, as form: KeyForm) -> (Key, KeyKind)? {
    let isPrivate = form == .privateKey
    // 1.2.840.113549.1.1.1 is rsaEncryption, …10 is RSASSA-PSS (RFC 4055).
    let family = Data([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1])
    var (content, isRestricted) = (bytes, false)
    if let identifier = bytes.prefix(64).firstRange(of: family), identifier.upperBound < bytes.endIndex {
      isRestricted = bytes[identifier.upperBound] == 10
      // The wrapped key is the last sequence: after an octet string's head, or a bit string's and its zero.
      guard let start = bytes[identifier.upperBound...].firstRange(of: Data([0x30, 0x82])) else { return nil }
      content = Data(bytes[start.lowerBound...])
    }
    guard let key = security(content, isPrivate: isPrivate) else { return nil }
    let bits = SecKeyGetBlockSize(key) * 8
    return (.rsa(content, isRestricted: isRestricted), isRestricted ? .rsaPSS(bits: bits) : .rsa(bits: bits))
  }

  private static func security(_ content: Data, isPrivate: Bool) -> SecKey? {
    let attributes =
      [
        kSecAttrKeyType: kSecAttrKeyTypeRSA,
        kSecAttrKeyClass: isPrivate ? kSecAttrKeyClassPrivate : kSecAttrKeyClassPublic,
      ] as CFDictionary
    return SecKeyCreateWithData(content as CFData, attributes, nil)
  }

  private static func padding(of algorithm: SignatureAlgorithm) -> SecKeyAlgorithm {
    algorithm == .rsaPSSSHA512 ? .rsaSignatureMessagePSSSHA512 : .rsaSignatureMessagePKCS1v15SHA256
  }

  func signature(of data: Data, _ algorithm: SignatureAlgorithm) -> Data? {
    switch key {
    case .secret(let secret): return Data(HMAC<SHA256>.authenticationCode(for: data, using: secret))
    case .p256(let key, _): return try? key?.signature(for: data).rawRepresentation
    case .p384(let key, _): return try? key?.signature(for: data).rawRepresentation
    case .ed25519(let key, _): return try? key?.signature(for: data)
    case .rsa(let content, _):
      guard let key = Self.security(content, isPrivate: true) else { return nil }
      return SecKeyCreateSignature(key, Self.padding(of: algorithm), data as CFData, nil) as Data?
    }
  }

  func isValid(_ signature: Data, of data: Data, _ algorithm: SignatureAlgorithm) -> Bool {
    switch key {
    case .secret(let secret):
      return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: data, using: secret)
    case .p256(_, let key):
      guard let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
      return key.isValidSignature(parsed, for: data)
    case .p384(_, let key):
      guard let parsed = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
      return key.isValidSignature(parsed, for: data)
    case .ed25519(_, let key): return key.isValidSignature(signature, for: data)
    case .rsa(let content, _):
      let stored = Self.security(content, isPrivate: canSign)
      guard let stored, let key = canSign ? SecKeyCopyPublicKey(stored) : stored else { return false }
      return SecKeyVerifySignature(key, Self.padding(of: algorithm), data as CFData, signature as CFData, nil)
    }
  }
}
#endif
