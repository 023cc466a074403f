import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import TestSupport
import Testing

@testable import MartletSignatures

/// Proofs (RFC 9449 §4) and signed assertions (RFC 7523), as texts.
@Suite(.timeLimit(.minutes(5)))
struct DPoPProofTests {
  private static let time = Date(timeIntervalSince1970: 1_562_262_616.75)

  private static func dpop() throws -> DPoP { try DPoP(SignatureKey.generated()) { time } }

  /// RFC 9449 §4.1 and §7.1.
  @Test(
    arguments: [
      (TokenVectors.tokenProof, "POST", "https://server.example.com/token", 1_562_262_616, "-BwC3ESc6acc2lTc", nil),
      (
        TokenVectors.resourceProof, "GET", "https://resource.example.org/protectedresource", 1_562_262_618,
        "e1j3V_bKic8-LAEB", "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"
      ),
    ] as [(String, String, String, Int, String, String?)])
  func proofsOfTheRFCAreValid(
    _ text: String, _ method: String, _ url: String, _ time: Int, _ id: String, _ hash: String?
  ) throws {
    let proof = try #require(ReceivedProof(text))
    #expect(proof.thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    #expect(proof.claims.htm == method && proof.claims.htu == url && proof.claims.iat == time)
    #expect(proof.claims.jti == id && proof.claims.ath == hash && proof.claims.nonce == nil)
    #expect(ReceivedProof(text.replacing("eyJqdGki", with: "eyJqdGkj")) == nil)
  }

