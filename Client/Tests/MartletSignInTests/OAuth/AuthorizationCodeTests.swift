import Foundation
@_spi(Credentials) import MartletSemantics
import Testing

@_spi(Credentials) @testable import MartletSignIn

@Suite("OAuth 2: grants and authorization codes (RFC 6749)")
struct AuthorizationCodeTests {
  private let redirect = URL(string: "https://client.example.com/cb") ?? URL(filePath: "/")

  private func form(_ grant: TokenGrant) -> String { PercentEncoding.form.encode(grant.pairs) }

  @Test func eachGrantHasItsPairs() {
    #expect(
      form(.authorizationCode("SplxlOBeZQQYbYS6WxSbIA", redirect: redirect, verifier: nil))
        == "grant_type=authorization_code&code=SplxlOBeZQQYbYS6WxSbIA&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb"
    )
    #expect(form(.authorizationCode("c", redirect: redirect, verifier: "v")).hasSuffix("&code_verifier=v"))
    #expect(form(.clientCredentials(scopes: [])) == "grant_type=client_credentials")
    #expect(form(.clientCredentials(scopes: ["b", "a"])) == "grant_type=client_credentials&scope=a+b")
    #expect(
      form(.refreshToken("tGzv3JOkF0XG5Qx2TlKWIA")) == "grant_type=refresh_token&refresh_token=tGzv3JOkF0XG5Qx2TlKWIA")
  }

  @Test func clientIdentifierAndSecretAreFormEncoded() throws {
    // section 2.3.1: the example
    #expect(
      try TokenGrant.basic(clientID: "s6BhdRkqt3", secret: "7Fjfp0ZBr1KtDRbnfVdmIw")
        == "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3")
    let value = try TokenGrant.basic(clientID: "a:b", secret: "p w%")
    #expect(Data(base64Encoded: String(value.dropFirst(6))) == Data("a%3Ab:p+w%25".utf8))
  }

  private var request: AuthorizationCodeRequest {
    AuthorizationCodeRequest(
      endpoint: URL(string: "https://server.example.com/authorize") ?? redirect, clientID: "s6BhdRkqt3",
      redirect: redirect,
      scopes: [], state: "xyz")
  }

  @Test func theURLIsTheExampleOfSection411() {
    #expect(
      request.url?.absoluteString
        == "https://server.example.com/authorize?response_type=code&client_id=s6BhdRkqt3&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb&state=xyz"
    )
    var full = request
    full.endpoint = URL(string: "https://server.example.com/authorize?tenant=a%20b") ?? redirect
    full.scopes = ["write", "read"]
    full.challenge = ("abc", .s256)
    let text = full.url?.absoluteString ?? ""
    #expect(text.contains("/authorize?tenant=a%20b&response_type=code&"))  // section 3.1: the query is kept
    #expect(text.contains("&scope=read%20write&state=xyz&code_challenge=abc&code_challenge_method=S256"))
  }

  @Test(arguments: [
    (
      "https://client.example.com/cb?code=SplxlOBeZQQYbYS6WxSbIA&state=xyz",
      AuthorizationCodeRequest.Answer.code("SplxlOBeZQQYbYS6WxSbIA")
    ),
    ("https://client.example.com:443/cb?state=xyz&code=a%2Bb+c", .code("a+b c")),
    ("https://client.example.com/cb?error=access_denied&state=xyz", .refused(TokenRefusal(code: "access_denied"))),
    (
      "https://client.example.com/cb?error=x&error_description=not+you&error_uri=u&state=xyz",
      .refused(TokenRefusal(code: "x", description: "not you", uri: "u"))
    ),
    ("https://CLIENT.example.com:443/cb?code=a&state=xyz", .code("a")),  // the host's case does not matter
    ("https://client.example.com/cb?code=a", .foreign),  // section 10.12
    ("https://client.example.com/cb?code=a&state=abc", .foreign),
    ("https://client.example.com/cb?error=x&state=abc", .foreign),
    ("https://client.example.com/cb?code=&state=xyz", .foreign),
    ("https://client.example.com/other?code=a&state=xyz", .foreign),
    ("https://evil.example.com/cb?code=a&state=xyz", .foreign),
    ("http://client.example.com/cb?code=a&state=xyz", .foreign),
    ("app://client.example.com/cb?code=a&state=xyz", .foreign),
    ("https://client.example.com/cb", .foreign),
  ])
  func theRedirectIsParsed(text: String, answer: AuthorizationCodeRequest.Answer) throws {
    #expect(request.answer(in: try #require(URL(string: text))) == answer)
  }

  /// RFC 9207 §2.4: simple string comparison with the known issuer, otherwise the origin of an endpoint.
  @Test(
    arguments: [
      (nil, "https://server.example.com", true), (nil, "https://server.example.com:443/tenant", true),
      (nil, "https://SERVER.example.com/", true), (nil, "https://tokens.example.com/x", true),
      (nil, "http://server.example.com", false), (nil, "https://server.example.com:444", false),
      (nil, "https://server.example.com.evil.example", false), (nil, "https://evil.example", false), (nil, "", false),
      (nil, "server.example.com", false), (nil, "https://server.example.com@evil.example", false),
      ("https://id.example", "https://id.example", true), ("https://id.example", "https://id.example/", false),
      ("https://id.example", "https://ID.example", false), ("https://id.example", "https://server.example.com", false),
      ("https://id.example", "", false),
    ] as [(String?, String, Bool)])
  func issuerInTheRedirectIsThatOfTheServer(known: String?, sent: String, isOwn: Bool) throws {
    var request = request
    request.issuer = known
    request.otherEndpoints = [try #require(URL(string: "https://tokens.example.com/token"))]
    let issuer = PercentEncoding.form.encode(sent)
    func answer(_ query: String) throws -> AuthorizationCodeRequest.Answer {
      request.answer(in: try #require(URL(string: "https://client.example.com/cb?\(query)")))
    }
    let refusal = TokenRefusal(code: "x")
    #expect(try answer("code=a&state=xyz&iss=\(issuer)") == (isOwn ? .code("a") : .otherIssuer(sent)))
    #expect(try answer("error=x&state=xyz&iss=\(issuer)") == (isOwn ? .refused(refusal) : .otherIssuer(sent)))
    #expect(try answer("code=a&state=other&iss=\(issuer)") == .foreign)
    #expect(try answer("code=a&state=xyz") == .code("a"), "not every server sends it")
    let twice = try answer(
      "iss=\(PercentEncoding.form.encode(known ?? "https://server.example.com"))&code=a&state=xyz&iss=e")
    #expect(twice == .otherIssuer("e"))
  }
}

@Suite("OAuth 2: proof keys (RFC 7636)")
struct ProofKeyTests {
  /// The octets of appendix B.
  private let octets: [UInt8] = [
    116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240, 91,
    88, 5,
    88, 83, 132, 141, 121,
  ]
  @Test func theExampleOfAppendixBHolds() throws {
    let key = try #require(ProofKey(verifier: Data(octets).base64URL))
    #expect(key.verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    #expect(key.challenge(.s256) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    #expect(key.challenge(.plain) == key.verifier)
  }

  @Test(arguments: [(Data(), ""), (Data([0xFF]), "_w"), (Data([0xFB, 0xFF]), "-_8"), (Data([1, 2, 3]), "AQID")])
  func appendixANeedsNoPadding(data: Data, text: String) { #expect(data.base64URL == text) }

  @Test(
    "section 4.1: the verifier has 43 to 128 unreserved characters",
    arguments: [
      (String(repeating: "a", count: 42), false), (String(repeating: "a", count: 43), true),
      (String(repeating: "a", count: 128), true), (String(repeating: "a", count: 129), false),
      (String(repeating: "a", count: 39) + "-._~", true), (String(repeating: "a", count: 43) + "+", false),
      (String(repeating: "ä", count: 43), false),
    ])
  func verifiers(text: String, isAllowed: Bool) { #expect((ProofKey(verifier: text) != nil) == isAllowed) }
}
