import Foundation
import Martlet
import MartletSignIn
import MartletSignatures
import MartletTesting
import Testing

/// Tokens that are bound to a key (RFC 9449), from an authorization server that others wrote, and assertions that
/// another one accepts.
@Suite("Bound tokens", .timeLimit(.minutes(2)), .serialized)
struct BoundTokenTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  // MARK: - authgent-server: nonces of an authorization server

  private struct Registered: Decodable {
    var client_id: String
    var client_secret: String
  }

  /// A server that requires proofs with its nonce, with a client that has the grants.
  private func authgent(_ grants: [String]) async throws -> (process: RealProcess, server: OAuthServer, Registered) {
    let port = try LocalPort.free()
    let script = """
      import os, sys
      import uvicorn
      os.environ.update(
        AUTHGENT_REQUIRE_DPOP="true", AUTHGENT_SECRET_KEY="0123456789abcdef" * 4, AUTHGENT_DATABASE_URL="sqlite+aiosqlite:///"
        + sys.argv[2], AUTHGENT_SERVER_URL="http://127.0.0.1:" + sys.argv[1], AUTHGENT_PORT=sys.argv[1])
      from authgent_server.app import create_app
      uvicorn.run(create_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
      """
    let file = folder.file("authgent.db").path
    let process = try RealProcess(Python.path(), ["-c", script, "\(port)", file], port: port)
    let root = try #require(URL(string: "http://127.0.0.1:\(port)"))
    let server = try await OAuthServer.discover(root, with: makeSession())
    struct Registration: Encodable {
      var client_name = "martlet"
      var grant_types: [String]
      var redirect_uris = ["http://127.0.0.1/callback"]
      var scope = "read"
    }
    let body = try RequestBody.json(Registration(grant_types: grants))
    let request = HTTPRequest(.post, root.appending(path: "register"), body: body)
    let registered = try await makeSession().value(of: Registered.self, for: request).0
    return (process, server, registered)
  }

  private func client(
    _ server: OAuthServer, _ registered: Registered, _ dpop: DPoP, _ log: Statuses
  ) -> OAuthClient {
    var client = OAuthClient(
      id: registered.client_id, tokenEndpoint: server.tokenEndpoint,
      authentication: .form(secret: registered.client_secret), session: makeSession { $0.listeners = [log] })
    client.binding = dpop
    return client
  }

  /// The members of a token's claims.
  private static func claims(_ token: String) throws -> [String: Any] {
    let part = try #require(token.split(separator: ".").dropFirst().first)
    let base64 = String(part).replacing("-", with: "+").replacing("_", with: "/")
    let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
    let object = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: padded)))
    return try #require(object as? [String: Any])
  }

  @Test func aServerBindsTokensAfterItsNonce() async throws {
    let (process, server, registered) = try await authgent(["client_credentials"])
    #expect(server.proofAlgorithms.contains("ES256"))
    let (dpop, log) = (try DPoP(SignatureKey.generated()), Statuses())
    let client = client(server, registered, dpop, log)
    for _ in 0..<2 {
      let token = try await client.token(by: .clientCredentials(scopes: ["read"]))
      #expect(token.authorization.hasPrefix("DPoP "))
      let confirmation = try Self.claims(token.value)["cnf"] as? [String: String]
      #expect(confirmation?["jkt"] == dpop.keyID)
    }
    #expect(log.codes == [401, 200, 200], "this server asks for its nonce with 401")
    withExtendedLifetime(process) {}
  }

  // MARK: - pydpop: an API that verifies proofs

  /// Verifies a proof of the file `proof.json`, and prints the thumbprint of its key, or an error.
  private static let verifier = """
    import json
    from pydpop import MemoryJtiStore, verify_proof
    message = json.load(open("proof.json"))
    store = MemoryJtiStore()
    arguments = dict(htm=message["method"], htu=message["url"], access_token=message["token"], jti_store=store)
    result = verify_proof(proof=message["proof"], **arguments)
    assert result["jwk_thumbprint"] == message["key"], result
    try:
        verify_proof(proof=message["proof"], **arguments)
    except Exception:
        pass
    else:
        raise AssertionError("the proof was accepted twice")
    for name in arguments.keys() - {"jti_store"}:
        try:
            verify_proof(proof=message["proof"], **{**arguments, name: arguments[name] + "x", "jti_store": MemoryJtiStore()})
        except Exception:
            continue
        raise AssertionError("another " + name + " was accepted")
    """

  @Test func anotherLibraryVerifiesTheProofsOfRequests() async throws {
    let api = try LoopbackServer { request in
      request.path == "/moved" ? .redirect(to: "/orders/1?x", status: .temporaryRedirect) : .text("ok")
    }
    let dpop = try DPoP(SignatureKey.generated())
    let session = makeSession {
      $0.credentials = [TokenSource(AccessToken("secret-token", type: "DPoP"), for: .origin(of: api.url))]
      $0.finalInterceptors = [dpop]
    }
    _ = try await session.data(for: HTTPRequest(.put, api.url("/moved"), body: .text("a")))
    _ = try await session.data(for: HTTPRequest(.get, api.url("/a%20b?c=d#e")))
    try folder.write(Data(Self.verifier.utf8), to: "verifier.py")
    for request in api.requests {
      let message = [
        "method": request.method.rawValue, "url": api.url(request.path).absoluteString, "token": "secret-token",
        "proof": request.fields["DPoP"], "key": dpop.keyID,
      ]
      try folder.write(try JSONEncoder().encode(message), to: "proof.json")
      try RealProcess.run(Python.path(), ["verifier.py"], in: folder.url)
    }
    #expect(api.requests.count == 3)
  }

  // MARK: - Authlib: private_key_jwt

  private func key(for algorithm: SignatureAlgorithm) throws -> SignatureKey {
    guard algorithm == .rsaV15SHA256 else { return try SignatureKey.generated(algorithm) }
    let options = ["genpkey", "-out", "key.pem", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048"]
    try RealProcess.run("openssl", options, in: folder.url)
    return try SignatureKey(pem: String(contentsOf: folder.file("key.pem"), encoding: .utf8), algorithm: algorithm)
  }

  @Test(arguments: [SignatureAlgorithm.ecdsaP256SHA256, .rsaV15SHA256])
  func aServerAcceptsAssertionsOfItsClient(_ algorithm: SignatureAlgorithm) async throws {
    let key = try key(for: algorithm)
    let port = try LocalPort.free()
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "authorization.py").path
    let process = try RealProcess(Python.path(), [script, "\(port)", try #require(key.publicJWK)], port: port)
    let root = "http://127.0.0.1:\(port)"
    func token(_ key: SignatureKey, _ audience: String?) async throws -> AccessToken {
      let client = OAuthClient(
        id: "app", tokenEndpoint: try #require(URL(string: root + "/token")),
        authentication: .privateKeyJWT(key, audience: audience), session: makeSession())
      return try await client.token(by: .clientCredentials())
    }
    for audience in [nil, root] { #expect(try await token(key, audience).type == "Bearer") }
    let stranger = try self.key(for: algorithm)
    for (key, audience) in [(key, "https://other.example"), (stranger, root)] {
      let error = await #expect(throws: HTTPError.self) { try await token(key, audience) }
      #expect((error?.underlying as? OAuthError)?.code == "invalid_client")
    }
    withExtendedLifetime(process) {}
  }
}
