// Access tokens that are bound to a key (DPoP, RFC 9449), for a client that signs its requests (RFC 7523).

import Martlet
import MartletSignIn
import MartletSignatures
import MartletTesting

/// A session whose tokens are useless without the key of the account. The store keeps both for the next run.
func makeSession(api: URL, server: OAuthServer, key: SignatureKey, in store: any KeyValueStore) async throws
  -> HTTPSession
{
  let dpop = try DPoP(try await SignatureKey.kept(in: store, as: "dpop-key"))
  var client = OAuthClient(
    id: "shop", tokenEndpoint: server.tokenEndpoint,
    authentication: .privateKeyJWT(key, audience: server.issuer), session: HTTPSession())
  client.binding = dpop
  var configuration = SessionConfiguration()
  configuration.baseURL = api
  configuration.credentials = [
    try await client.tokens(for: .origin(of: api), by: .clientCredentials(), keptIn: store)
  ]
  configuration.finalInterceptors = [dpop]
  return HTTPSession(configuration: configuration)
}

/// The client's own key, whose public one the server knows: `openssl genpkey -algorithm ed25519`.
let key = try SignatureKey(
  pem: """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIAUtf8abFTjchkUL4sitCxp6qRUOHgOjs85WouOxuIlN
    -----END PRIVATE KEY-----
    """, id: "2026-1")

/// The claims of a proof. A server also verifies the signature, the key, the time, and that no proof comes twice.
func claims(_ request: ReceivedRequest) -> String {
  let part = (request.fields["DPoP"] ?? "").split(separator: ".").dropFirst().first.map(String.init) ?? ""
  let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
  let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
  return String(decoding: Data(base64Encoded: padded) ?? Data(), as: UTF8.self)
}

// An authorization server and an API, each with a nonce that proofs must have.
let server = try LoopbackServer { request in
  let issuer = "http://\(request.fields[.host] ?? "")"
  if request.path.hasPrefix("/.well-known/") {
    return .json(#"{"issuer": "\#(issuer)", "token_endpoint": "\#(issuer)/token"}"#)
  }
  let isToken = request.path == "/token"
  let nonce = isToken ? "nonce-of-tokens" : "nonce-of-orders"
  var reply: Reply
  if claims(request.received).contains(nonce) {
    reply = isToken ? .json(#"{"access_token": "t", "token_type": "DPoP"}"#) : .text("3 orders")
  } else {
    reply = isToken ? .json(#"{"error": "use_dpop_nonce"}"#, status: .badRequest) : .status(.unauthorized)
    if !isToken { reply.fields[.wwwAuthenticate] = #"DPoP error="use_dpop_nonce""# }
  }
  reply.fields["DPoP-Nonce"] = nonce
  return reply
}

let store = MemoryKeyValueStore()  // or a SQLiteKeyValueStore
let found = try await OAuthServer.discover(server.url, with: HTTPSession())
for _ in 1...2 {
  let session = try await makeSession(api: server.url, server: found, key: key, in: store)
  print(try await session.text(for: HTTPRequest(.get, "orders?page=2")).0)
}
for request in server.requests.dropFirst() {
  let isSigned = request.text.contains("client_assertion=") ? ", signed by the client" : ""
  let nonce = claims(request).split(separator: "\"nonce\":\"").dropFirst().first.map { $0.prefix { $0 != "\"" } }
  print("\(request.method) \(request.path) with \(nonce ?? "no nonce")\(isSigned)")
}

// Prints:
// 3 orders
// 3 orders
// POST /token with no nonce, signed by the client
// POST /token with nonce-of-tokens, signed by the client
// GET /orders with no nonce
// GET /orders with nonce-of-orders
// GET /orders with no nonce
// GET /orders with nonce-of-orders
