public import MartletSemantics

// JSON Web Keys (RFC 7517, RFC 7518 §6, RFC 8037 §2).
extension SignatureKey {
  /// Reads a JSON Web Key (RFC 7517): a private or public key of the kinds `EC` (P-256, P-384), `OKP` (Ed25519) and
  /// `RSA`, or a secret (`oct`). Its `kid` becomes the ``id``.
  ///
  /// - Parameters:
  ///   - text: the key in JSON, at most 64 KiB. For one of a set (`keys`), pass that one.
  ///   - algorithm: the algorithm; nil, the default, for that of `alg`, otherwise for the only one of the key's kind.
  /// - Throws: ``SignatureError`` of kind `.unusableKey`: a member is missing or does not fit the others, the key is of
  ///   another kind or curve, or too weak.
  public init(jwk text: Data, algorithm: SignatureAlgorithm? = nil) throws(SignatureError) {
    guard text.count <= 64 << 10, let members = try? JSONDecoder().decode(JWKMembers.self, from: text) else {
      throw SignatureError(
        .unusableKey, "the text is no JSON Web Key: an object with 'kty' and the members of its kind")
    }
    let named = members.algorithm.flatMap { name in SignatureAlgorithm.allCases.first { $0.joseName == name } }
    if let name = members.algorithm, named == nil {
      throw SignatureError(.unusableKey, "the algorithm '\(name.prefix(40))' of the JSON Web Key is not supported")
    }
    if members.kind == "oct" {
      let secret = try members.bytes(\.k, "k")
      self = try SignatureKey(secret: secret, id: members.id)
      return
    }
    let (bytes, form) = try members.encoded()
    try self.init(bytes, as: form, algorithm ?? named, members.id)
    if form == .privateKey, let numbers = material.publicNumbers, try numbers != members.publicNumbers() {
      throw SignatureError(
        .unusableKey, "the private and the public members of the JSON Web Key do not belong together")
    }
  }

  /// The public key as a JSON Web Key with the members that RFC 7638 §3.2 requires, and no others: for the registration
  /// of a client, for example. nil for a secret.
  public var publicJWK: String? {
    guard let numbers = material.publicNumbers?.map(\.base64URL) else { return nil }
    // In the order of RFC 7638 §3.3, which the thumbprint needs. All values are base64url.
    return switch algorithm {
    case .rsaPSSSHA512, .rsaV15SHA256: #"{"e":"\#(numbers[1])","kty":"RSA","n":"\#(numbers[0])"}"#
    case .ecdsaP256SHA256: #"{"crv":"P-256","kty":"EC","x":"\#(numbers[0])","y":"\#(numbers[1])"}"#
    case .ecdsaP384SHA384: #"{"crv":"P-384","kty":"EC","x":"\#(numbers[0])","y":"\#(numbers[1])"}"#
    case .ed25519: #"{"crv":"Ed25519","kty":"OKP","x":"\#(numbers[0])"}"#
    case .hmacSHA256: nil
    }
  }

  /// The thumbprint of the public key (RFC 7638): SHA-256, in base64url. It identifies the key, as `jkt` of a token
  /// that is bound to it (RFC 9449 §6.1). nil for a secret.
  public var thumbprint: String? { publicJWK.flatMap { KeyMaterial.sha256(Data($0.utf8)) }?.base64URL }
}

extension SignatureAlgorithm {
  /// The name in JSON Web Signatures (RFC 7518 §3.1, RFC 8037 §3.1).
  var joseName: String {
    switch self {
    case .rsaPSSSHA512: "PS512"
    case .rsaV15SHA256: "RS256"
    case .hmacSHA256: "HS256"
    case .ecdsaP256SHA256: "ES256"
    case .ecdsaP384SHA384: "ES384"
    case .ed25519: "EdDSA"
    }
  }
}

/// The members of a JSON Web Key.
private struct JWKMembers: Decodable {
  var kind: String
  var curve: String?
  var algorithm: String?
  var id: String?
  var x: String?
  var y: String?
  var d: String?
  var n: String?
  var e: String?
  var p: String?
  var q: String?
  var dp: String?
  var dq: String?
  var qi: String?
  var k: String?

