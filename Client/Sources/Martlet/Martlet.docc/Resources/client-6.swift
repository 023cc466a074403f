// A client for a small service: it renews its token and retries where that is safe. One request fails once.

import Martlet
import MartletSignIn
import MartletTesting
import Synchronization

struct Article: Codable, Sendable {
  var id: Int
  var title: String
}

struct NewsService: Sendable {
  let session: HTTPSession

  init(at api: URL, secret: String) {
    var configuration = SessionConfiguration()
    configuration.baseURL = api
    configuration.credentials = [makeTokens(for: api, secret: secret)]
    configuration.options.retryPolicy = .standard
    configuration.options.deadline = .seconds(60)
    session = HTTPSession(configuration: configuration)
  }

  func articles() async throws(HTTPError) -> [Article] {
    try await session.value(of: [Article].self, for: HTTPRequest(.get, "articles")).0
  }

  /// Publishes an article once, even if the request has to be sent again.
  func publish(_ title: String) async throws(HTTPError) -> Article {
    let key = UUID().uuidString
    let request = HTTPRequest(
      .post, "articles", fields: ["Idempotency-Key": key], body: try .json(Article(id: 0, title: title)))
    return try await session.value(of: Article.self, for: request).0
  }
}

func explanation(of error: HTTPError) -> String {
  if error.isTransient { return "The news cannot be reached. Try again later." }
  if error.response?.status == .notFound { return "There is no such article." }
  return error.message
}

func makeTokens(for api: URL, secret: String) -> TokenSource {
  let client = OAuthClient(
    id: "reader", tokenEndpoint: api.appending(path: "token"), authentication: .basic(secret: secret),
    session: HTTPSession())
  return client.tokens(for: .origin(of: api), by: .clientCredentials())
}

let failures = Atomic(1)
let server = try LoopbackServer { request in
  switch (request.method, request.path, request.fields[.authorization]) {
  case (_, "/token", _): .json(#"{"access_token": "a1", "token_type": "Bearer", "expires_in": 3600}"#)
  case (_, _, "Bearer a1") where failures.subtract(1, ordering: .relaxed).oldValue > 0: .status(.serviceUnavailable)
  case (.post, _, "Bearer a1"): .json(#"{"id": 2, "title": "Autumn"}"#, status: .created)
  case (_, "/articles", "Bearer a1"): .json(#"[{"id": 1, "title": "Summer"}]"#)
  default: .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  }
}

let news = NewsService(at: server.url, secret: "secret")
print(try await news.publish("Autumn").id)
print(try await news.articles().map(\.title))
print(server.requests.map { "\($0.method) \($0.path)" })

server.stop()
do { _ = try await news.articles() } catch { print(explanation(of: error)) }

// Prints:
// 2
// ["Summer"]
// ["POST /token", "POST /articles", "POST /articles", "GET /articles"]
// The news cannot be reached. Try again later.
