import Martlet

func names(_ session: HTTPSession, _ url: URL) async throws {
  var configuration = SessionConfiguration()
  // error: 'retryPolicy' has been renamed to 'retry'
  _ = configuration.retryPolicy
  // error: 'init(url:)' is unavailable: use HTTPRequest(.get, url)
  var request = HTTPRequest(url: url)
  // error: 'POST' has been renamed to 'post'
  request.method = .POST
  // error: 'setValue(_:forHTTPHeaderField:)' is unavailable: use request.fields["Name"] = value
  request.setValue("text/html", forHTTPHeaderField: "Accept")
  // error: 'headers' has been renamed to 'fields'
  _ = request.headers
  // error: 'get' is unavailable: use data(for: HTTPRequest(.get, url))
  _ = try await session.get(url)
  // error: 'data(from:)' is unavailable: use data(for: HTTPRequest(.get, url))
  _ = try await session.data(from: url)
}
