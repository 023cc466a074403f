import Martlet

struct Article: Codable, Sendable {
  var id: Int
  var title: String
}

struct NewsService: Sendable {
  let session: HTTPSession

  init(at api: URL) {
    var configuration = SessionConfiguration()
    configuration.baseURL = api
    session = HTTPSession(configuration: configuration)
  }

  func articles() async throws(HTTPError) -> [Article] {
    try await session.value(of: [Article].self, for: HTTPRequest(.get, "articles")).0
  }
}
