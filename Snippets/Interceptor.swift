// An interceptor signs every attempt, a listener watches, and options hold for one request.

import Martlet

struct APIKey: Interceptor {
  let key: String
  let host: String

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard request.url.host() == host else { return request }
    var request = request
    request.fields["X-Api-Key"] = key
    return request
  }
}

var configuration = SessionConfiguration()
configuration.interceptors = [APIKey(key: "secret", host: "api.example.com")]
configuration.listeners = [
  EventHandler { event, exchange in
    if case .metrics(let metrics) = event { print(exchange.id, metrics.firstByte, metrics.reusedConnection) }
  }
]
let session = HTTPSession(configuration: configuration)

if let url = URL(string: "http://127.0.0.1:8000/report") {
  var request = HTTPRequest(.get, url, fields: [.accept: "application/json"])
  request.options.deadline = .seconds(10)
  request.options.redirectPolicy = .sameOrigin
  _ = try? await session.download(for: request, to: URL(filePath: "report.json"))
}
