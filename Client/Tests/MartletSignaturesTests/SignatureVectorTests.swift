import MartletSemantics
import TestSupport
import Testing

@testable import MartletSignatures

/// A signature that RFC 9421 prints, with the message and the text that it signs.
struct SignatureVector: Sendable, CustomTestStringConvertible {
  let section: String
  let label: String
  let message: Message
  let key: Key
  let input: String
  let signature: String
  let base: String

  var testDescription: String { section }

  enum Message { case request, response, answer, proxied, transformed }

  enum Key {
    case rsaPSS, p256, secret, ed25519

    func made(forSigning: Bool) throws -> SignatureKey {
      switch self {
      case .rsaPSS: try SignatureKey(pem: forSigning ? RFCKeys.rsaPSSPrivate : RFCKeys.rsaPSSPublic)
      case .p256: try SignatureKey(pem: forSigning ? RFCKeys.p256Private : RFCKeys.p256Public)
      case .secret: try SignatureKey(secret: RFCKeys.secret)
      case .ed25519: try SignatureKey(pem: forSigning ? RFCKeys.ed25519Private : RFCKeys.ed25519Public)
      }
    }
  }

  /// The message without its signature.
  var context: SignatureContext {
    let digest = """
      sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:
      """
    let request = RequestHead(
      method: .post, url: url("https://example.com/foo?param=Value&Pet=dog"),
      fields: [
        "Host": "example.com", "Date": "Tue, 20 Apr 2021 02:07:55 GMT", "Content-Type": "application/json",
        "Content-Digest": digest, "Content-Length": "18",
      ])
    switch message {
    case .request: return SignatureContext(request)
    case .response:
      let digest = """
        sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:
        """
      let fields: HTTPFields = [
        "Date": "Tue, 20 Apr 2021 02:07:56 GMT", "Content-Type": "application/json", "Content-Digest": digest,
        "Content-Length": "23",
      ]
      return SignatureContext(ResponseHead(status: .ok, fields: fields), to: nil)
    case .answer:
      let digest = """
        sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg==:
        """
      let fields: HTTPFields = [
        "Date": "Tue, 20 Apr 2021 02:07:56 GMT", "Content-Type": "application/json", "Content-Length": "62",
        "Content-Digest": digest,
      ]
      return SignatureContext(ResponseHead(status: .serviceUnavailable, fields: fields), to: request)
    case .proxied:
      var request = request
      request.fields[.host] = "service.internal.example"
      request.fields["Client-Cert"] = RFCVectors.certificate
      return SignatureContext(request)
    case .transformed:
      let fields: HTTPFields = [
        "Host": "example.org", "Date": "Fri, 15 Jul 2022 14:24:55 GMT", "Accept": "application/json", "Accept": "*/*",
      ]
      return SignatureContext(
        RequestHead(url: url("https://example.org/demo?name1=Value1&Name2=value2"), fields: fields))
    }
  }

  /// The message with its signature.
  var signed: SignatureContext { context.adding(["Signature-Input": input, "Signature": signature]) }
}

extension SignatureContext {
  /// Returns the context with more fields of the message that is signed.
  func adding(_ fields: HTTPFields) -> SignatureContext {
    var copy = self
    for (name, value) in fields {
      if response == nil {
        copy.request?.fields.append(value, for: name)
      } else {
        copy.response?.fields.append(value, for: name)
      }
    }
    return copy
  }
}

/// A verifier at the time of the RFC's signatures.
func verifier(
  requiring required: [SignatureComponent] = [], at time: TimeInterval = 1_618_884_500,
  key: @escaping @Sendable (SignatureInput) async throws -> SignatureKey?
) -> SignatureVerifier {
  SignatureVerifier(requiring: required, now: { Date(timeIntervalSince1970: time) }, key: key)
}

/// All test cases of RFC 9421 appendix B.2, and its other signatures.
@Suite(.timeLimit(.minutes(5)))
struct SignatureVectorTests {
  @Test(arguments: RFCVectors.all) func theTextThatIsSignedIsThatOfTheRFC(_ vector: SignatureVector) throws {
    let signature = try #require(try MessageSignature.all(in: vector.signed.fields).first)
    #expect(signature.label == vector.label)
    #expect(try MessageSignature.base(signature.input, of: vector.context) == vector.base)
  }

  @Test(arguments: RFCVectors.all) func theSignatureOfTheRFCIsValid(_ vector: SignatureVector) async throws {
    let key = try vector.key.made(forSigning: false)
    #expect(try await verifier { _ in key }.verify(vector.signed).label == vector.label)
  }

  @Test(arguments: RFCVectors.all) func theSignatureOfAnotherTextIsNotValid(_ vector: SignatureVector) throws {
    let signature = try #require(try MessageSignature.all(in: vector.signed.fields).first)
    let key = try vector.key.made(forSigning: false)
    #expect(key.isValid(signature.bytes, of: Data(vector.base.utf8)))
    #expect(!key.isValid(signature.bytes, of: Data((vector.base + " ").utf8)))
    #expect(!key.isValid(signature.bytes.dropLast(), of: Data(vector.base.utf8)))
    #expect(!key.isValid(Data(), of: Data(vector.base.utf8)))
  }

  @Test(arguments: RFCVectors.all) func theFieldsAreThoseOfTheRFC(_ vector: SignatureVector) async throws {
    let given = try #require(try MessageSignature.all(in: vector.signed.fields).first)
    let key = try vector.key.made(forSigning: true)
    let made = try MessageSignature(given.input, label: given.label, of: vector.context, with: key)
    #expect(made.fields["Signature-Input"] == vector.input)
    // RSASSA-PSS and ECDSA have random parts (§3.3.1, §3.3.4).
    let isDeterministic = [.hmacSHA256, .ed25519].contains(key.algorithm)
    #expect((made.fields["Signature"] == vector.signature) == isDeterministic)
    let publicKey = try vector.key.made(forSigning: false)
    #expect(try await verifier { _ in publicKey }.verify(vector.context.adding(made.fields)) == made)
  }

  // B.4: what intermediaries may change, and what they may not
  @Test(
    arguments: [
      ("GET", "https://example.org/demo?name1=Value1&Name2=value2&param=added", ["application/json", "*/*"], true),
      ("GET", "https://example.org/demo?name1=Value1&Name2=value2", ["application/json, */*"], true),
      ("GET", "HTTPS://EXAMPLE.ORG:443/demo", ["application/json", "*/*"], true),
      ("POST", "https://example.com/demo?name1=Value1&Name2=value2", ["application/json", "*/*"], false),
      ("GET", "https://example.org/demo?name1=Value1&Name2=value2", ["*/*", "application/json"], false),
      ("GET", "https://example.org/demo", ["application/json,*/*"], false),
      ("GET", "https://example.org/demo/", ["application/json", "*/*"], false),
    ] as [(String, String, [String], Bool)])
  func aTransformationOfWhatIsNotCoveredKeepsTheSignature(
    method: String, url: String, accept: [String], isValid: Bool
  ) async throws {
    let transformed = try #require(RFCVectors.all.first { $0.label == "transform" })
    var request = RequestHead(
      method: try #require(HTTPMethod(rawValue: method)), url: try #require(URL(string: url)),
      fields: ["Signature-Input": transformed.input, "Signature": transformed.signature])
    for value in accept { request.fields.append(value, for: .accept) }
    let key = try SignatureKey(pem: RFCKeys.ed25519Public)
    do {
      _ = try await verifier { _ in key }.verify(SignatureContext(request))
      #expect(isValid)
    } catch let error as SignatureError {
      #expect(!isValid && error.reason == .invalidSignature)
    }
  }
}
