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

/// Tokens that are bound to a key (RFC 9449), against a server that checks each proof.
@Suite(.timeLimit(.minutes(5)))
struct DPoPSessionTests {
  private static func get(_ server: ProvenServer, _ path: String = "/orders?page=2") -> HTTPRequest {
    HTTPRequest(.get, server.server.url(path))
  }

  private static func status(_ session: HTTPSession, _ request: HTTPRequest) async throws -> HTTPStatus {
    try await session.data(for: request).1.status
  }

  /// A session with tokens of client credentials.
  private static func session(
    _ server: ProvenServer, _ dpop: DPoP, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    let tokens = server.client(dpop).tokens(for: .origin(of: server.server.url), by: .clientCredentials())
    return server.session(dpop, tokens, change)
  }

  @Test func requestsProveThatTheyHaveTheKey() async throws {
    let server = try ProvenServer()
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    for request in [Self.get(server), Self.get(server), HTTPRequest(.post, server.server.url("/x"), body: .text("a"))] {
      #expect(try await Self.status(session, request) == .ok)
    }
    #expect(server.refusals == [] && server.forms.count == 1)
    #expect(server.server.requests.map { $0.fields[.authorization] } == [nil, "DPoP a1", "DPoP a1", "DPoP a1"])
  }

  /// §8 and §9: each server's own nonce, and one repetition.
  @Test func noncesOfBothServersAreLearnedOnce() async throws {
    let server = try ProvenServer(.init(tokenNonce: "t", resourceNonce: "r"))
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    for _ in 0..<3 { #expect(try await Self.status(session, Self.get(server)) == .ok) }
    #expect(server.refusals == ["use_dpop_nonce", "use_dpop_nonce"])
    #expect(server.forms.count == 1)
  }

  @Test func aNonceThatChangesWithEachResponseNeedsNoRepetition() async throws {
    let server = try ProvenServer(.init(tokenNonce: "t", resourceNonce: "r", rotates: true))
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    for _ in 0..<4 { #expect(try await Self.status(session, Self.get(server)) == .ok) }
    #expect(server.refusals == ["use_dpop_nonce", "use_dpop_nonce"])
  }

  /// A nonce may change between a retry and the attempt before it.
  @Test func eachAttemptMayLearnANonce() async throws {
    let server = try ProvenServer(.init(resourceNonce: "r1"))
    let count = Counter()
    server.rules.withLock { rules in
      rules.answer = { [weak server] _ in
        guard count.next() == 1 else { return nil }
        server?.rules.withLock { $0.resourceNonce = "r2" }
        return .status(.serviceUnavailable)
      }
    }
    let session = Self.session(server, try DPoP(SignatureKey.generated())) {
      $0.options.retryPolicy = RetryPolicy(limit: 1)
      $0.options.retryPolicy.backoff = Backoff(base: .zero)
    }
    #expect(try await Self.status(session, Self.get(server)) == .ok)
    #expect(server.refusals == ["use_dpop_nonce"] || server.refusals == ["use_dpop_nonce", "use_dpop_nonce"])
    #expect(server.forms.count == 1, "no token was renewed")
  }

  /// A server that is never content gets two attempts, and no renewal.
  @Test func aServerThatAlwaysWantsAnotherNonceIsAskedTwice() async throws {
    let counter = Counter()
    let api = try LoopbackServer { _ in
      Reply(
        status: .unauthorized,
        fields: [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": "n\(counter.next())"])
    }
    let server = try ProvenServer()
    let dpop = try DPoP(SignatureKey.generated())
    let tokens = server.client(dpop).tokens(for: .origin(of: api.url), by: .clientCredentials())
    let session = server.session(dpop, tokens)
    #expect(try await Self.status(session, HTTPRequest(.get, api.url)) == .unauthorized)
    #expect(api.requests.count == 2 && server.forms.count == 1)
  }

  @Test func anAuthorizationServerThatAlwaysWantsAnotherNonceIsAskedTwice() async throws {
    let counter = Counter()
    let server = try LoopbackServer { _ in
      var reply = Reply.json(#"{"error":"use_dpop_nonce"}"#, status: .badRequest)
      reply.fields["DPoP-Nonce"] = "n\(counter.next())"
      return reply
    }
    var client = OAuthClient(id: "a", tokenEndpoint: server.url, session: HTTPSession(transport: SocketTransport()))
    client.binding = try DPoP(SignatureKey.generated())
    let error = await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    #expect((error?.underlying as? OAuthError)?.code == "use_dpop_nonce" && server.requests.count == 2)
    #expect(error?.isTransient == false)
    await #expect(throws: HTTPError.self) { try await client.token(by: .clientCredentials()) }
    let nonces = server.requests.map { ReceivedProof(in: $0.fields)?.claims.nonce }
    #expect(nonces == [nil, "n1", "n2", "n3"], "the nonce of a refused repetition is remembered, too")
  }

  @Test func aBodyThatCannotBeSentAgainGetsTheAnswer() async throws {
    let server = try ProvenServer(.init(resourceNonce: "r"))
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    func upload() -> HTTPRequest {
      let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
      continuation.yield(Data("a".utf8))
      continuation.finish()
      return HTTPRequest(.post, server.server.url("/x"), body: .singleUse(stream))
    }
    #expect(try await Self.status(session, upload()) == .unauthorized)
    #expect(try await Self.status(session, upload()) == .ok)
  }

  @Test(arguments: ["invalid_dpop_proof", "invalid_request"], [3600.0, -3600])
  func aClockThatDiffersIsFollowedAndNotBlamedOnTheLogin(_ code: String, _ offset: Double) async throws {
    let server = try ProvenServer(.init(clockOffset: offset, clockError: code))
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    for _ in 0..<2 { #expect(try await Self.status(session, Self.get(server)) == .ok) }
    #expect(server.refusals == [code, code], "one for each server")
    #expect(server.forms.count == 1)
  }

  @Test func aRedirectHasAProofOfItsOwnAndAnotherOriginGetsNone() async throws {
    let other = try LoopbackServer { _ in .text("other") }
    let server = try ProvenServer()
    let target = other.url("/x").absoluteString
    server.rules.withLock {
      $0.answer = { request in
        switch request.path {
        case "/moved": .redirect(to: "/orders", status: .temporaryRedirect)
        case "/away": .redirect(to: target, status: .temporaryRedirect)
        default: nil
        }
      }
    }
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    #expect(try await Self.status(session, Self.get(server, "/moved")) == .ok)
    #expect(try await Self.status(session, Self.get(server, "/away")) == .ok)
    #expect(server.refusals == [])
    let fields = try #require(other.requests.first).fields
    #expect(!fields.contains("DPoP") && !fields.contains(.authorization))
  }

  @Test func aThousandRequestsRenewATokenOnce() async throws {
    let server = try ProvenServer(.init(tokenNonce: "t", resourceNonce: "r"))
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    #expect(try await Self.status(session, Self.get(server)) == .ok)
    server.revokeAccess()
    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<50 { group.addTask { try await Self.status(session, Self.get(server)) } }
      for try await status in group { #expect(status == .ok) }
    }
    #expect(server.forms.map { $0["grant_type"] } == ["client_credentials", "refresh_token"])
  }

  @Test func insufficientScopeRenewsNothing() async throws {
    let server = try ProvenServer()
    server.rules.withLock {
      $0.answer = { _ in
        Reply(status: .unauthorized, fields: [.wwwAuthenticate: #"DPoP error="insufficient_scope""#])
      }
    }
    let session = Self.session(server, try DPoP(SignatureKey.generated()))
    #expect(try await Self.status(session, Self.get(server)) == .unauthorized)
    #expect(server.forms.count == 1)
  }

  @Test func requestsWithoutABoundTokenAreUnchanged() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    var configuration = SessionConfiguration()
    configuration.finalInterceptors = [try DPoP(SignatureKey.generated())]
    configuration.credentials = [TokenSource(AccessToken("a"), for: .any)]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    var own = HTTPRequest(.get, server.url, fields: [.authorization: "DPoP mine", "DPoP": "mine"])
    own.options.usesCredentials = false
    _ = try await session.data(for: own)
    #expect(server.requests.map { $0.fields["DPoP"] } == [nil, "mine"])
  }

  @Test func theSchemeIsWrittenAsServersExpectIt() {
    #expect(AccessToken("a", type: "dpop").authorization == "DPoP a")
    #expect(AccessToken("a", type: "DPOP").authorization == "DPoP a")
  }
}
