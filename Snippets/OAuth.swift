// Access tokens of an OAuth 2 server: for a program itself, and for a user who logs in on another device.

import Martlet
import MartletSignIn
import MartletTesting

/// A session for a program without a user (client credentials).
func makeService(api: URL, tokens: URL, secret: String) -> HTTPSession {
  let client = OAuthClient(
    id: "reports", tokenEndpoint: tokens, authentication: .basic(secret: secret), session: HTTPSession())
  var configuration = SessionConfiguration()
  configuration.baseURL = api
  configuration.credentials = [client.tokens(for: .origin(of: api), by: .clientCredentials(scopes: ["read"]))]
  return HTTPSession(configuration: configuration)
}

/// A session for a user, with a single login: the store keeps the tokens for the next run.
func makeReader(api: URL, server: URL, in store: any KeyValueStore) async throws -> HTTPSession {
  let client = OAuthClient(id: "reader", tokenEndpoint: server.appending(path: "token"), session: HTTPSession())
  let login = OAuthLogin.device(server.appending(path: "device")) { print("Open \($0.page) and enter \($0.userCode).") }
  var configuration = SessionConfiguration()
  configuration.baseURL = api
  configuration.credentials = [try await client.tokens(for: .origin(of: api), by: login, keptIn: store)]
  return HTTPSession(configuration: configuration)
}

let server = try LoopbackServer { request in
  let form = String(decoding: request.body, as: UTF8.self)
  switch (request.path, request.fields[.authorization]) {
  case ("/device", _):
    return .json(
      #"{"device_code": "d", "user_code": "WDJB", "verification_uri": "https://a.example/d", "expires_in": 60}"#)
  case ("/token", _) where form.contains("device_code"):
    return .json(#"{"access_token": "user", "token_type": "Bearer", "refresh_token": "r1"}"#)
  case ("/token", "Basic cmVwb3J0czpzZWNyZXQ="): return .json(#"{"access_token": "own", "token_type": "Bearer"}"#)
  case ("/token", _): return .json(#"{"error": "invalid_client"}"#, status: .unauthorized)
  case (_, let token?): return .text(token)
  default: return .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  }
}
let report = HTTPRequest(.get, "report")

let service = makeService(api: server.url, tokens: server.url("/token"), secret: "secret")
print(try await service.text(for: report).0)

let store = MemoryKeyValueStore()  // or a SQLiteKeyValueStore
for _ in 1...2 {
  let reader = try await makeReader(api: server.url, server: server.url, in: store)
  print(try await reader.text(for: report).0)
}

let stranger = makeService(api: server.url, tokens: server.url("/token"), secret: "another")
do { _ = try await stranger.text(for: report) } catch { print(error.message) }

// Prints:
// Bearer own
// Open https://a.example/d and enter WDJB.
// Bearer user
// Bearer user
// the access token could not be renewed: the authorization server refused the request: invalid_client
