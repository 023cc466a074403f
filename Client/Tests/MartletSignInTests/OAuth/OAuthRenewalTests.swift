import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
import MartletTesting
import Testing

/// A renewal that fails: only a refusal of the refresh token ends a login.
@Suite(.timeLimit(.minutes(5)))
struct OAuthRenewalTests {
  /// Requests the API twice with an expired token. Its first renewal gets the reply, all later ones a token.
  private func requests(
    renewal reply: Reply, login: @escaping @Sendable () -> Reply = { TokenServer.token("login") }
  ) async throws -> (results: [Result<HTTPStatus, any Error>], grants: [String?]) {
    let server = try TokenServer { form, count in
      guard form["grant_type"] == "refresh_token" else { return login() }
      return count == 0 ? reply : TokenServer.token("renewed")
    }
    let api = try LoopbackServer { request in
      .text("", status: request.fields[.authorization] == "Bearer old" ? .unauthorized : .ok)
    }
    let store = MemoryKeyValueStore()
    try store.set(
      JSONEncoder().encode(AccessToken("old", expires: .distantPast, refreshToken: "r")), for: "oauth-token")
    var configuration = SessionConfiguration()
    configuration.credentials = [
      try await server.client().tokens(for: .origin(of: api.url), by: .clientCredentials(), keptIn: store)
    ]
    configuration.cache = nil
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    var results: [Result<HTTPStatus, any Error>] = []
    for _ in 0..<2 {
      results.append(await Task { try await session.data(for: HTTPRequest(.get, api.url)).1.status }.result)
    }
    return (results, server.received.map { $0["grant_type"] })
  }

  @Test(arguments: [
    (Reply.json(#"{"error":"bad_refresh_token"}"#)),  // GitHub, with 200
    .json(#"{"error":"Bad Request","status":400,"message":"Invalid refresh token"}"#, status: .badRequest),  // Twitch
    .json(#"{"error":"invalid_token"}"#, status: .unauthorized),  // UAA
    .json(#"{"error":"invalid_grant"}"#, status: .forbidden),  // Auth0
    .json(#"{"error":"invalid_request"}"#, status: .badRequest), .text("no", status: .unauthorized),
  ])
  func refusedRenewalLeadsToALogin(_ reply: Reply) async throws {
    let (results, grants) = try await requests(renewal: reply)
    #expect(results.map { try? $0.get() } == [.ok, .ok])
    #expect(grants == ["refresh_token", "client_credentials"])
  }

  @Test(arguments: [
    (HTTPStatus.requestTimeout, true), (.tooManyRequests, true), (.badGateway, true), (.serviceUnavailable, true),
    (.gatewayTimeout, true), (.internalServerError, false), (.proxyAuthenticationRequired, false),
    (.tooEarly, false), (.notFound, false),
  ])
  func renewalThatIsNotDecidedLeadsToNoLogin(_ status: HTTPStatus, _ isTransient: Bool) async throws {
    for reply in [Reply.text("sorry", status: status), .json(#"{"error":"temporarily_unavailable"}"#, status: status)] {
      let (results, grants) = try await requests(renewal: reply) {
        Issue.record("no login is needed")
        return .text("", status: .badRequest)
      }
      let error = #expect(throws: HTTPError.self) { try results[0].get() }
      #expect(error?.kind == .authenticationFailed)
      #expect(error?.isTransient == isTransient)
      #expect((try? results[1].get()) == .ok, "the refresh token was kept")
      #expect(grants == ["refresh_token", "refresh_token"])
    }
  }

  /// The server has not acted on it (RFC 9110 §15.5.20).
  @Test func misdirectedRenewalIsSentOnceMore() async throws {
    let (results, grants) = try await requests(renewal: .text("sorry", status: .misdirectedRequest))
    #expect(results.map { try? $0.get() } == [.ok, .ok])
    #expect(grants == ["refresh_token", "refresh_token"])
  }

  @Test func refusedClientIsAnErrorAndNoLogin() async throws {
    let (results, grants) = try await requests(
      renewal: .json(#"{"error":"invalid_client"}"#, status: .unauthorized))
    let error = #expect(throws: HTTPError.self) { try results[0].get() }
    #expect(error?.message.contains("invalid_client") == true && error?.isTransient == false)
    #expect(grants == ["refresh_token", "refresh_token"])
  }

  @Test(arguments: [#""""#, #""a\nb""#, #""ä""#, "null", "1"])
  func answerWithoutAUsableTokenIsNoLogin(_ token: String) async throws {
    let server = try TokenServer { _, _ in .json(#"{"access_token":\#(token),"token_type":"Bearer"}"#) }
    let error = await #expect(throws: HTTPError.self) { try await server.client().token(by: .clientCredentials()) }
    #expect(error?.kind == .authenticationFailed)
  }

  @Test func emptyRefreshTokenKeepsTheOldOne() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("new", refresh: "") }
    let token = try await server.client().renewed(AccessToken("old", refreshToken: "r"))
    #expect(token.value == "new" && token.refreshToken == "r")
  }

  @Test func tokenRequestsHaveTheParametersOfTheClient() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    var client = server.client()
    client.parameters = [(name: "audience", value: "https://api.example/"), (name: "resource", value: "a b")]
    _ = try await client.token(by: .clientCredentials())
    _ = try await client.renewed(AccessToken("old", refreshToken: "r"))
    #expect(server.received.map { $0["audience"] } == ["https://api.example/", "https://api.example/"])
    #expect(server.received.map { $0["resource"] } == ["a b", "a b"])
  }

  /// RFC 6749 §3.2: parameters must not be included more than once.
  @Test(arguments: ["grant_type", "client_id"])
  func parameterThatTheRequestHasAlreadyIsAnError(_ name: String) async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    var client = server.client()
    client.parameters = [(name: name, value: "other")]
    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    #expect(error?.kind == .invalidRequest && error?.message.contains("'\(name)'") == true)
    #expect(server.received.isEmpty)
  }
}
