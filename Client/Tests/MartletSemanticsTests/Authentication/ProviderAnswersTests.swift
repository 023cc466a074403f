import FoundationEssentials
@_spi(Credentials) import MartletSemantics
import Testing

/// What the token endpoints of well-known providers answer. Values are shortened. Each row names the provider and the
/// public document that shows the answer; "observed" are answers that public bug reports, captures and clients show.
@Suite struct ProviderAnswersTests {
  struct Token: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let body: String
    var seconds: Double?
    var refreshes = true
    var scopes: Set<String>?
  }

  static let tokens = [
    Token(
      testDescription: "GitHub, Refreshing user access tokens",
      body: """
        {"access_token":"ghu_16C7","expires_in":28800,"refresh_token":"ghr_1B4a","refresh_token_expires_in":15811200,
         "scope":"","token_type":"bearer"}
        """, seconds: 28_800, scopes: []),
    Token(
      testDescription: "GitHub, Authorizing OAuth apps",
      body: #"{"access_token":"gho_16C7","scope":"repo,gist","token_type":"bearer"}"#, refreshes: false,
      scopes: ["repo", "gist"]),
    Token(
      testDescription: "Twitch, Getting OAuth Access Tokens",
      body: """
        {"access_token":"rfx2","expires_in":14124,"refresh_token":"5b93","scope":["channel:moderate","chat:edit"],
         "token_type":"bearer"}
        """, seconds: 14_124, scopes: ["channel:moderate", "chat:edit"]),
    Token(
      testDescription: "Azure AD v1, OAuth 2.0 code grant",
      body: """
        {"access_token":"eyJ0","token_type":"Bearer","expires_in":"3600","expires_on":"1388444763",
         "resource":"https://service.contoso.com/","refresh_token":"AwAB","scope":"https://api/m.read","id_token":"e"}
        """, seconds: 3600, scopes: ["https://api/m.read"]),
    Token(
      testDescription: "Microsoft identity platform, OAuth 2.0 authorization code flow",
      body: """
        {"access_token":"eyJ0","token_type":"Bearer","expires_in":3599,"scope":"https://g/mail.read openid",
         "refresh_token":"AwAB","id_token":"eyJ0"}
        """, seconds: 3599, scopes: ["https://g/mail.read", "openid"]),
    Token(
      testDescription: "Google, OAuth 2.0 for TV and Limited-Input Device Applications",
      body: """
        {"access_token":"1/fF","expires_in":3920,"scope":"openid https://www.example/auth/profile",
         "token_type":"Bearer","refresh_token":"1/x"}
        """, seconds: 3920, scopes: ["openid", "https://www.example/auth/profile"]),
    Token(
      testDescription: "Auth0, Call Your API Using the Authorization Code Flow with PKCE",
      body:
        #"{"access_token":"eyJz","refresh_token":"GEbR","id_token":"eyJ0","token_type":"Bearer","expires_in":86400}"#,
      seconds: 86_400),
    Token(
      testDescription: "Amazon Cognito, Token endpoint",
      body:
        #"{"id_token":"eyJr","access_token":"eyJr","refresh_token":"eyJj","expires_in":3600,"token_type":"Bearer"}"#,
      seconds: 3600),
    Token(
      testDescription: "Salesforce, OAuth 2.0 Web Server Flow",
      body: """
        {"access_token":"00Dx!AQ","refresh_token":"5Aep","signature":"CMJ4","scope":"refresh_token api",
         "instance_url":"https://i.example","id":"https://l.example","token_type":"Bearer","issued_at":"1278448384422"}
        """, scopes: ["refresh_token", "api"]),
    Token(
      testDescription: "Cloud Foundry UAA (SAP XSUAA), Token",
      body: """
        {"access_token":"f10e","token_type":"bearer","id_token":"eyJh","refresh_token":"2b5c-r","expires_in":43199,
         "scope":"openid oauth.approvals","jti":"f10e"}
        """, seconds: 43_199, scopes: ["openid", "oauth.approvals"]),
    Token(
      testDescription: "GitLab, OAuth 2.0 identity provider API",
      body: """
        {"access_token":"de67","token_type":"bearer","expires_in":7200,"refresh_token":"8257","created_at":1607635748}
        """, seconds: 7200),
    Token(
      testDescription: "Okta, OpenID Connect & OAuth 2.0 API",
      body:
        #"{"access_token":"eyJh","token_type":"Bearer","expires_in":3600,"scope":"openid email","id_token":"eyJh"}"#,
      seconds: 3600, refreshes: false, scopes: ["openid", "email"]),
    Token(
      testDescription: "Keycloak, Securing applications: token endpoint",
      body: """
        {"access_token":"eyJh","expires_in":300,"refresh_expires_in":1800,"refresh_token":"eyJh","token_type":"Bearer",
         "not-before-policy":0,"session_state":"9b3e","scope":"profile email"}
        """, seconds: 300, scopes: ["profile", "email"]),
    Token(
      testDescription: "Spotify, Authorization Code Flow",
      body: """
        {"access_token":"NgCX","token_type":"Bearer","scope":"user-read-private","expires_in":3600,"refresh_token":"Ng"}
        """, seconds: 3600, scopes: ["user-read-private"]),
    Token(
      testDescription: "Slack, observed",
      body: """
        {"ok":true,"access_token":"xoxb-1","token_type":"bot","scope":"commands,incoming-webhook","expires_in":43200,
         "refresh_token":"xoxe-1"}
        """, seconds: 43_200, scopes: ["commands", "incoming-webhook"]),
    Token(
      testDescription: "Twitch, Refreshing Access Tokens",
      body:
        #"{"access_token":"1ssj","refresh_token":"eyJf","scope":"channel:read:subscriptions","token_type":"bearer"}"#,
      scopes: ["channel:read:subscriptions"]),
    Token(
      testDescription: "GitHub Enterprise Server 3.0, Refreshing user access tokens",
      body: #"{"access_token":"ghu_16","expires_in":"28800","refresh_token":"ghr_1","scope":"","token_type":"bearer"}"#,
      seconds: 28_800, scopes: []),
  ]

  /// All of them are sent as Bearer tokens.
  @Test(arguments: tokens) func tokenOfAProviderIsRead(_ row: Token) throws {
    #expect(TokenRefusal(.ok, Data(row.body.utf8)) == nil)
    let answer = try JSONDecoder().decode(TokenAnswer.self, from: Data(row.body.utf8))
    #expect(answer.objection == nil)
    #expect(answer.seconds == row.seconds)
    #expect((answer.refreshToken != nil) == row.refreshes)
    #expect(answer.scopes == row.scopes)
  }

  struct Failure: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let status: Int
    let body: String
    let code: String
    let meaning: RenewalFailure
  }

  static let failures = [
    Failure(
      testDescription: "GitHub, observed", status: 200,
      body: #"{"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}"#,
      code: "bad_refresh_token", meaning: .refused),
    Failure(
      testDescription: "GitHub, Troubleshooting OAuth app access token request errors", status: 200,
      body: #"{"error":"incorrect_client_credentials","error_description":"The client_id and/or client_secret …"}"#,
      code: "incorrect_client_credentials", meaning: .unusable),
    Failure(
      testDescription: "Twitch, Refreshing Access Tokens", status: 400,
      body: #"{"error":"Bad Request","status":400,"message":"Invalid refresh token"}"#, code: "Bad Request",
      meaning: .refused),
    Failure(
      testDescription: "Microsoft identity platform, OAuth 2.0 authorization code flow", status: 400,
      body:
        #"{"error":"interaction_required","error_description":"AADSTS50079: …","error_codes":[50079],"trace_id":"1"}"#,
      code: "interaction_required", meaning: .refused),
    Failure(
      testDescription: "Microsoft identity platform, observed: a busy server", status: 429,
      body: #"{"error":"temporarily_unavailable","error_description":"AADSTS90055: …","error_codes":[90055]}"#,
      code: "temporarily_unavailable", meaning: .temporary),
    Failure(
      testDescription: "Auth0, Refresh Tokens", status: 403,
      body: #"{"error":"invalid_grant","error_description":"Unknown or invalid refresh token."}"#,
      code: "invalid_grant", meaning: .refused),
    Failure(
      testDescription: "Auth0, observed: a rate limit", status: 429,
      body: #"{"error":"too_many_requests","error_description":"Global limit has been reached"}"#,
      code: "too_many_requests", meaning: .temporary),
    Failure(
      testDescription: "Amazon Cognito, Token endpoint", status: 400, body: #"{"error":"invalid_client"}"#,
      code: "invalid_client", meaning: .unusable),
    Failure(
      testDescription: "Salesforce, OAuth 2.0 Refresh Token Flow", status: 400,
      body: #"{"error":"invalid_grant","error_description":"expired access/refresh token"}"#, code: "invalid_grant",
      meaning: .refused),
    Failure(
      testDescription: "Cloud Foundry UAA (SAP XSUAA), Refresh Token", status: 401,
      body: #"{"error":"invalid_token","error_description":"Invalid refresh token (expired): eyJh"}"#,
      code: "invalid_token", meaning: .refused),
    Failure(
      testDescription: "Atlassian, OAuth 2.0 (3LO) apps", status: 403,
      body: #"{"error":"invalid_grant","error_description":"Unknown or invalid refresh token."}"#,
      code: "invalid_grant", meaning: .refused),
    Failure(
      testDescription: "Atlassian, observed", status: 403,
      body: #"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#,
      code: "unauthorized_client", meaning: .refused),
    Failure(
      testDescription: "Slack, observed", status: 200,
      body: #"{"ok":false,"error":"invalid_refresh_token"}"#,
      code: "invalid_refresh_token", meaning: .refused),
    Failure(
      testDescription: "HubSpot, observed", status: 400,
      body: #"{"status":"BAD_REFRESH_TOKEN","message":"missing or unknown refresh token"}"#,
      code: "missing or unknown refresh token", meaning: .refused),
    Failure(
      testDescription: "Okta, Error codes", status: 429,
      body: #"{"errorCode":"E0000047","errorSummary":"API call exceeded rate limit","errorLink":"E0000047"}"#,
      code: "E0000047", meaning: .temporary),
    Failure(
      testDescription: "Facebook, Graph API: Handling Errors", status: 400,
      body: #"{"error":{"message":"Invalid verification code format.","type":"OAuthException","code":100}}"#,
      code: "OAuthException", meaning: .refused),
    Failure(
      testDescription: "Spotify, news of 2016-07-25", status: 400, body: #"{"error":"invalid_grant"}"#,
      code: "invalid_grant", meaning: .refused),
    Failure(
      testDescription: "Twitch, observed", status: 400, body: #"{"status":400,"message":"Invalid refresh token"}"#,
      code: "Invalid refresh token", meaning: .refused),
    Failure(
      testDescription: "Twitch, observed: a wrong secret", status: 403,
      body: #"{"status":403,"message":"invalid client secret"}"#, code: "invalid client secret", meaning: .unusable),
    Failure(
      testDescription: "Keycloak, ClientIdAndSecretAuthenticator: a wrong secret", status: 401,
      body: #"{"error":"unauthorized_client","error_description":"Invalid client or Invalid client credentials"}"#,
      code: "unauthorized_client", meaning: .unusable),
    Failure(
      testDescription: "Auth0, observed: a wrong secret", status: 401,
      body: #"{"error":"access_denied","error_description":"Unauthorized"}"#, code: "access_denied",
      meaning: .unusable),
    Failure(
      testDescription: "Cloud Foundry UAA (SAP XSUAA), observed: a wrong secret", status: 401,
      body: #"{"error":"unauthorized","error_description":"Bad credentials"}"#, code: "unauthorized",
      meaning: .unusable),
    Failure(
      testDescription: "Slack, observed: a wrong secret", status: 200,
      body: #"{"ok":false,"error":"bad_client_secret"}"#,
      code: "bad_client_secret", meaning: .unusable),
    Failure(
      testDescription: "Slack, observed: an outage", status: 200, body: #"{"ok":false,"error":"internal_error"}"#,
      code: "internal_error", meaning: .temporary),
    Failure(
      testDescription: "Okta, observed: an unknown client", status: 401,
      body: #"{"errorCode":"invalid_client","errorSummary":"Invalid value for 'client_id' parameter."}"#,
      code: "invalid_client", meaning: .unusable),
    Failure(
      testDescription: "Salesforce, observed: an outage", status: 400,
      body: #"{"error":"unknown_error","error_description":"retry your request"}"#, code: "unknown_error",
      meaning: .temporary),
  ]

  @Test(arguments: failures) func failureOfAProviderIsUnderstood(_ row: Failure) throws {
    let status = HTTPStatus(row.status)
    let refusal = try #require(TokenRefusal(status, Data(row.body.utf8)))
    #expect(refusal.code == row.code)
    #expect(RenewalFailure(status, code: refusal.code) == row.meaning)
  }

  @Test(arguments: [
    (200, "<html>"), (200, "{}"), (200, #"{"message":"hello"}"#), (200, #"{"error":null,"access_token":"a"}"#),
    (200, #"{"error":"","access_token":"a"}"#), (200, #"{"error":[1]}"#), (503, "busy"), (400, #"{"status":400}"#),
    (500, #"[{"error":"a"}]"#),
  ])
  func bodyWithoutAnErrorIsNoRefusal(_ status: Int, _ body: String) {
    #expect(TokenRefusal(HTTPStatus(status), Data(body.utf8)) == nil)
  }

  /// RFC 6749 appendix A.12.
  @Test(arguments: [
    ("a", true), ("a b", true), ("!~", true), (String(repeating: "a", count: 500), true), ("", false), ("a\nb", false),
    ("a\r\nX-Evil: 1", false), ("ä", false), ("a\u{7F}", false), ("a\u{0}", false), ("\u{202E}a", false),
  ])
  func accessTokenHasPrintableCharacters(_ text: String, _ isToken: Bool) throws {
    let body = try JSONEncoder().encode(["access_token": text, "token_type": "Bearer", "refresh_token": ""])
    let answer = try? JSONDecoder().decode(TokenAnswer.self, from: body)
    #expect((answer != nil) == isToken)
    #expect(answer?.refreshToken == nil, "an empty refresh token is none")
  }
}
