import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import TestSupport
import Testing

@testable import MartletSignIn

/// Which kept tokens a client uses (RFC 9449 §5): one that is bound to a key which is gone is useless.
@Suite struct KeptTokenRuleTests {
  private struct Binding: TokenBinding {
    var keyID = "k1"
    var isRequired = true
    let tokenType = "DPoP"
    let authorizationParameters: [(name: String, value: String)] = []

    func prove(_ request: HTTPRequest) throws -> HTTPRequest { request }
    func review(_ response: ResponseHead, of endpoint: URL, refusal: OAuthError?) -> Bool { false }
  }

  enum Use: Sendable {
    case asItIs
    case onlyForRenewal
    case none
  }

  private static func client(_ binding: Binding?, isPublic: Bool) -> OAuthClient {
    var client = OAuthClient(
      id: "a", tokenEndpoint: url("https://a.example"), authentication: isPublic ? .none : .form(secret: "s"),
      session: HTTPSession(transport: SocketTransport()))
    client.binding = binding
    return client
  }

  @Test(
    arguments: [
      // no binding
      (nil, true, "Bearer", nil, .asItIs), (nil, false, "Bearer", nil, .asItIs), (nil, true, "bot", nil, .asItIs),
      (nil, true, "DPoP", "k1", .none), (nil, false, "DPoP", "k1", .onlyForRenewal), (nil, true, "dpop", nil, .none),
      // a required one
      (true, true, "DPoP", "k1", .asItIs), (true, true, "dpop", "k1", .asItIs), (true, true, "DPoP", "k2", .none),
      (true, true, "DPoP", nil, .none), (true, false, "DPoP", "k2", .onlyForRenewal),
      (true, false, "DPoP", "k1", .asItIs), (true, true, "Bearer", nil, .onlyForRenewal),
      (true, false, "bearer", nil, .onlyForRenewal),
      // an optional one
      (false, true, "Bearer", nil, .asItIs), (false, true, "DPoP", "k1", .asItIs), (false, true, "DPoP", "k2", .none),
      (false, false, "DPoP", "k2", .onlyForRenewal),
    ] as [(Bool?, Bool, String, String?, Use)])
  func keyAndTypeDecideTheUse(
    _ isRequired: Bool?, _ isPublic: Bool, _ type: String, _ keyID: String?, _ expected: Use
  ) throws {
    let rule = KeptTokenRule(Self.client(isRequired.map { Binding(isRequired: $0) }, isPublic: isPublic))
    for refreshToken in [nil, "r"] {
      let token = AccessToken("a", type: type, expires: .distantFuture, refreshToken: refreshToken)
      let used = rule.usable(KeptToken(token: token, keyID: keyID))
      switch expected {
      case .asItIs: #expect(used == token)
      case .none: #expect(used == nil)
      case .onlyForRenewal:
        #expect(used?.refreshToken == refreshToken && used?.expires == (refreshToken == nil ? nil : .distantPast))
      }
    }
  }

  @Test func theKeyIsKeptOnlyWithABoundToken() throws {
    let rule = KeptTokenRule(Self.client(Binding(), isPublic: true))
    #expect(rule.keyID(of: AccessToken("a", type: "dpop")) == "k1" && rule.keyID(of: AccessToken("a")) == nil)
    for keyID in [nil, "k1"] {
      let kept = KeptToken(token: AccessToken("a", type: "DPoP", refreshToken: "r"), keyID: keyID)
      let data = try JSONEncoder().encode(kept)
      #expect(String(decoding: data, as: UTF8.self).contains("jkt") == (keyID != nil))
      let read = try JSONDecoder().decode(KeptToken.self, from: data)
      #expect(read.token == kept.token && read.keyID == keyID)
      #expect(try JSONDecoder().decode(AccessToken.self, from: data) == kept.token)
    }
  }
}
