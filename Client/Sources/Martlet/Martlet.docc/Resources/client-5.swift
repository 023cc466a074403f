import Martlet
import MartletSignIn

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
