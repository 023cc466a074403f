import MartletSemantics
import Testing

@testable import MartletSignatures

/// Keys and algorithms (RFC 9421 §3.3).
@Suite(.timeLimit(.minutes(5)))
struct SignatureKeyTests {
  private static let text = Data("\"@method\": GET".utf8)

  @Test(
    arguments: [
      (RFCKeys.rsaPrivate, RFCKeys.rsaPublic, nil, .rsaPSSSHA512),
      (RFCKeys.rsaPrivate, RFCKeys.rsaPublic, .rsaPSSSHA512, .rsaPSSSHA512),
      (RFCKeys.rsaPrivate, RFCKeys.rsaPublic, .rsaV15SHA256, .rsaV15SHA256),
      (RFCKeys.rsaPSSPrivate, RFCKeys.rsaPSSPublic, nil, .rsaPSSSHA512),
      (RFCKeys.p256Private, RFCKeys.p256Public, nil, .ecdsaP256SHA256),
      (RFCKeys.p384Private, RFCKeys.p384Public, nil, .ecdsaP384SHA384),
      (RFCKeys.ed25519Private, RFCKeys.ed25519Public, nil, .ed25519),
    ] as [(String, String, SignatureAlgorithm?, SignatureAlgorithm)])
  func whatAPrivateKeySignsItsPublicKeyVerifies(
    privateText: String, publicText: String, given: SignatureAlgorithm?, expected: SignatureAlgorithm
  ) throws {
    let signing = try SignatureKey(pem: privateText, algorithm: given)
    let verifying = try SignatureKey(pem: publicText, algorithm: given)
    #expect(signing.algorithm == expected && verifying.algorithm == expected)
    #expect(signing.canSign && !verifying.canSign)
    for _ in 0..<20 {  // numbers of ECDSA begin with zeros now and then
      let signature = try signing.signature(of: Self.text)
      #expect(verifying.isValid(signature, of: Self.text) && signing.isValid(signature, of: Self.text))
      #expect(!verifying.isValid(signature, of: Self.text.dropLast()))
      switch expected {
      case .ecdsaP256SHA256, .ed25519: #expect(signature.count == 64)
      case .ecdsaP384SHA384: #expect(signature.count == 96)
      default: #expect(signature.count == 256)
      }
    }
    let error = #expect(throws: SignatureError.self) { try verifying.signature(of: Self.text) }
    #expect(error?.reason == .unusableKey)
  }

  /// 256 bits of RSA's signature do not fit an elliptic curve, and numbers of zero are no signature.
  @Test func malformedSignaturesAreNotValid() throws {
    for text in [RFCKeys.rsaPSSPublic, RFCKeys.p256Public, RFCKeys.p384Public, RFCKeys.ed25519Public] {
      let key = try SignatureKey(pem: text)
      for count in [0, 1, 63, 64, 65, 96, 256, 5000] {
        for byte in [UInt8(0), 0xFF] { #expect(!key.isValid(Data(repeating: byte, count: count), of: Self.text)) }
      }
    }
  }

  @Test func aSecretSignsAndVerifies() throws {
    let key = try SignatureKey(secret: RFCKeys.secret, id: "shared")
    let signature = try key.signature(of: Self.text)
    #expect(key.algorithm == .hmacSHA256 && key.canSign && signature.count == 32)
    #expect(key.isValid(signature, of: Self.text))
    #expect(try !SignatureKey(secret: Data("other".utf8)).isValid(signature, of: Self.text))
    #expect(throws: SignatureError.self) { try SignatureKey(secret: Data()) }
  }

  @Test func derIsReadWithoutItsArmour() throws {
    func der(_ text: String) throws -> Data {
      try #require(Data(base64Encoded: text.split(separator: "\n").dropFirst().dropLast().joined()))
    }
    let signing = try SignatureKey(pkcs8: der(RFCKeys.ed25519Private))
    let verifying = try SignatureKey(spki: der(RFCKeys.ed25519Public))
    #expect(verifying.isValid(try signing.signature(of: Self.text), of: Self.text))
    #expect(throws: SignatureError.self) { try SignatureKey(pkcs8: der(RFCKeys.ed25519Public)) }
    #expect(throws: SignatureError.self) { try SignatureKey(spki: der(RFCKeys.ed25519Private)) }
  }

  @Test func otherBlocksAndLineEndsAreSkipped() throws {
    let text =
      "a comment\r\n-----BEGIN EC PARAMETERS-----\r\nBggqhkjOPQMBBw==\r\n-----END EC PARAMETERS-----\r\n"
      + RFCKeys.p256Private.replacing("\n", with: "\r\n") + "\r\n"
    #expect(try SignatureKey(pem: text).algorithm == .ecdsaP256SHA256)
  }

  /// A key over P-521, one over secp256k1, one of 1024 bits of RSA, and an encrypted one, made with openssl.
  @Test(arguments: UnusableKeys.all) func aKeyThatCannotBeUsedIsRefused(text: String, words: String) {
    let error = #expect(throws: SignatureError.self) { try SignatureKey(pem: text) }
    #expect(error?.reason == .unusableKey && error?.description.contains(words) == true)
  }

  @Test(
    arguments: [
      (RFCKeys.p256Private, .ed25519), (RFCKeys.ed25519Public, .rsaV15SHA256), (RFCKeys.rsaPublic, .hmacSHA256),
      (RFCKeys.rsaPSSPrivate, .rsaV15SHA256),
    ] as [(String, SignatureAlgorithm)])
  func aKeyMustFitItsAlgorithm(text: String, algorithm: SignatureAlgorithm) {
    let error = #expect(throws: SignatureError.self) { try SignatureKey(pem: text, algorithm: algorithm) }
    #expect(error?.reason == .unusableKey)
  }

  @Test func descriptionsShowNoKey() throws {
    var texts: [String] = []
    for key in [try SignatureKey(pem: RFCKeys.ed25519Private, id: "a"), try SignatureKey(secret: RFCKeys.secret)] {
      var dumped = ""
      dump(key, to: &dumped)
      texts += ["\(key)", String(reflecting: key), dumped]
    }
    for text in texts {
      #expect(text.contains("a key for") && !text.contains("MC4C") && !text.contains("uzvJ") && !text.contains("bytes"))
    }
  }
}
