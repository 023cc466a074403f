import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSignatures

private struct Lines: LogSink {
  let log: Log<String>

  func write(_ line: String, at level: LogLevel) { log.append(line) }
}

/// The life of bound tokens: types, kept tokens, keys that are gone, sign-outs, codes, and assertions.
@Suite(.timeLimit(.minutes(5)))
struct BoundTokenTests {
  private static func dpop() throws -> DPoP { try DPoP(SignatureKey.generated()) }

  /// RFC 9449 §5: a token that is not bound is discarded if the protection matters.
  @Test func aTokenThatIsNotBoundIsRefused() async throws {
    let server = try ProvenServer(.init(tokenType: "Bearer"))
    let error = await #expect(throws: HTTPError.self) {
      try await server.client(try Self.dpop()).token(by: .clientCredentials())
    }
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.message.contains("not bound to the key (RFC 9449 §5)") == true)
  }

  @Test func aTokenThatIsNotBoundCanBeAllowed() async throws {
    let server = try ProvenServer(.init(tokenType: "Bearer"))
    var dpop = try Self.dpop()
    dpop.isRequired = false
    let token = try await server.client(dpop).token(by: .clientCredentials())
    #expect(token.authorization == "Bearer a1")
  }

  @Test(arguments: ["DPoP", "dpop", "DPOP"])
  func theTypeIsRecognizedInAnyCase(_ type: String) async throws {
    let server = try ProvenServer(.init(tokenType: type))
    let token = try await server.client(try Self.dpop()).token(by: .clientCredentials())
    #expect(token.authorization == "DPoP a1")
  }

  @Test func withoutABindingTheErrorNamesIt() async throws {
    let server = try LoopbackServer { _ in .json(#"{"access_token":"a","token_type":"DPoP"}"#) }
    let client = OAuthClient(id: "a", tokenEndpoint: server.url, session: HTTPSession(transport: SocketTransport()))
    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    #expect(error?.message.contains("set OAuthClient.binding") == true)
    #expect(server.requests.first?.fields.contains("DPoP") == false)
  }

  // MARK: - Kept tokens

  /// A run of the program: requests the API once with what the store has.
  private func run(
    _ server: ProvenServer, _ store: any KeyValueStore, _ authentication: OAuthClient.Authentication = .none,
    isBound: Bool = true
  ) async throws -> HTTPStatus {
    let dpop = isBound ? try DPoP(await SignatureKey.kept(in: store, as: "key")) : nil
    let tokens = try await server.client(dpop, authentication)
      .tokens(for: .origin(of: server.server.url), by: .clientCredentials(), keptIn: store)
    return try await server.session(dpop, tokens).data(for: HTTPRequest(.get, server.server.url("/x"))).1.status
  }

  private static func grants(_ server: ProvenServer) -> [String?] { server.forms.map { $0["grant_type"] } }

  @Test func aTokenAndItsKeyAreKeptForTheNextRun() async throws {
    let (server, store) = (try ProvenServer(), MemoryKeyValueStore())
    for _ in 0..<3 { #expect(try await run(server, store) == .ok) }
    server.revokeAccess()
    #expect(try await run(server, store) == .ok)
    #expect(Self.grants(server) == ["client_credentials", "refresh_token"] && server.refusals == ["invalid_token"])
  }

  /// A public client's refresh token is bound, too: it is not even tried. Each of the two runs would otherwise begin
  /// with a refusal.
  @Test func aKeyThatIsGoneLeadsToOneLogin() async throws {
    let (server, store) = (try ProvenServer(), MemoryKeyValueStore())
    #expect(try await run(server, store) == .ok)
    store.removeValue(for: "key")
    for _ in 0..<2 { #expect(try await run(server, store) == .ok) }
    #expect(Self.grants(server) == ["client_credentials", "client_credentials"] && server.refusals == [])
  }

  /// The refresh token of a client that authenticates itself may be used with another key (RFC 9449 §5). This server
  /// refuses it nevertheless, and then there is a login.
  @Test func aKeyThatIsGoneIsReplacedWithTheRefreshTokenOfAConfidentialClient() async throws {
    let (server, store) = (try ProvenServer(), MemoryKeyValueStore())
    let secret = OAuthClient.Authentication.form(secret: "s")
    #expect(try await run(server, store, secret) == .ok)
    store.removeValue(for: "key")
    for _ in 0..<2 { #expect(try await run(server, store, secret) == .ok) }
    #expect(Self.grants(server) == ["client_credentials", "refresh_token", "client_credentials"])
    #expect(server.refusals == [])
  }

  /// A program begins to use DPoP: its next token is bound.
  @Test func aTokenFromBeforeTheBindingIsRenewed() async throws {
    let (server, store) = (try ProvenServer(), MemoryKeyValueStore())
    try store.set(JSONEncoder().encode(AccessToken("old", refreshToken: "r0")), for: "oauth-token")
    let key = try await SignatureKey.kept(in: store, as: "key")
    server.seen.withLock { $0.tokens["r0"] = key.thumbprint }
    #expect(try await run(server, store) == .ok)
    #expect(Self.grants(server) == ["refresh_token"] && server.refusals == [])
    let kept = try #require(store.value(for: "oauth-token"))
    #expect(String(decoding: kept, as: UTF8.self).contains(#""jkt":"\#(try #require(key.thumbprint))""#))
    #expect(try JSONDecoder().decode(AccessToken.self, from: kept).value == "a1")
  }

  /// The binding was switched off, or forgotten, while bound tokens are still kept.
  @Test func aBoundTokenIsNotSentWithoutABinding() async throws {
    let (server, store) = (try ProvenServer(), MemoryKeyValueStore())
    #expect(try await run(server, store) == .ok)
    await #expect(throws: HTTPError.self) { try await run(server, store, isBound: false) }
    #expect(server.server.requests.last?.path == "/token" && server.refusals == ["invalid_dpop_proof"])
  }

  @Test func aSignOutEndsTheUseOfTheToken() async throws {
    let (server, store) = (try ProvenServer(.init(resourceNonce: "r")), MemoryKeyValueStore())
    let dpop = try DPoP(await SignatureKey.kept(in: store, as: "key"))
    let tokens = try await server.client(dpop)
      .tokens(for: .origin(of: server.server.url), by: .clientCredentials(), keptIn: store)
    let session = server.session(dpop, tokens)
    let request = HTTPRequest(.get, server.server.url("/x"))
    #expect(try await session.data(for: request).1.status == .ok)
    tokens.use(nil)
    for key in ["key", "oauth-token"] { store.removeValue(for: key) }
    #expect(try await session.data(for: request).1.status == .ok, "the next request logs in again")
    #expect(Self.grants(server) == ["client_credentials", "client_credentials"])
  }

  // MARK: - Codes and assertions

  /// RFC 9449 §10, §10.1, RFC 9126 §2.
  @Test(arguments: [false, true])
  func theCodeIsBoundToTheKeyInTheBrowserAndWhenItIsPushed(_ isPushed: Bool) async throws {
    let server = try ProvenServer(.init(tokenNonce: "t"))
    let dpop = try Self.dpop()
    var options = OAuthLogin.BrowserOptions()
    options.parameters = [(name: "audience", value: "api")]
    if isPushed { options.pushEndpoint = server.server.url("/par") }
    let pages = Log<URL>()
    let login = OAuthLogin.browser(server.server.url("/authorize"), options: options) { page in
      pages.append(page)
      let form = isPushed ? server.forms[0] : Self.query(of: page)
      let state = form["state"] ?? ""
      let callback = url((form["redirect_uri"] ?? "") + "?code=c&state=\(state)")
      _ = try await HTTPSession(transport: SocketTransport()).data(for: HTTPRequest(.get, callback))
    }
    let key = try SignatureKey.generated()
    let client = server.client(dpop, .privateKeyJWT(key, audience: "https://login.example"))
    #expect(try await client.token(by: login).authorization == "DPoP a1")

    let query = Self.query(of: try #require(pages.entries.first))
    let asked = isPushed ? server.forms[0] : query
    #expect(asked["dpop_jkt"] == dpop.keyID && asked["audience"] == "api" && asked["code_challenge_method"] == "S256")
    if isPushed {
      #expect(query == ["client_id": "app", "request_uri": "urn:r"])
      #expect(asked["client_assertion"] != nil && asked["client_id"] == "app")
    }
    #expect(server.forms.last?["grant_type"] == "authorization_code")
    #expect(server.refusals == ["use_dpop_nonce"])
  }

  private static func query(of page: URL) -> [String: String] {
    let pairs = PercentEncoding.form.pairs(in: page.query(percentEncoded: true) ?? "")
    return Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// A server accepts each assertion once (RFC 7523 §3), even if it refuses the proof.
  @Test func aRepetitionHasANewAssertionAndANewProof() async throws {
    let server = try LoopbackServer { request in
      let isFirst = ReceivedProof(in: request.fields)?.claims.nonce == nil
      var reply =
        isFirst
        ? Reply.json(#"{"error":"use_dpop_nonce"}"#, status: .badRequest)
        : .json(#"{"access_token":"a","token_type":"DPoP"}"#)
      reply.fields["DPoP-Nonce"] = "n"
      return reply
    }
    var client = OAuthClient(
      id: "app", tokenEndpoint: server.url("/token"), authentication: .privateKeyJWT(try SignatureKey.generated()),
      session: HTTPSession(transport: SocketTransport()))
    client.binding = try Self.dpop()
    _ = try await client.token(by: .clientCredentials())
    let assertions = server.requests.map { request in
      PercentEncoding.form.pairs(in: request.text).first { $0.name == "client_assertion" }?.value
    }
    #expect(assertions.count == 2 && assertions[0] != nil && assertions[0] != assertions[1])
    let proofs = server.requests.compactMap { ReceivedProof(in: $0.fields)?.claims.jti }
    #expect(Set(proofs).count == 2)
  }

  @Test func anErrorRepeatsNeitherAssertionsNorProofs() async throws {
    let server = try LoopbackServer { request in
      let assertion = PercentEncoding.form.pairs(in: request.text).first { $0.name == "client_assertion" }?.value ?? ""
      let proof = request.fields["DPoP"] ?? ""
      return .json(
        #"{"error":"invalid_client","error_description":"no: \#(assertion) \#(proof)"}"#, status: .badRequest)
    }
    let session = HTTPSession(transport: SocketTransport())
    var client = OAuthClient(
      id: "app", tokenEndpoint: server.url, authentication: .privateKeyJWT(try SignatureKey.generated()),
      session: session)
    client.binding = try Self.dpop()
    let error = try #require(
      await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) })
    #expect((error.underlying as? OAuthError)?.detail == "no: *** ***")
    #expect(!shown(error).contains("eyJ"))
  }

  @Test func logsShowNeitherProofsNorAssertions() async throws {
    let server = try ProvenServer(.init(tokenNonce: "t", resourceNonce: "r"))
    let lines = Log<String>()
    var configuration = SessionConfiguration()
    configuration.listeners = [LogListener(to: Lines(log: lines))]
    var client = OAuthClient(
      id: "app", tokenEndpoint: server.server.url("/token"),
      authentication: .privateKeyJWT(try SignatureKey.generated()),
      session: HTTPSession(transport: SocketTransport(), configuration: configuration))
    let dpop = try Self.dpop()
    client.binding = dpop
    let tokens = client.tokens(for: .origin(of: server.server.url), by: .clientCredentials())
    let api = server.session(dpop, tokens) { $0.listeners = configuration.listeners }
    #expect(try await api.data(for: HTTPRequest(.get, server.server.url("/x"))).1.status == .ok)
    let text = lines.entries.joined(separator: "\n")
    #expect(!text.contains("eyJ") && !text.contains("a1"))
    #expect(text.contains("requires another DPoP proof"))
  }
}
