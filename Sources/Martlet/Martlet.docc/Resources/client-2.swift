import Martlet

struct Article: Codable, Sendable {
  var id: Int
  var title: String
}

struct NewsService: Sendable {
  let api: URL
  let session: HTTPSession

  func articles() async throws(HTTPError) -> [Article] {
    let request = HTTPRequest(.get, api.appending(path: "articles"))
    return try await session.value(of: [Article].self, for: request).0
  }
}

func explanation(of error: HTTPError) -> String {
  if error.isConnectionFailure || error.isTimeout { return "The news cannot be reached. Try again later." }
  if error.response?.status == .notFound { return "There is no such article." }
  return error.message
}
