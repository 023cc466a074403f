import MartletSemantics
import TestSupport
import Testing

@testable import MartletSignatures

/// What a verifier requires of a signature (RFC 9421 §3.2).
@Suite(.timeLimit(.minutes(5)))
struct SignatureVerifierTests {
  private static let now: TimeInterval = 1_700_000_000
  private static let request = RequestHead(
    method: .post, url: url("https://example.com/a?b=c"), fields: ["X-A": "1"])

  private static func signed(
    _ change: (inout SignatureInput) -> Void = { _ in }, label: String = "sig1",
    by key: SignatureKey? = nil
  ) throws -> SignatureContext {
    var input = SignatureInput([.method, .authority, .field("x-a")])
    input.created = Date(timeIntervalSince1970: now)
    change(&input)
    let context = SignatureContext(request)
    let key = try key ?? SignatureKey(pem: RFCKeys.ed25519Private)
    return context.adding(try MessageSignature(input, label: label, of: context, with: key).fields)
  }

  /// The reason for which a message is refused; nil if it is accepted.
  private static func refusal(
    of context: SignatureContext, _ change: (inout SignatureVerifier) -> Void = { _ in }
  ) async throws -> SignatureError.Reason? {
    let key = try SignatureKey(pem: RFCKeys.ed25519Public, id: "client")
    var verifier = verifier(requiring: [.method], at: now) { $0.keyID == nil || $0.keyID == "client" ? key : nil }
    change(&verifier)
    do {
      _ = try await verifier.verify(context)
      return nil
    } catch let error as SignatureError { return error.reason }
  }

  @Test func aSignatureMustCoverWhatIsRequired() async throws {
    #expect(try await Self.refusal(of: Self.signed()) == nil)
    #expect(try await Self.refusal(of: Self.signed()) { $0.required = [.field("x-a"), .authority] } == nil)
    for component in [SignatureComponent.path, .field("x-b"), .field("x-a").bytes] {
      #expect(try await Self.refusal(of: Self.signed()) { $0.required = [component] } == .uncoveredComponent)
    }
  }

  @Test(
    arguments: [
      (0, nil, nil), (-300, nil, nil), (-330, nil, nil), (-331, nil, .outOfTime), (30, nil, nil), (31, nil, .outOfTime),
      (0, 60, nil), (0, -30, nil), (0, -31, .outOfTime), (nil, nil, .outOfTime), (nil, 60, .outOfTime),
    ] as [(TimeInterval?, TimeInterval?, SignatureError.Reason?)])
  func aSignatureIsValidForItsTime(
    created: TimeInterval?, expires: TimeInterval?, expected: SignatureError.Reason?
  ) async throws {
    let context = try Self.signed { input in
      input.created = created.map { Date(timeIntervalSince1970: Self.now + $0) }
      input.expires = expires.map { Date(timeIntervalSince1970: Self.now + $0) }
    }
    #expect(try await Self.refusal(of: context) == expected)
  }

  @Test func withoutAMaximumAgeAnOldSignatureIsValid() async throws {
    let old = try Self.signed { $0.created = Date(timeIntervalSince1970: 0) }
    #expect(try await Self.refusal(of: old) { $0.maximumAge = nil } == nil)
    #expect(try await Self.refusal(of: Self.signed { $0.created = nil }) { $0.maximumAge = nil } == nil)
  }

  @Test func theKeyIsThatOfTheVerifier() async throws {
    #expect(try await Self.refusal(of: Self.signed { $0.keyID = "client" }) == nil)
    #expect(try await Self.refusal(of: Self.signed { $0.keyID = "other" }) == .unknownKey)
    let other = try SignatureKey(pem: RFCKeys.p256Private)
    #expect(try await Self.refusal(of: Self.signed(by: other)) == .invalidSignature)
  }

  // §7.3.6: the peer cannot choose the algorithm of a key
  @Test func theAlgorithmIsThatOfTheKey() async throws {
    #expect(try await Self.refusal(of: Self.signed { $0.algorithm = .ed25519 }) == nil)
    #expect(try await Self.refusal(of: Self.signed { $0.algorithm = .hmacSHA256 }) == .otherAlgorithm)
    #expect(try await Self.refusal(of: Self.signed { $0.parameters["alg"] = .string("none") }) == .otherAlgorithm)
    let secret = try SignatureKey(secret: Data(RFCKeys.ed25519Public.utf8))
    #expect(try await Self.refusal(of: Self.signed({ $0.algorithm = .hmacSHA256 }, by: secret)) == .otherAlgorithm)
    #expect(try await Self.refusal(of: Self.signed(by: secret)) == .invalidSignature)
  }

