// A token that is kept in a store and renewed once for all requests, and the error of a refused renewal.

import Martlet
import MartletSignIn
import MartletTesting

/// The source of a token. The token is renewed with its refresh token, and kept in a store.
func makeTokens(for api: URL, at tokenURL: URL, in store: any KeyValueStore) async throws -> TokenSource {
  let client = OAuthClient(id: "reader", tokenEndpoint: tokenURL, session: HTTPSession())
  let login = OAuthLogin { _ in throw HTTPError(.authenticationFailed, "nobody is logged in: show the login page") }
  return try await client.tokens(for: .origin(of: api), by: login, keptIn: store, as: "token")
}

/// The last run left this in the store: an expired token that can be renewed.
func stored(_ refreshToken: String) throws -> Data {
  try JSONEncoder().encode(AccessToken("", expires: .distantPast, refreshToken: refreshToken))
}

let server = try LoopbackServer { request in
  switch (request.path, request.fields[.authorization]) {
  case ("/token", _) where String(decoding: request.body, as: UTF8.self).contains("refresh_token=r1"):
    .json(#"{"access_token": "a1", "token_type": "Bearer", "refresh_token": "r2", "expires_in": 3600}"#)
  case ("/token", _): .json(#"{"error": "invalid_grant"}"#, status: .badRequest)
  case (_, "Bearer a1"): .text("orders")
  default: .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  }
}
let store: any KeyValueStore = MemoryKeyValueStore()  // or a SQLiteKeyValueStore
try await store.set(try stored("r1"), for: "token")

var configuration = SessionConfiguration()
let tokens = try await makeTokens(for: server.url, at: server.url("/token"), in: store)
configuration.credentials = [tokens]
let session = HTTPSession(configuration: configuration)

try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
  for number in 1...20 {
    group.addTask { try await session.data(for: HTTPRequest(.get, server.url("/orders/\(number)"))).1.status }
  }
  for try await status in group where status != .ok { print(status) }
}
print("renewals:", server.requests.filter { $0.path == "/token" }.count)

try await store.set(try stored("an old one"), for: "token")
tokens.use(AccessToken("", expires: .distantPast))
do { _ = try await session.data(for: HTTPRequest(.get, server.url("/orders/1"))) } catch { print(error.message) }

tokens.use(nil)  // a sign-out
try await store.removeValue(for: "token")  // also for the next run
do { _ = try await session.data(for: HTTPRequest(.get, server.url("/orders/1"))) } catch { print(error.kind) }

// Prints:
// renewals: 1
// the access token could not be renewed: nobody is logged in: show the login page
// authenticationFailed
