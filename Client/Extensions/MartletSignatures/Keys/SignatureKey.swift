public import MartletEngine
public import MartletSemantics

/// A key that signs messages, verifies their signatures, or both.
///
/// ```swift
/// let key = try SignatureKey(pem: String(contentsOf: file, encoding: .utf8), id: "client-1")
/// let shared = try SignatureKey(secret: secret, id: "shared-1")
/// ```
///
/// Each key has one algorithm, so a peer cannot choose another one for it (RFC 9421 §7.3.6). Descriptions and `dump`
/// show only the algorithm and the identifier.
public struct SignatureKey: Sendable {
  /// The algorithm that the key is used with.
  public let algorithm: SignatureAlgorithm
  /// The identifier of the key, which is sent as `keyid`; nil for none.
  public let id: String?
  /// Whether the key can sign: a public key can only verify.
  public var canSign: Bool { material.canSign }

  let material: KeyMaterial

  /// Reads a key in PEM (RFC 7468): a private key in PKCS #8 (`PRIVATE KEY`) or in an older form (`RSA PRIVATE KEY`,
  /// `EC PRIVATE KEY`), or a public key (`PUBLIC KEY`, `RSA PUBLIC KEY`).
  ///
  /// Only the first key counts; other blocks, such as certificates, are skipped.
  ///
  /// - Parameters:
  ///   - text: the text, at most 64 KiB.
  ///   - algorithm: the algorithm; nil, the default, for the only one of the key's kind. RSA has two; the default is
  ///     ``SignatureAlgorithm/rsaPSSSHA512``.
  ///   - id: the identifier of the key; nil, the default, for none.
  /// - Throws: ``SignatureError`` of kind `.unusableKey`: there is no such key in the text, it is encrypted or damaged,
  ///   it does not fit the algorithm, it has another curve than P-256, P-384 or Ed25519, or less than 2048 bits of RSA.
  public init(pem text: String, algorithm: SignatureAlgorithm? = nil, id: String? = nil) throws(SignatureError) {
    let block = try KeyText(text)
    try self.init(block.content, as: block.form, algorithm, id)
  }

  /// Reads a private key in PKCS #8 (RFC 5208, RFC 5958), which is not encrypted. See ``init(pem:algorithm:id:)``.
  public init(pkcs8 bytes: Data, algorithm: SignatureAlgorithm? = nil, id: String? = nil) throws(SignatureError) {
    try self.init(bytes, as: .privateKey, algorithm, id)
  }

  /// Reads a public key as a certificate contains it, `SubjectPublicKeyInfo` (RFC 5280 §4.1). See
  /// ``init(pem:algorithm:id:)``.
  public init(spki bytes: Data, algorithm: SignatureAlgorithm? = nil, id: String? = nil) throws(SignatureError) {
    try self.init(bytes, as: .publicKey, algorithm, id)
  }

  /// Makes a key for ``SignatureAlgorithm/hmacSHA256``.
  ///
  /// - Parameters:
  ///   - secret: the secret, which both peers know: random bytes, 32 or more.
  ///   - id: the identifier of the key; nil, the default, for none.
  /// - Throws: ``SignatureError`` of kind `.unusableKey` if the secret is empty.
  public init(secret: Data, id: String? = nil) throws(SignatureError) {
    guard !secret.isEmpty, let material = KeyMaterial(secret: secret) else {
      throw SignatureError(.unusableKey, "the secret is empty: use random bytes, 32 or more")
    }
    (self.material, algorithm, self.id) = (material, .hmacSHA256, id)
  }

  /// The maximum length of a key in bytes: 16384 bits of RSA.
  private static let lengthLimit = 16 << 10

  init(
    _ bytes: Data, as form: KeyForm, _ algorithm: SignatureAlgorithm?, _ id: String?
  ) throws(SignatureError) {
    guard bytes.count <= Self.lengthLimit, let material = KeyMaterial(bytes, as: form) else {
      throw SignatureError(
        .unusableKey, "the bytes are not a \(form.rawValue) that is supported: it may be damaged, encrypted or too long"
      )
    }
    try self.init(material, algorithm, id)
  }

  private init(_ material: KeyMaterial, _ algorithm: SignatureAlgorithm?, _ id: String?) throws(SignatureError) {
    let usable: [SignatureAlgorithm]
    switch material.kind {
    case .rsa(let bits): usable = try Self.strong(bits, [.rsaPSSSHA512, .rsaV15SHA256])
    case .rsaPSS(let bits): usable = try Self.strong(bits, [.rsaPSSSHA512])
    case .p256: usable = [.ecdsaP256SHA256]
    case .p384: usable = [.ecdsaP384SHA384]
    case .ed25519: usable = [.ed25519]
    case nil:
      throw SignatureError(.unusableKey, "the key is of no kind that RFC 9421 signs with: RSA, P-256, P-384 or Ed25519")
    }
    let chosen = algorithm ?? usable[0]
    guard usable.contains(chosen) else {
      let names = usable.map(\.rawValue).joined(separator: " or ")
      throw SignatureError(.unusableKey, "the key does not fit \(chosen.rawValue): it is one for \(names)")
    }
    (self.material, self.algorithm, self.id) = (material, chosen, id)
  }

  /// Returns the algorithms of an RSA key if it is strong enough.
  private static func strong(
    _ bits: Int, _ algorithms: [SignatureAlgorithm]
  ) throws(SignatureError) -> [SignatureAlgorithm] {
    guard bits >= 2048 else {
      throw SignatureError(.unusableKey, "the RSA key has \(bits) bits, which is too weak: use 2048 or more")
    }
    return algorithms
  }

