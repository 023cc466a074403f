// A token that is kept in a store and renewed once for all requests; and what a refused renewal looks like.

import Martlet
import MartletTesting

/// The answer of a token server (RFC 6749 §5.1).
struct TokenAnswer: Decodable, Sendable {
  var access_token: String
  var refresh_token: String
  var expires_in: Double
}

func makeTokens(for api: URL, at tokenURL: URL, in store: any KeyValueStore) async throws -> TokenSource {
  let saved = try await store.value(for: "refresh").map { String(decoding: $0, as: UTF8.self) }
  let stored = saved.map { AccessToken("", expires: .distantPast, refreshToken: $0) }
  return TokenSource(stored, for: .origin(of: api)) { old in
    guard let refresh = old?.refreshToken else { return nil }  // nobody is logged in: a 401 is the caller's
    let form = [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: refresh)]
    let request = HTTPRequest(.post, tokenURL, body: .form(form))
    let (answer, _) = try await HTTPSession.shared.value(of: TokenAnswer.self, for: request)
    try await store.set(Data(answer.refresh_token.utf8), for: "refresh")
    return AccessToken(
      answer.access_token, expires: Date(timeIntervalSinceNow: answer.expires_in), refreshToken: answer.refresh_token)
  }
}

let server = try LoopbackServer { request in
  switch (request.path, request.fields[.authorization]) {
  case ("/token", _) where String(decoding: request.body, as: UTF8.self).contains("refresh_token=r1"):
    .json(#"{"access_token": "a1", "refresh_token": "r2", "expires_in": 3600}"#)
  case ("/token", _): .json(#"{"error": "invalid_grant"}"#, status: .badRequest)
  case (_, "Bearer a1"): .text("orders")
  default: .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  }
}
let store = MemoryKeyValueStore()  // or a SQLiteKeyValueStore
store.set(Data("r1".utf8), for: "refresh")

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

tokens.use(AccessToken("", expires: .distantPast, refreshToken: "an old one"))
do { _ = try await session.data(for: HTTPRequest(.get, server.url("/orders/1"))) } catch { print(error.kind) }

tokens.use(nil)  // a sign-out
print(try await session.data(for: HTTPRequest(.get, server.url("/orders/1"))).1.status)

// Prints:
// renewals: 1
// authenticationFailed
// 401 Unauthorized
