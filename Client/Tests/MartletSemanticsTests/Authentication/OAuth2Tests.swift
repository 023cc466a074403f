import Foundation
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics
import Testing

@Suite("OAuth 2: tokens (RFC 6749)")
struct TokenAnswerTests {
  @Test(
    arguments: [
      (
        #"{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"x y"}"#, 3600.0, "r",
        ["x", "y"]
      ),
      (#"{"access_token":"a","expires_in":"60"}"#, 60, nil, nil),
      (#"{"access_token":"a","token_type":"Bearer","expires_in":1.5,"scope":""}"#, 1.5, nil, []),
      (#"{"access_token":"a","token_type":"Bearer","expires_in":null,"other":[1]}"#, nil, nil, nil),
      (#"{"access_token":"a","token_type":"Bearer","expires_in":"soon"}"#, nil, nil, nil),
    ] as [(String, Double?, String?, Set<String>?)])
  func responsesOfRealServersAreDecoded(text: String, seconds: Double?, refresh: String?, scopes: Set<String>?) throws {
    let answer = try JSONDecoder().decode(TokenAnswer.self, from: Data(text.utf8))
    #expect(answer.accessToken == "a" && answer.tokenType == "Bearer")
    #expect(answer.seconds == seconds && answer.refreshToken == refresh && answer.scopes == scopes)
  }

  @Test(arguments: [
    ("Bearer", true), ("bEARER", true), ("DPoP", false), ("mac", false), ("N_A", false), ("a\nb", false),
  ])
  func onlyBearerTokensCanBeUsed(_ type: String, canBeUsed: Bool) throws {
    let members = ["access_token": "secret", "token_type": type]
    let answer = try JSONDecoder().decode(TokenAnswer.self, from: JSONEncoder().encode(members))
    #expect((answer.objection == nil) == canBeUsed)
    #expect(
      answer.objection.map { $0.contains("'\(type.replacing("\n", with: ""))'") && !$0.contains("secret") } != false)
  }

  /// A lifetime that is not a positive number is unknown. A token that the server describes as already expired would
  /// otherwise be renewed for each request.
  @Test(
    arguments: [
      ("0", nil), ("-1", nil), ("0.0", nil), (#""0""#, nil), (#""-60""#, nil), ("true", nil), (#""true""#, nil),
      (#""""#, nil), (#""inf""#, nil), (#""nan""#, nil), (#""soon""#, nil), ("[60]", nil), (#"{"s":60}"#, nil),
      ("null", nil), ("1", 1), ("0.5", 0.5), (#""3600""#, 3600), (#""1e3""#, 1000), ("1e300", 4_294_967_296),
      (#""99999999999999""#, 4_294_967_296),
    ] as [(String, Double?)])
  func lifetimeIsAPositiveNumberOrUnknown(_ member: String, seconds: Double?) throws {
    let text = #"{"access_token":"a","token_type":"Bearer","expires_in":\#(member)}"#
    #expect(try JSONDecoder().decode(TokenAnswer.self, from: Data(text.utf8)).seconds == seconds)
  }

  @Test(arguments: ["", "{}", #"{"error":"invalid_grant"}"#, "[]", #"{"access_token":1}"#])
  func aResponseWithoutATokenIsAnError(text: String) {
    #expect(throws: (any Error).self) { try JSONDecoder().decode(TokenAnswer.self, from: Data(text.utf8)) }
  }
}

@Suite("OAuth 2: requests that obtain a token (RFC 6749 §3)")
struct TokenRequestRuleTests {
  private static let form = "application/x-www-form-urlencoded"

  @Test(arguments: [
    ("POST", "https://a.example/token", form, "grant_type=refresh_token&refresh_token=r", true),  // §6
    ("POST", "https://a.example/token", form + "; charset=utf-8", "code=c&grant_type=a", true),  // §4.1.3
    ("POST", "https://a.example/par", form, "response_type=code&client_id=c", true),  // RFC 9126 §2.1
    ("GET", "https://a.example/authorize?response_type=code&client_id=c", "", "", true),  // §4.1.1
    ("GET", "https://a.example/.well-known/oauth-authorization-server", "", "", true),  // RFC 8414 §3
    ("GET", "https://a.example/.well-known/openid-configuration", "", "", true),
    ("POST", "https://a.example/orders", form, "name=grant_type", false),
    ("POST", "https://a.example/orders", "application/json", "grant_type=refresh_token", false),
    ("PUT", "https://a.example/token", form, "grant_type=refresh_token", false),
    ("GET", "https://a.example/orders?client_id=c", "", "", false),
    ("GET", "https://a.example/a/.well-known/b", "", "", false),
  ])
  func requestsThatObtainATokenAreRecognized(
    _ method: String, _ address: String, _ type: String, _ body: String, _ expected: Bool
  ) throws {
    var head = RequestHead(method: try #require(HTTPMethod(rawValue: method)), url: try #require(URL(string: address)))
    if !type.isEmpty { head.fields[.contentType] = type }
    #expect(TokenRequestRule.obtainsToken(head, form: Data(body.utf8)) == expected)
  }
}