  private enum CodingKeys: String, CodingKey {
    case kind = "kty"
    case curve = "crv"
    case algorithm = "alg"
    case id = "kid"
    case x, y, d, n, e, p, q, dp, dq, qi, k
  }

  /// The identifiers of id-ecPublicKey, P-256, P-384 (RFC 5480 §2.1.1) and Ed25519 (RFC 8410 §3).
  private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]
  private static let curves: [String: (identifier: [UInt8], length: Int)] = [
    "P-256": ([0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7], 32), "P-384": ([0x2B, 0x81, 4, 0, 0x22], 48),
  ]
  private static let ed25519: [UInt8] = [0x2B, 0x65, 0x70]

  /// - Parameter length: the number of bytes that it must have; nil for any.
  func bytes(
    _ member: KeyPath<JWKMembers, String?>, _ name: String, length: Int? = nil
  ) throws(SignatureError) -> Data {
    guard let text = self[keyPath: member], let bytes = Data(base64URL: text), !bytes.isEmpty,
      length == nil || bytes.count == length
    else {
      throw SignatureError(
        .unusableKey, "the member '\(name)' of the JSON Web Key is missing, is not base64url, or has another length")
    }
    return bytes
  }

  func publicNumbers() throws(SignatureError) -> [Data] {
    switch kind {
    case "RSA": return [Data(try bytes(\.n, "n").drop { $0 == 0 }), Data(try bytes(\.e, "e").drop { $0 == 0 })]
    case "EC":
      guard let length = curve.flatMap({ Self.curves[$0] })?.length else { throw otherKind }
      return [try bytes(\.x, "x", length: length), try bytes(\.y, "y", length: length)]
    default: return [try bytes(\.x, "x", length: 32)]
    }
  }

  private var otherKind: SignatureError {
    SignatureError(.unusableKey, "the JSON Web Key is of no supported kind: RSA, P-256, P-384 or Ed25519, or a secret")
  }

  /// The key in a form that the system's library reads.
  func encoded() throws(SignatureError) -> (Data, KeyForm) {
    let numbers = try publicNumbers()
    switch (kind, curve) {
    case ("RSA", _): return try rsa(numbers)
    case ("EC", let name?):
      guard let curve = Self.curves[name] else { throw otherKind }
      return try ellipticCurve(curve.identifier, curve.length, numbers)
    case ("OKP", "Ed25519"):
      let algorithm = DER.sequence(DER.identifier(Self.ed25519))
      guard d != nil else { return (DER.sequence(algorithm, DER.bits(numbers[0])), .publicKey) }
      let secret = DER.octets(DER.octets(try bytes(\.d, "d", length: 32)))
      return (DER.sequence(DER.integer(Data([0])), algorithm, secret), .privateKey)
    default: throw otherKind
    }
  }

  private func ellipticCurve(
    _ identifier: [UInt8], _ length: Int, _ numbers: [Data]
  ) throws(SignatureError) -> (Data, KeyForm) {
    let point = DER.bits(Data([4]) + numbers[0] + numbers[1])
    let curve = DER.identifier(identifier)
    guard d != nil else {
      return (DER.sequence(DER.sequence(DER.identifier(Self.ecPublicKey), curve), point), .publicKey)
    }
    // ECPrivateKey (RFC 5915) without the point, which is computed and then compared.
    let secret = DER.octets(try bytes(\.d, "d", length: length))
    return (DER.sequence(DER.integer(Data([1])), secret, DER.tagged(0, curve)), .privateKey)
  }

  private func rsa(_ numbers: [Data]) throws(SignatureError) -> (Data, KeyForm) {
    let (modulus, exponent) = (DER.integer(numbers[0]), DER.integer(numbers[1]))
    guard d != nil else { return (DER.sequence(modulus, exponent), .publicRSAKey) }
    // All numbers of RSAPrivateKey (RFC 8017 §A.1.2) are needed, although RFC 7518 §6.3.2 recommends only most of them.
    var content = DER.integer(Data([0])) + modulus + exponent
    let others: [(KeyPath<JWKMembers, String?>, String)] = [
      (\.d, "d"), (\.p, "p"), (\.q, "q"), (\.dp, "dp"), (\.dq, "dq"), (\.qi, "qi"),
    ]
    for (member, name) in others { content += DER.integer(try bytes(member, name)) }
    return (DER.sequence(content), .privateKey)
  }
}
