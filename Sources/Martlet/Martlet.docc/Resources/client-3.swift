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

struct TokenAnswer: Decodable, Sendable {
  var access_token: String
  var refresh_token: String
  var expires_in: Double
}

func makeTokens(for api: URL, refreshToken: String) -> TokenSource {
  let start = AccessToken("", expires: .distantPast, refreshToken: refreshToken)
  return TokenSource(start, for: .origin(of: api)) { old in
    guard let refresh = old?.refreshToken else { return nil }
    let form = [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: refresh)]
    let request = HTTPRequest(.post, api.appending(path: "token"), body: .form(form))
    let answer = try await HTTPSession.shared.value(of: TokenAnswer.self, for: request).0
    return AccessToken(
      answer.access_token, expires: Date(timeIntervalSinceNow: answer.expires_in), refreshToken: answer.refresh_token)
  }
}