  /// Makes a new private key of the system's random numbers.
  ///
  /// - Parameters:
  ///   - algorithm: one of elliptic curves; ECDSA over P-256 by default, which all servers with DPoP know (`ES256`).
  ///   - id: the identifier of the key; nil, the default, for none.
  /// - Throws: ``SignatureError`` of kind `.unusableKey` for RSA and HMAC: make such a key with `openssl genpkey`.
  public static func generated(
    _ algorithm: SignatureAlgorithm = .ecdsaP256SHA256, id: String? = nil
  ) throws(SignatureError) -> SignatureKey {
    let kind: KeyKind? =
      switch algorithm {
      case .ecdsaP256SHA256: .p256
      case .ecdsaP384SHA384: .p384
      case .ed25519: .ed25519
      case .rsaPSSSHA512, .rsaV15SHA256, .hmacSHA256: nil
      }
    guard let material = kind.flatMap(KeyMaterial.generated) else {
      throw SignatureError(
        .unusableKey,
        "a key for \(algorithm.rawValue) is not made here: use one of an elliptic curve, or 'openssl genpkey'")
    }
    return try SignatureKey(material, algorithm, id)
  }

  /// Returns the private key that a store keeps, and makes one for ``SignatureAlgorithm/ecdsaP256SHA256`` if there is
  /// none. Processes that share the store get the same key. Runs off the caller's actor.
  ///
  /// ```swift
  /// let key = try await SignatureKey.kept(in: store, as: "dpop-key \(user)")
  /// ```
  ///
  /// Each account needs a key of its own, so that its servers cannot link them. To sign out, remove the key's name from
  /// the store.
  ///
  /// - Parameters:
  ///   - store: a store that other users cannot read. A value that is no key is replaced.
  ///   - name: the name of the key in the store.
  /// - Throws: the error of the store, or ``SignatureError`` if the system makes no keys.
  @concurrent public static func kept(
    in store: any KeyValueStore, as name: String = "dpop-key"
  ) async throws -> SignatureKey {
    if let present = try await store.value(for: name), let key = try? SignatureKey(pkcs8: present) { return key }
    let new = try generated()
    guard let bytes = new.material.privateBytes else { throw SignatureError(.unusableKey, "the new key has no bytes") }
    let first = try await store.value(for: name, orSetting: bytes)
    if let key = try? SignatureKey(pkcs8: first) { return key }
    try await store.set(bytes, for: name)
    return new
  }

  /// Signs bytes, for a text other than a message's.
  ///
  /// - Throws: ``SignatureError`` of kind `.unusableKey` if the key is public, or the system's library refuses.
  public func signature(of data: Data) throws(SignatureError) -> Data {
    guard canSign else {
      throw SignatureError(.unusableKey, "the key is public, so it can only verify: sign with the private key")
    }
    guard let signature = material.signature(of: data, algorithm) else {
      throw SignatureError(.unusableKey, "the system's cryptographic library does not sign with \(algorithm.rawValue)")
    }
    return signature
  }

  /// Whether a signature is that of the bytes by this key.
  public func isValid(_ signature: Data, of data: Data) -> Bool { material.isValid(signature, of: data, algorithm) }
}

extension SignatureKey: CustomStringConvertible, CustomReflectable {
  /// The algorithm and the identifier alone.
  public var description: String {
    "a key for \(algorithm.rawValue)" + (id.map { " with the identifier '\($0)'" } ?? "")
  }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How the bytes of a key are to be read.
enum KeyForm: String {
  /// PKCS #8, or an older form for one kind of key.
  case privateKey = "private key"
  /// SubjectPublicKeyInfo.
  case publicKey = "public key"
  /// RSAPublicKey (RFC 8017 §A.1.1).
  case publicRSAKey = "public RSA key"
}

/// The kinds of keys that are used here.
enum KeyKind {
  case rsa(bits: Int)
  /// A key that is restricted to RSASSA-PSS (RFC 4055 §1.2).
  case rsaPSS(bits: Int)
  case p256
  case p384
  case ed25519
}

/// The first key in a text in PEM (RFC 7468).
private struct KeyText {
  let form: KeyForm
  let content: Data

  private static let forms: [String: KeyForm] = [
    "PRIVATE KEY": .privateKey, "RSA PRIVATE KEY": .privateKey, "EC PRIVATE KEY": .privateKey,
    "PUBLIC KEY": .publicKey, "RSA PUBLIC KEY": .publicRSAKey,
  ]

  init(_ text: String) throws(SignatureError) {
    let lines = text.utf8.count <= 64 << 10 ? text.split(whereSeparator: \.isNewline).map { $0.trimmed } : []
    var label: String?
    var body = ""
    for line in lines {
      if line.hasPrefix("-----BEGIN "), line.hasSuffix("-----") {
        (label, body) = (String(line.dropFirst(11).dropLast(5)), "")
        if label == "ENCRYPTED PRIVATE KEY" { throw Self.encrypted }
      } else if let name = label, line == "-----END \(name)-----" {
        if let form = Self.forms[name] {
          guard let content = Data(base64Encoded: body) else { break }
          (self.form, self.content) = (form, content)
          return
        }
        label = nil
      } else if label != nil {
        if line.hasPrefix("Proc-Type:"), line.hasSuffix("ENCRYPTED") { throw Self.encrypted }
        body += line
      }
    }
    throw SignatureError(
      .unusableKey,
      "there is no complete key in PEM in the text of at most 64 KiB: a block such as PRIVATE KEY or PUBLIC KEY")
  }

  private static let encrypted = SignatureError(
    .unusableKey, "the key is encrypted: decrypt it before, for example with 'openssl pkey'")
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
