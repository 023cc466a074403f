#if os(Linux)
import CCrypto
import MartletSemantics

/// A key of the system's libcrypto.
// SAFETY: the key is never changed after the initializer, and libcrypto counts its references with atomic operations.
// Each use of it has a context of its own.
final class KeyMaterial: @unchecked Sendable {
  private let key: OpaquePointer
  let kind: KeyKind?
  let canSign: Bool

  init?(_ bytes: Data, as form: KeyForm) {
    Self.start()
    let key = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
      var position = bytes.bindMemory(to: UInt8.self).baseAddress
      let count = bytes.count
      return switch form {
      case .privateKey: d2i_AutoPrivateKey(nil, &position, count)
      case .publicKey: d2i_PUBKEY(nil, &position, count)
      case .publicRSAKey: d2i_PublicKey(EVP_PKEY_RSA, nil, &position, count)
      }
    }
    ERR_clear_error()
    guard let key else { return nil }
    self.key = key
    kind = Self.kind(of: key)
    canSign = form == .privateKey
  }

  init?(secret: Data) {
    Self.start()
    guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, Array(secret), secret.count) else { return nil }
    self.key = key
    kind = nil
    canSign = true
  }

  private init(generated key: OpaquePointer) {
    self.key = key
    kind = Self.kind(of: key)
    canSign = true
  }

  /// Makes a new key for elliptic curves; nil if libcrypto does not offer the curve, or for another kind.
  static func generated(_ kind: KeyKind) -> KeyMaterial? {
    start()
    defer { ERR_clear_error() }
    let (id, curve): (Int32, String?)
    switch kind {
    case .p256: (id, curve) = (EVP_PKEY_EC, "P-256")
    case .p384: (id, curve) = (EVP_PKEY_EC, "P-384")
    case .ed25519: (id, curve) = (EVP_PKEY_ED25519, nil)
    case .rsa, .rsaPSS: return nil
    }
    guard let context = EVP_PKEY_CTX_new_id(id, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_keygen_init(context) == 1 else { return nil }
    if let curve, EVP_PKEY_CTX_set_group_name(context, curve) != 1 { return nil }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen(context, &key) == 1, let key else { return nil }
    return KeyMaterial(generated: key)
  }

  deinit { EVP_PKEY_free(key) }

  /// The private key in a form that the initializer reads; nil for a public key or a secret.
  var privateBytes: Data? {
    guard canSign, kind != nil else { return nil }
    defer { ERR_clear_error() }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_PrivateKey(key, &bytes)
    guard count > 0, let bytes else { return nil }
    defer { CRYPTO_clear_free(bytes, Int(count), "", 0) }
    return Data(bytes: bytes, count: Int(count))
  }

  /// The numbers of the public key: modulus and exponent of RSA, the coordinates of a point, or the bytes of Ed25519.
  var publicNumbers: [Data]? {
    defer { ERR_clear_error() }
    switch kind {
    case .rsa, .rsaPSS: return numbers("n", "e", length: nil)
    case .p256: return numbers("qx", "qy", length: 32)
    case .p384: return numbers("qx", "qy", length: 48)
    case .ed25519:
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = bytes.count
      return EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 ? [Data(bytes.prefix(count))] : nil
    case nil: return nil
    }
  }

  /// - Parameter length: the number of bytes of each; nil for as many as it has.
  private func numbers(_ names: String..., length: Int?) -> [Data]? {
    var numbers: [Data] = []
    for name in names {
      var number: OpaquePointer?
      guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { return nil }
      defer { BN_free(number) }
      var bytes = [UInt8](repeating: 0, count: length ?? Int(BN_num_bits(number) + 7) / 8)
      guard BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count else { return nil }
      numbers.append(Data(bytes))
    }
    return numbers
  }

  /// Returns the SHA-256 of the data; nil if libcrypto does not offer it.
  static func sha256(_ data: Data) -> Data? {
    start()
    var bytes = [UInt8](repeating: 0, count: 32)
    let isDone = data.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &bytes, nil, EVP_sha256(), nil) }
    return isDone == 1 ? Data(bytes) : nil
  }

  /// Initializes libcrypto without its clean-up at exit, which would free memory that other threads still use. Only the
  /// first initialization of a process decides that, and it may be this one.
  private static func start() { _ = isStarted }

  private static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  private static func kind(of key: OpaquePointer) -> KeyKind? {
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA: return .rsa(bits: Int(EVP_PKEY_get_bits(key)))
    case EVP_PKEY_RSA_PSS: return .rsaPSS(bits: Int(EVP_PKEY_get_bits(key)))
    case EVP_PKEY_ED25519: return .ed25519
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 80)
      guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else { return nil }
      // Names of libcrypto; a key with explicit parameters has none, and is refused.
      return switch String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) {
      case "prime256v1", "P-256": .p256
      case "secp384r1", "P-384": .p384
      default: nil
      }
    default: return nil
    }
  }

  func signature(of data: Data, _ algorithm: SignatureAlgorithm) -> Data? {
    defer { ERR_clear_error() }
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var parameters: OpaquePointer?
    guard EVP_DigestSignInit(context, &parameters, Self.hash(of: algorithm), nil, key) == 1,
      Self.setPadding(parameters, algorithm)
    else { return nil }
    let text = Array(data)
    var count = 0
    guard EVP_DigestSign(context, nil, &count, text, text.count) == 1 else { return nil }
    var signature = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSign(context, &signature, &count, text, text.count) == 1 else { return nil }
    let made = Data(signature.prefix(count))
    return Self.coordinateLength(of: algorithm).map { Self.joined(made, length: $0) } ?? made
  }

  func isValid(_ signature: Data, of data: Data, _ algorithm: SignatureAlgorithm) -> Bool {
    defer { ERR_clear_error() }
    if algorithm == .hmacSHA256 {
      guard let expected = self.signature(of: data, algorithm), expected.count == signature.count else { return false }
      return CRYPTO_memcmp(Array(expected), Array(signature), expected.count) == 0
    }
    var signature = signature
    if let length = Self.coordinateLength(of: algorithm) {
      guard let parsed = Self.split(signature, length: length) else { return false }
      signature = parsed
    }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    var parameters: OpaquePointer?
    guard EVP_DigestVerifyInit(context, &parameters, Self.hash(of: algorithm), nil, key) == 1,
      Self.setPadding(parameters, algorithm)
    else { return false }
    let text = Array(data)
    return EVP_DigestVerify(context, Array(signature), signature.count, text, text.count) == 1
  }

  /// The hash of an algorithm; nil for Ed25519, which has its own.
  private static func hash(of algorithm: SignatureAlgorithm) -> OpaquePointer? {
    switch algorithm {
    case .rsaPSSSHA512: EVP_sha512()
    case .rsaV15SHA256, .hmacSHA256, .ecdsaP256SHA256: EVP_sha256()
    case .ecdsaP384SHA384: EVP_sha384()
    case .ed25519: nil
    }
  }

  private static func setPadding(_ parameters: OpaquePointer?, _ algorithm: SignatureAlgorithm) -> Bool {
    switch algorithm {
    case .rsaPSSSHA512:
      EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, 64) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(parameters, EVP_sha512()) == 1
    case .rsaV15SHA256: EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PADDING) == 1
    case .hmacSHA256, .ecdsaP256SHA256, .ecdsaP384SHA384, .ed25519: true
    }
  }
}