  @Test func aProofHasTheClaimsOfItsRequest() throws {
    let dpop = try Self.dpop()
    let request = HTTPRequest(.get, url("https://resource.example.org/protectedresource"))
    let text = try dpop.proof(of: request, token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    let proof = try #require(ReceivedProof(text))
    #expect(proof.thumbprint == dpop.key.thumbprint && proof.thumbprint == dpop.keyID)
    #expect(proof.claims.htm == "GET" && proof.claims.htu == "https://resource.example.org/protectedresource")
    #expect(proof.claims.iat == 1_562_262_616 && proof.claims.nonce == nil)
    #expect(proof.claims.ath == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    let others = try (0..<100).map { _ in try #require(ReceivedProof(try dpop.proof(of: request))).claims }
    #expect(Set(others.map(\.jti)).count == 100 && others.allSatisfy { $0.ath == nil && $0.jti.count >= 22 })
  }

  /// §4.2: without query and fragment; §4.3: as a server normalizes it (RFC 3986 §6.2.2, §6.2.3).
  @Test(arguments: [
    ("https://a.example/orders?id=1&b#c", "https://a.example/orders"), ("https://a.example", "https://a.example/"),
    ("https://a.example?q", "https://a.example/"), ("HTTPS://A.Example:443/X", "https://a.example/X"),
    ("http://a.example:80/", "http://a.example/"), ("https://a.example:8443/x/", "https://a.example:8443/x/"),
    ("https://u:p@a.example/x", "https://a.example/x"), ("https://a.example/a%20b%2Fc", "https://a.example/a%20b%2Fc"),
    ("https://[::1]:8443/x", "https://[::1]:8443/x"),
    ("https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/"),
    ("wss://a.example/socket", "https://a.example/socket"),
  ])
  func theProofsURLIsTheRequestsWithoutQuery(_ text: String, _ expected: String) throws {
    let proof = try Self.dpop().proof(of: HTTPRequest(.get, url(text)))
    #expect(ReceivedProof(proof)?.claims.htu == expected)
  }

  @Test func aMethodOfTheCallersOwnIsKept() throws {
    let proof = try Self.dpop().proof(of: HTTPRequest("Purge", url("https://a.example/")))
    #expect(ReceivedProof(proof)?.claims.htm == "Purge")
  }

  @Test func aURLWithoutAHostHasNoProof() throws {
    let dpop = try Self.dpop()
    #expect(throws: SignatureError.self) { try dpop.proof(of: HTTPRequest(.get, url("file:///x"))) }
  }

  @Test func keysThatProveNothingAreRefused() throws {
    let secret = try SignatureKey(secret: Data(repeating: 1, count: 32))
    let open = try SignatureKey(jwk: Data(TokenVectors.proofKey.utf8))
    for key in [secret, open] { #expect(throws: SignatureError.self) { try DPoP(key) } }
    for algorithm in [SignatureAlgorithm.ecdsaP384SHA384, .ed25519] {
      let dpop = try DPoP(SignatureKey.generated(algorithm))
      #expect(ReceivedProof(try dpop.proof(of: HTTPRequest(.get, url("https://a.example/")))) != nil)
    }
    let rsa = try DPoP(SignatureKey(jwk: Data(TokenVectors.rsa.utf8)))
    #expect(ReceivedProof(try rsa.proof(of: HTTPRequest(.get, url("https://a.example/"))))?.claims.htm == "GET")
  }

  // MARK: - Nonces and clocks

  private static func review(
    _ dpop: DPoP, _ fields: HTTPFields, status: HTTPStatus = .badRequest, code: String?,
    at endpoint: String = "https://a.example/token"
  ) -> Bool {
    var fields = fields
    if let code { fields[.wwwAuthenticate] = #"DPoP error="\#(code)""# }
    return dpop.review(ResponseHead(status: status, fields: fields), of: url(endpoint), refusal: nil)
  }

  private static func claims(_ dpop: DPoP, _ text: String = "https://a.example/token") throws -> ReceivedProof.Claims {
    try #require(ReceivedProof(try dpop.proof(of: HTTPRequest(.post, url(text))))).claims
  }

  /// RFC 9449 §8, §8.1, §8.2.
  @Test(
    arguments: [
      ("n", "use_dpop_nonce", .badRequest, "n", true), ("n", nil, .ok, "n", false),
      ("eyJ7S_zG.eyJH0-Z.HX4w-7v", "use_dpop_nonce", .unauthorized, "eyJ7S_zG.eyJH0-Z.HX4w-7v", true),
      (nil, "use_dpop_nonce", .badRequest, nil, false), ("n", "invalid_grant", .badRequest, "n", false),
      ("a b", "use_dpop_nonce", .badRequest, nil, false), (#"a"b"#, "use_dpop_nonce", .badRequest, nil, false),
      ("", "use_dpop_nonce", .badRequest, nil, false), ("é", "use_dpop_nonce", .badRequest, nil, false),
      ("n", "use_dpop_nonce", .serviceUnavailable, "n", false),
    ] as [(String?, String?, HTTPStatus, String?, Bool)])
  func nonceOfEveryResponseIsRemembered(
    _ nonce: String?, _ code: String?, _ status: HTTPStatus, _ expected: String?, _ repeats: Bool
  ) throws {
    let dpop = try Self.dpop()
    var fields: HTTPFields = [:]
    if let nonce { fields["DPoP-Nonce"] = nonce }
    #expect(Self.review(dpop, fields, status: status, code: code) == repeats)
    #expect(try Self.claims(dpop).nonce == expected)
    #expect(try Self.claims(dpop, "https://a.example/other").nonce == expected, "it is the server's, not the path's")
    #expect(try Self.claims(dpop, "https://b.example/token").nonce == nil)
    let resource = try dpop.proof(of: HTTPRequest(.get, url("https://a.example/")), token: "t")
    #expect(ReceivedProof(resource)?.claims.nonce == nil, "an API of the same origin has nonces of its own")
  }

  @Test(arguments: [(2048, true), (2049, false)])
  func aNonceHasABoundedLength(_ length: Int, _ isRemembered: Bool) throws {
    let (dpop, nonce) = (try Self.dpop(), String(repeating: "n", count: length))
    let isRepeated = Self.review(dpop, ["DPoP-Nonce": nonce], code: "use_dpop_nonce")
    let isSent = try Self.claims(dpop).nonce == nonce
    #expect(isRepeated == isRemembered && isSent == isRemembered)
  }

  @Test func copiesShareWhatTheyKnow() throws {
    let dpop = try Self.dpop()
    var copy = dpop
    copy.isRequired = false
    _ = Self.review(dpop, ["DPoP-Nonce": "n"], code: nil)
    #expect(try Self.claims(copy).nonce == "n")
  }

  @Test func noncesOfManyServersAreForgottenFromTheOldest() throws {
    let dpop = try Self.dpop()
    for number in 0..<100 {
      _ = Self.review(dpop, ["DPoP-Nonce": "n\(number)"], code: nil, at: "https://a\(number).example/")
      _ = Self.review(dpop, ["DPoP-Nonce": "kept"], code: nil)
    }
    #expect(try Self.claims(dpop, "https://a0.example/").nonce == nil)
    #expect(try Self.claims(dpop, "https://a36.example/").nonce == nil)
    #expect(try Self.claims(dpop, "https://a37.example/").nonce == "n37")
    #expect(try Self.claims(dpop, "https://a99.example/").nonce == "n99")
    #expect(try Self.claims(dpop).nonce == "kept")
  }

  @Test(
    arguments: [
      ("invalid_dpop_proof", 600.0, 600, true), ("invalid_request", -7200.0, -7200, true),
      ("invalid_dpop_proof", 4.0, 0, false), ("invalid_dpop_proof", nil, 0, false), ("invalid_grant", 600.0, 0, false),
      (nil, 600.0, 0, false),
    ] as [(String?, Double?, Int, Bool)])
  func clockOfAServerThatRefusesTheTimeIsFollowed(
    _ code: String?, _ difference: Double?, _ expected: Int, _ repeats: Bool
  ) throws {
    let dpop = try Self.dpop()
    let whole = Date(timeIntervalSince1970: 1_562_262_617)
    var fields: HTTPFields = [:]
    if let difference { fields[.date] = HTTPDate.format(whole.addingTimeInterval(difference)) }
    #expect(Self.review(dpop, fields, code: code) == repeats)
    #expect(abs(try Self.claims(dpop).iat - (1_562_262_616 + expected)) <= 1)
    #expect(!Self.review(dpop, fields, code: code), "the same time is not tried again")
    #expect(try Self.claims(dpop, "https://b.example/").iat == 1_562_262_616)
  }

  // MARK: - Assertions

  /// RFC 7523 §3, RFC 7521 §4.2.
  @Test(arguments: [nil, "https://login.example"])
  func anAssertionNamesTheClientAndTheServer(_ audience: String?) async throws {
    let key = try SignatureKey.generated(id: "k1")
    let method = OAuthClient.Authentication.privateKeyJWT(
      key, audience: audience, lifetime: .seconds(90)
    ) { Self.time }
    guard case .assertion(let assertion) = method else { throw SignatureError(.unusableKey, "no assertion") }
    #expect(assertion.type == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    var identifiers: Set<String> = []
    for _ in 0..<2 {
      let parts = try await assertion.text(for: "app", at: url("https://a.example/token")).split(separator: ".")
      let signed = Data(parts[0...1].joined(separator: ".").utf8)
      #expect(key.isValid(try #require(Data(base64URL: String(parts[2]))), of: signed))
      #expect(Data(base64URL: String(parts[0])) == Data(#"{"alg":"ES256","kid":"k1","typ":"JWT"}"#.utf8))
      let body = try #require(Data(base64URL: String(parts[1])))
      let claims = try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
      #expect(claims["iss"] as? String == "app" && claims["sub"] as? String == "app")
      #expect(claims["aud"] as? String == audience ?? "https://a.example/token")
      #expect(claims["iat"] as? Int == 1_562_262_616 && claims["exp"] as? Int == 1_562_262_706)
      identifiers.insert(try #require(claims["jti"] as? String))
    }
    #expect(identifiers.count == 2)
  }
}
