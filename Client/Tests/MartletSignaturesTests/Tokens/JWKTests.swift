import MartletEngine
import MartletSemantics
import TestSupport
import Testing

@testable import MartletSignatures

/// JSON Web Keys (RFC 7517, RFC 7518, RFC 8037), their thumbprints (RFC 7638), and the keys that stores keep.
@Suite(.timeLimit(.minutes(5)))
struct JWKTests {
  private static func key(_ text: String) throws -> SignatureKey { try SignatureKey(jwk: Data(text.utf8)) }

  @Test(arguments: TokenVectors.signed)
  func examplesOfSignaturesAreMadeAndVerified(
    _ row: Named<(key: String, token: String, isRepeatable: Bool)>
  ) throws {
    let key = try Self.key(row.value.key)
    let parts = row.value.token.split(separator: ".").map(String.init)
    let text = Data((parts[0] + "." + parts[1]).utf8)
    let signature = try #require(Data(base64URL: parts[2]))
    #expect(key.isValid(signature, of: text) && !key.isValid(signature, of: text + Data("x".utf8)))
    let header = try #require(Data(base64URL: parts[0]).map { String(decoding: $0, as: UTF8.self) })
    #expect(header.contains(#""alg":"\#(key.algorithm.joseName)""#))
    let claims = try #require(Data(base64URL: parts[1]))
    let made = try SignedToken.text(Data(header.utf8), claims, by: key)
    #expect(made.hasPrefix(parts[0] + "." + parts[1] + "."))
    #expect((made == row.value.token) == row.value.isRepeatable)
  }

  @Test(arguments: [
    (TokenVectors.rsa7638, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
    (TokenVectors.ed25519, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
    (TokenVectors.proofKey, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"),
  ])
  func thumbprintsAreThoseOfTheRFCs(_ text: String, _ expected: String) throws {
    let key = try Self.key(text)
    #expect(key.thumbprint == expected)
    let again = try Self.key(#require(key.publicJWK))
    #expect(again.thumbprint == expected && !again.canSign)
  }

  @Test func aSecretHasNoPublicKey() throws {
    let key = try Self.key(TokenVectors.secret)
    #expect(key.publicJWK == nil && key.thumbprint == nil && key.algorithm == .hmacSHA256)
  }

  @Test func membersOfTheKeyDecideItsAlgorithmAndItsName() throws {
    let key = try Self.key(TokenVectors.rsa7638)
    #expect(key.algorithm == .rsaV15SHA256 && key.id == "2011-04-29" && !key.canSign)
    #expect(try Self.key(TokenVectors.rsa).canSign)
    let chosen = try SignatureKey(jwk: Data(TokenVectors.rsa7638.utf8), algorithm: .rsaPSSSHA512)
    #expect(chosen.algorithm == .rsaPSSSHA512)
  }

  /// Texts that are no usable key, under the names of their faults.
  private static let unusable: [Named<String>] = [
    Named("empty", ""), Named("an array", "[]"), Named("no members", "{}"), Named("no curve", #"{"kty":"EC"}"#),
    Named("another kind", #"{"kty":"XY","x":"AA"}"#), Named("an empty secret", #"{"kty":"oct","k":""}"#),
    Named("no secret", #"{"kty":"oct"}"#),
    Named("X25519", #"{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#),
    Named("P-521", TokenVectors.p256.replacing("P-256", with: "P-521")),
    Named("another length", TokenVectors.p256.replacing("P-256", with: "P-384")),
    Named("another key's point", TokenVectors.p256.replacing("\"f8", with: "\"f9")),
    Named("a point beside the curve", TokenVectors.proofKey.replacing("\"l8", with: "\"l9")),
    Named("base64", TokenVectors.p256.replacing("\"x_F", with: "\"x/F")),
    Named("padding", TokenVectors.p256.replacing("a0\"", with: "a0=\"")),
    Named("another key's bytes", TokenVectors.ed25519.replacing("\"11q", with: "\"12q")),
    Named("no qi", TokenVectors.rsa.replacing("\"qi\"", with: "\"qq\"")),
    Named("none", TokenVectors.rsa.replacing("RS256", with: "none")),
    Named("another algorithm", TokenVectors.rsa.replacing("RS256", with: "ES256")),
    Named(
      "few bits", #"{"kty":"RSA","e":"AQAB","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86"}"#),
  ]

  @Test(arguments: unusable)
  func unusableKeysAreRefused(_ text: Named<String>) throws {
    let error = #expect(throws: SignatureError.self) { try Self.key(text.value) }
    #expect(error?.reason == .unusableKey)
    #expect(error?.description.contains("jpsQ") == false, "no member is shown")
  }

  @Test(arguments: [SignatureAlgorithm.ecdsaP256SHA256, .ecdsaP384SHA384, .ed25519])
  func newKeysSignAndCanBeWrittenAndRead(_ algorithm: SignatureAlgorithm) throws {
    let key = try SignatureKey.generated(algorithm, id: "a")
    #expect(key.algorithm == algorithm && key.id == "a" && key.canSign)
    let text = Data("text".utf8)
    let copy = try SignatureKey(pkcs8: #require(key.material.privateBytes))
    let open = try Self.key(#require(key.publicJWK))
    for signer in [key, copy] { #expect(open.isValid(try signer.signature(of: text), of: text)) }
    #expect(try SignatureKey.generated(algorithm).thumbprint != key.thumbprint)
  }

  @Test(arguments: [SignatureAlgorithm.rsaPSSSHA512, .rsaV15SHA256, .hmacSHA256])
  func otherKeysAreNotMade(_ algorithm: SignatureAlgorithm) {
    #expect(throws: SignatureError.self) { try SignatureKey.generated(algorithm) }
  }

  @Test func numbersOfAKeyAreReadFromItsBytes() throws {
    let key = try Self.key(TokenVectors.rsa)
    let integers = DER.integers(in: try #require(key.material.privateBytes))
    let numbers = try #require(key.material.publicNumbers)
    #expect(integers.count == 9 && Array(integers[1...2]) == numbers)
  }

  // MARK: - Kept keys

  @Test func callersThatShareAStoreGetOneKey() async throws {
    let store = MemoryKeyValueStore()
    let thumbprints = try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<8 { group.addTask { try await SignatureKey.kept(in: store, as: "a").thumbprint } }
      return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(thumbprints.count == 1)
    #expect(try await SignatureKey.kept(in: store, as: "a").thumbprint == thumbprints.first)
    #expect(try await SignatureKey.kept(in: store, as: "b").thumbprint != thumbprints.first)
  }

  @Test func aDamagedKeyIsReplaced() async throws {
    let store = MemoryKeyValueStore()
    store.set(Data("no key".utf8), for: "dpop-key")
    let key = try await SignatureKey.kept(in: store)
    #expect(key.canSign)
    #expect(try await SignatureKey.kept(in: store).thumbprint == key.thumbprint)
  }
}