  @Test func aChangedComponentIsNoticedAndAnotherIsNot() async throws {
    var changed = try Self.signed()
    changed.request?.fields["X-A"] = "2"
    #expect(try await Self.refusal(of: changed) == .invalidSignature)
    var absent = try Self.signed()
    absent.request?.fields["X-A"] = nil
    #expect(try await Self.refusal(of: absent) == .unknownComponent)
    var other = try Self.signed()
    other.request?.fields["X-B"] = "2"
    #expect(try await Self.refusal(of: other) == nil)
    var replayed = try Self.signed()
    replayed.request?.url = url("https://other.example/a")
    #expect(try await Self.refusal(of: replayed) == .invalidSignature)
  }

  @Test func oneOfSeveralSignaturesIsEnough() async throws {
    let other = try SignatureKey(pem: RFCKeys.p256Private)
    let first = try Self.signed({ $0.tag = "a" }, label: "first", by: other)
    let second = try Self.signed({ $0.tag = "b" }, label: "second").fields
    var both = first
    for name in ["Signature-Input", "Signature"] as [FieldName] {
      for value in second[values: name] { both.request?.fields.append(value, for: name) }
    }
    #expect(try await Self.refusal(of: both) == nil)
    #expect(try await Self.refusal(of: both) { $0.label = "second" } == nil)
    #expect(try await Self.refusal(of: both) { $0.tag = "b" } == nil)
    #expect(try await Self.refusal(of: both) { $0.label = "first" } == .invalidSignature)
    #expect(try await Self.refusal(of: both) { $0.tag = "a" } == .invalidSignature)
    #expect(try await Self.refusal(of: both) { $0.label = "third" } == .noSignature)
    #expect(try await Self.refusal(of: both) { ($0.label, $0.tag) = ("first", "b") } == .noSignature)
  }

  @Test(
    arguments: [
      ([:], .noSignature), (["Signature-Input": "a=()"], .noSignature),
      (["Signature": "a=:AAAA:"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "b=()"], .malformedSignature),
      (["Signature": "a=1", "Signature-Input": "a=()"], .malformedSignature),
      (["Signature": "a=:AAAA", "Signature-Input": "a=()"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=1"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(1)"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(b)"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\");created=\"1\""], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\");expires=1.5"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\");keyid=b"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\");alg"], .malformedSignature),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\";x);created=1700000000"], .uncoveredComponent),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\" \"@x\");created=1700000000"], .unknownComponent),
      (["Signature": "a=:AAAA:", "Signature-Input": "a=(\"@method\");created=999999999999999"], .outOfTime),
    ] as [(HTTPFields, SignatureError.Reason)])
  func aMalformedSignatureIsRefused(fields: HTTPFields, expected: SignatureError.Reason) async throws {
    #expect(try await Self.refusal(of: SignatureContext(Self.request).adding(fields)) == expected)
  }

  @Test func aSignatureWithTooManyComponentsIsRefused() async throws {
    let names = (0..<101).map { "\"x-\($0)\"" }.joined(separator: " ")
    let fields: HTTPFields = ["Signature": "a=:AAAA:", "Signature-Input": "a=(\(names))"]
    #expect(try await Self.refusal(of: SignatureContext(Self.request).adding(fields)) == .malformedSignature)
  }

  @Test func aLabelThatCannotBeSentIsRefused() {
    for label in ["", "Sig", "a b", "1"] {
      let error = #expect(throws: SignatureError.self) { try Self.signed(label: label) }
      #expect(error?.reason == .malformedSignature)
    }
  }

  @Test func theErrorOfTheClosureIsTheVerifiers() async throws {
    struct Unreachable: Error {}
    let context = try Self.signed()
    await #expect(throws: Unreachable.self) {
      try await verifier(at: Self.now) { _ in throw Unreachable() }.verify(context)
    }
  }
}
