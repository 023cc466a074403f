import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OAuthClientTests {
  /// A server of orders that accepts one token.
  private func api(accepting token: @escaping @Sendable () -> String) throws -> LoopbackServer {
    try LoopbackServer { request in
      request.fields[.authorization] == "Bearer \(token())"
        ? .text("orders") : .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
    }
  }

  private func session(_ tokens: TokenSource) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.credentials = [tokens]
    configuration.cache = nil
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  @Test(arguments: [
    (OAuthClient.Authentication.none, ["client_id": "app"]),
    (.form(secret: "s&t"), ["client_id": "app", "client_secret": "s&t"]),
    (.basic(secret: "s t"), ["authorization": "Basic " + Data("app:s+t".utf8).base64EncodedString()]),
  ])
  func clientAuthenticatesItself(_ authentication: OAuthClient.Authentication, _ parts: [String: String]) async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }

    let token = try await server.client(authentication).token(by: .clientCredentials(scopes: ["write", "read"]))

    let common = ["grant_type": "client_credentials", "scope": "read write", "path": "/token"]
    #expect(server.received == [common.merging(parts) { $1 }])
    #expect(token.value == "a" && token.type == "bearer" && token.refreshToken == nil && token.expires != nil)
  }

  /// RFC 6749 §7.1: a token of a type that the client does not understand must not be used.
  @Test(arguments: ["DPoP", "mac", "pop", "N_A", "Basic", "Bearer x"])
  func tokenOfATypeThatCannotBeSentIsAnErrorThatNamesIt(_ type: String) async throws {
    let server = try TokenServer { _, _ in .json(#"{"access_token": "secret", "token_type": "\#(type)"}"#) }
    let error = await #expect(throws: HTTPError.self) {
      try await server.client().token(by: .clientCredentials())
    }
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.message.contains("'\(type)'") == true)
    #expect(error?.message.contains("secret") == false)
  }

  @Test(arguments: ["\"bearer\"", "\"BEARER\"", "\"\"", "null"])
  func bearerIsRecognizedInAnyCaseAndAssumedWithoutAType(_ type: String) async throws {
    let server = try TokenServer { _, _ in .json(#"{"access_token": "a", "token_type": \#(type)}"#) }
    let api = try api { "a" }
    let session = session(server.client().tokens(for: .origin(of: api.url), by: .clientCredentials()))
    #expect(try await session.data(for: HTTPRequest(.get, api.url)).1.status == .ok)
  }

  /// With `"expires_in": 0` a server does not mean that the token is unusable.
  @Test(arguments: ["0", "-1", "\"0\"", "\"never\""])
  func unknownLifetimeIsNotARenewalForEachRequest(_ seconds: String) async throws {
    let server = try TokenServer { _, count in
      .json(#"{"access_token": "\#(count)", "token_type": "Bearer", "expires_in": \#(seconds)}"#)
    }
    let api = try api { "0" }
    let session = session(server.client().tokens(for: .origin(of: api.url), by: .clientCredentials()))
    for _ in 1...3 { #expect(try await session.data(for: HTTPRequest(.get, api.url)).1.status == .ok) }
    #expect(server.received.count == 1)
  }

  @Test func lifetimeOfATokenIsMeasuredByTheTimeOfTheClient() async throws {
    let server = try TokenServer { _, count in TokenServer.token("\(count)", seconds: 3600) }
    let api = try LoopbackServer { request in .text(request.fields[.authorization] ?? "") }
    let now = Awaitable(Date(timeIntervalSince1970: 1_000_000_000))
    let client = server.client(now: { now.value })
    let session = session(client.tokens(for: .origin(of: api.url), by: .clientCredentials()))

    for (seconds, token) in [(0, "0"), (3500, "0"), (100, "1")] as [(TimeInterval, String)] {
      now.update { $0 += seconds }
      #expect(try await session.text(for: HTTPRequest(.get, api.url)).0 == "Bearer \(token)")
    }
  }

  @Test func requestsGetTheTokenOfTheClient() async throws {
    let server = try TokenServer { _, count in TokenServer.token("\(count)") }
    let accepted = Awaitable("0")
    let api = try api { accepted.value }
    let session = session(server.client().tokens(for: .origin(of: api.url), by: .clientCredentials()))

    #expect(try await session.data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    accepted.update { $0 = "1" }
    #expect(try await session.data(for: HTTPRequest(.get, api.url)).1.status == .ok)

    #expect(api.requests.map { $0.fields[.authorization] } == ["Bearer 0", "Bearer 0", "Bearer 1"])
    #expect(server.received.count == 2, "the second token was obtained after the 401")
  }

  @Test func refreshTokensRotateAndTheNewestIsKept() async throws {
    let server = try TokenServer { form, count in
      form["refresh_token"].map { TokenServer.token("\(count)", refresh: $0 == "r0" ? "r1" : nil) }
        ?? TokenServer.token("0", refresh: "r0")
    }
    let accepted = Awaitable("0")
    let api = try api { accepted.value }
    let store = MemoryKeyValueStore()
    func run(_ token: String) async throws -> HTTPStatus {
      accepted.update { $0 = token }
      let tokens = try await server.client()
        .tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
      return try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status
    }

    for token in ["0", "0", "1", "2", "2"] { #expect(try await run(token) == .ok) }

    #expect(server.received.map { $0["refresh_token"] } == [nil, "r0", "r1"], "a run continues with the stored token")
    let stored = try JSONDecoder().decode(AccessToken.self, from: try #require(store.value(for: "oauth-token")))
    #expect(stored.value == "2" && stored.refreshToken == "r1", "a response without a refresh token keeps the old one")
  }

  @Test func newerTokenOfAnotherProcessIsUsed() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("own") }
    let api = try api { "other" }
    let store = MemoryKeyValueStore()
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    try store.set(JSONEncoder().encode(AccessToken("other")), for: "oauth-token")

    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    #expect(server.received.isEmpty)
  }

  /// The token would have expired long ago by the system's time.
  @Test func tokenOfAnotherProcessIsFreshByTheTimeOfTheClientsSession() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("own") }
    let api = try api { "other" }
    let store = MemoryKeyValueStore()
    let now = Date(timeIntervalSince1970: 1_000_000_000)
    let tokens = try await server.client(now: { now })
      .tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    try store.set(
      JSONEncoder().encode(AccessToken("other", expires: now.addingTimeInterval(3600))), for: "oauth-token")

    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    #expect(server.received.isEmpty)
  }

  /// Seconds since 1970 have fewer digits than a date.
  @Test func refusedTokenIsNotTakenFromTheStoreAgain() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("new") }
    let api = try api { "new" }
    let store = MemoryKeyValueStore()
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    let expires = Date(
      timeIntervalSinceReferenceDate: Date.now.timeIntervalSinceReferenceDate.rounded() + 3600 + 0x1p-23)
    let old = AccessToken("old", expires: expires)
    try store.set(JSONEncoder().encode(old), for: "oauth-token")
    tokens.use(old)

    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    #expect(server.received.count == 1)
  }

  /// The store still holds the previous user's token.
  @Test func tokenOfANewLoginIsRenewedInsteadOfTheStoredToken() async throws {
    let server = try TokenServer { form, _ in TokenServer.token(form["refresh_token"] == "rB" ? "ben" : "other") }
    let api = try api { "ben" }
    let store = MemoryKeyValueStore()
    try store.set(JSONEncoder().encode(AccessToken("anna", refreshToken: "rA")), for: "oauth-token")
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)

    tokens.use(AccessToken("expired", refreshToken: "rB"))

    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    #expect(api.requests.map { $0.fields[.authorization] } == ["Bearer expired", "Bearer ben"])
    #expect(server.received.map { $0["refresh_token"] } == ["rB"])
  }

  @Test func afterALogoutTheStoredTokenIsNotUsed() async throws {
    let server = try TokenServer { _, count in TokenServer.token("\(count)") }
    let api = try LoopbackServer { request in .text(request.fields[.authorization] ?? "") }
    let store = MemoryKeyValueStore()
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    let session = session(tokens)
    #expect(try await session.text(for: HTTPRequest(.get, api.url)).0 == "Bearer 0")

    tokens.use(nil)

    #expect(try await session.text(for: HTTPRequest(.get, api.url)).0 == "Bearer 1")
  }

  @Test func renewalThatRunsAtALogoutStoresNothing() async throws {
    let gate = Gate()
    let server = try TokenServer { _, _ in TokenServer.token("a").held(by: gate) }
    let api = try LoopbackServer { _ in .text("orders") }
    let store = MemoryKeyValueStore()
    let sets = Awaitable(0)
    let login = OAuthLogin { client in
      defer { sets.update { $0 += 1 } }
      return try await client.token(by: .clientCredentials())
    }
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: login, keptIn: store)
    let session = session(tokens)
    async let request = session.data(for: HTTPRequest(.get, api.url))
    _ = try await server.server.request(1)

    tokens.use(nil)
    _ = try await request
    gate.open()

    _ = try await sets.wait { $0 == 1 ? true : nil }
    for _ in 0..<1000 { await Task.yield() }
    #expect(store.keys().isEmpty)
  }

  /// If two processes renew at the same moment, the second one is refused.
  @Test func tokenThatAnotherProcessRenewedMeanwhileIsUsed() async throws {
    let store = MemoryKeyValueStore()
    let other = try JSONEncoder().encode(AccessToken("other", refreshToken: "r1"))
    let server = try TokenServer { form, _ in
      store.set(other, for: "oauth-token")
      return form["grant_type"] == "refresh_token" ? TokenServer.refusal("invalid_grant") : TokenServer.token("login")
    }
    let api = try api { "other" }
    try store.set(
      JSONEncoder().encode(AccessToken("old", expires: .distantPast, refreshToken: "r0")), for: "oauth-token")
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)

    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
    #expect(server.received.map { $0["grant_type"] } == ["refresh_token"])
  }

  @Test func refusedRefreshTokenLeadsToALogin() async throws {
    let server = try TokenServer { form, _ in
      form["grant_type"] == "refresh_token" ? TokenServer.refusal("invalid_grant") : TokenServer.token("new")
    }
    let api = try api { "new" }
    let store = MemoryKeyValueStore()
    try store.set(JSONEncoder().encode(AccessToken("old", expires: .distantPast, refreshToken: "r")), for: "key")
    let tokens = try await server.client()
      .tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store, as: "key")

    let (_, response) = try await session(tokens).data(for: HTTPRequest(.get, api.url))

    #expect(response.status == .ok)
    #expect(server.received.map { $0["grant_type"] } == ["refresh_token", "client_credentials"])
  }

  @Test func damagedStoredTokenIsNone() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("new") }
    let api = try api { "new" }
    let store = MemoryKeyValueStore()
    store.set(Data("?".utf8), for: "oauth-token")
    let tokens = try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    #expect(try await session(tokens).data(for: HTTPRequest(.get, api.url)).1.status == .ok)
  }

  @Test(arguments: [OAuthClient.Authentication.form(secret: "hunter2"), .basic(secret: "hunter2")])
  func refusalIsAnErrorWithItsCodeAndWithoutSecrets(_ authentication: OAuthClient.Authentication) async throws {
    let server = try TokenServer { _, _ in
      TokenServer.refusal("invalid_client", "no such secret: hunter2\\u0007")
    }
    let client = server.client(authentication)

    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }

    let refusal = try #require(error?.underlying as? OAuthError)
    #expect(error?.kind == .authenticationFailed)
    #expect(refusal.code == "invalid_client" && refusal.detail == "no such secret: ***")
    #expect(error?.message == "the authorization server refused the request: invalid_client (no such secret: ***)")
    #expect(error?.response?.status == .badRequest)
    var text = "\(client) \(client.authentication)"
    dump(error, to: &text)
    dump(client, to: &text)
    #expect(!text.contains("hunter2"))
  }

  @Test(arguments: [
    (Reply.text("<html>", status: .ok), "is not JSON with an access_token: check the URL"),
    (.text("oops", status: .internalServerError), "the authorization server answered 500 Internal Server Error"),
    (
      .redirect(to: "/elsewhere", status: .temporaryRedirect),
      "the authorization server answered 307 Temporary Redirect"
    ),
  ])
  func otherResponsesAreErrors(_ reply: Reply, _ message: String) async throws {
    let server = try TokenServer { _, _ in reply }
    let error = await #expect(throws: HTTPError.self) { try await server.client().token(by: .clientCredentials()) }
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.message.hasSuffix(message) == true)
    #expect(error?.body == nil)
    #expect(server.received.count == 1, "a redirect is not followed")
  }

  @Test func aSecretThatBasicEncodesIsNotInTheErrorEither() async throws {
    let server = try TokenServer { _, _ in TokenServer.refusal("invalid_client", "neither s t nor s+t: wrong") }
    let client = server.client(.basic(secret: "s t"))
    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    #expect((error?.underlying as? OAuthError)?.detail == "neither *** nor ***: wrong")
  }

  @Test func aResponseOfMoreThanAMebibyteIsAnError() async throws {
    let server = try TokenServer { _, _ in .text(String(repeating: " ", count: (1 << 20) + 1)) }
    let error = await #expect(throws: HTTPError.self) { try await server.client().token(by: .clientCredentials()) }
    #expect(error?.kind == .bodyTooLarge)
  }

  @Test func secretsAreSentToNoUnprotectedServer() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .status(.ok) })
    let client = OAuthClient(id: "app", tokenEndpoint: url("http://a.example/token?x=y"), session: session)
    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("'http://a.example/token?…' of the authorization server is not https") == true)
  }

  @Test func tokenWithoutARefreshTokenCannotBeRenewed() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("new") }
    let error = await #expect(throws: HTTPError.self) { try await server.client().renewed(AccessToken("a")) }
    #expect(error?.kind == .authenticationFailed)
    #expect(server.received.isEmpty)
  }
}