// A signature of ECDSA is a sequence of two integers in DER for libcrypto; HTTP message signatures have both numbers
// one after the other, each with the length of the curve (RFC 9421 §3.3.4).
extension KeyMaterial {
  private static func coordinateLength(of algorithm: SignatureAlgorithm) -> Int? {
    switch algorithm {
    case .ecdsaP256SHA256: 32
    case .ecdsaP384SHA384: 48
    case .rsaPSSSHA512, .rsaV15SHA256, .hmacSHA256, .ed25519: nil
    }
  }

  private static func joined(_ sequence: Data, length: Int) -> Data? {
    let parsed = sequence.withUnsafeBytes { bytes -> OpaquePointer? in
      var position = bytes.bindMemory(to: UInt8.self).baseAddress
      return d2i_ECDSA_SIG(nil, &position, bytes.count)
    }
    guard let parsed else { return nil }
    defer { ECDSA_SIG_free(parsed) }
    var numbers = Data()
    for number in [ECDSA_SIG_get0_r(parsed), ECDSA_SIG_get0_s(parsed)] {
      var bytes = [UInt8](repeating: 0, count: length)
      guard BN_bn2binpad(number, &bytes, Int32(length)) == length else { return nil }
      numbers.append(contentsOf: bytes)
    }
    return numbers
  }

  private static func split(_ numbers: Data, length: Int) -> Data? {
    guard numbers.count == 2 * length, let parsed = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(parsed) }
    let bytes = Array(numbers)
    let r = BN_bin2bn(bytes, Int32(length), nil)
    let s = BN_bin2bn(Array(bytes[length...]), Int32(length), nil)
    guard ECDSA_SIG_set0(parsed, r, s) == 1 else {  // It takes both, or neither.
      BN_free(r)
      BN_free(s)
      return nil
    }
    var sequence: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(parsed, &sequence)
    guard count > 0, let sequence else { return nil }
    defer { CRYPTO_free(sequence, "", 0) }
    return Data(bytes: sequence, count: Int(count))
  }
}
#endif
