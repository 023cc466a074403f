// Code for users of URLSession, AsyncHTTPClient, Alamofire and httpx, one request each.

import Martlet
import MartletTesting

struct Article: Codable, Sendable {
  var id: Int
  var title: String
}

// From URLSession: a request with a timeout, a status that is checked, and JSON.
func article(_ id: Int, at api: URL, in session: HTTPSession) async throws(HTTPError) -> Article {
  var request = HTTPRequest(.get, api.appending(path: "articles/\(id)"))
  request.options.responseTimeout = .seconds(10)
  request.options.cachePolicy = .reloadRevalidatingCacheData
  return try await session.value(of: Article.self, for: request).0
}

// From AsyncHTTPClient: a body that is collected up to a limit, with a deadline for all of it.
func page(at url: URL, in session: HTTPSession) async throws(HTTPError) -> Data {
  var request = HTTPRequest(.get, url, fields: ["User-Agent": "Reader/1.0"])
  request.options.deadline = .seconds(30)
  let (body, _) = try await session.bytes(for: request, expecting: .only([.ok]))
  return try await body.collect(upTo: 1 << 20)
}

// From Alamofire: parameters, a body, retries, and progress.
func publish(_ article: Article, at api: URL, in session: HTTPSession) async throws(HTTPError) -> Article {
  var request = HTTPRequest(
    .post, api.appending(path: "articles"), query: [("draft", "false")], fields: ["Idempotency-Key": "1"],
    body: try .json(article))
  request.options.retryPolicy = .standard
  request.options.listeners = [
    EventHandler(.progress) { event, _ in
      if case .progress(let progress) = event, progress.direction == .sent, progress.fraction == 1 { print("sent") }
    }
  ]
  return try await session.value(of: Article.self, for: request).0
}

// From httpx: a client with a base URL, headers, basic authentication, a timeout, and errors by their kind.
func makeClient(for api: URL) -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.baseURL = api
  configuration.fields = ["X-App": "Reader/1.0"]
  configuration.credentials = [PasswordSource(Credential(user: "anna", password: "secret"), for: .origin(of: api))]
  configuration.options.responseTimeout = .seconds(5)
  configuration.options.idleTimeout = .seconds(5)
  return HTTPSession(configuration: configuration)
}

let server = try LoopbackServer { request in
  switch (request.method, request.path) {
  case (.post, _): .json(#"{"id": 2, "title": "Autumn"}"#, status: .created)
  case (_, "/articles/1") where request.fields["X-App"] != nil: .json(#"{"id": 1, "title": "Summer"}"#)
  case (_, "/page"): .text("hello")
  default: .json(#"{"error": "there is no such article"}"#, status: .notFound)
  }
}
let session = makeClient(for: server.url)

print(try await article(1, at: server.url, in: session).title)
print(try await page(at: server.url("/page"), in: session).count)
print(try await publish(Article(id: 0, title: "Autumn"), at: server.url, in: session).id)

do {
  print(try await session.value(of: Article.self, for: HTTPRequest(.get, "articles/1")).0.title)
  print(try await session.value(of: Article.self, for: HTTPRequest(.get, "articles/9")).0.title)
} catch  where error.isTimeout {
  print("too slow")
} catch HTTPError.Kind.cannotConnect {
  print("no connection")
} catch {
  print(error.response?.status ?? 0, error.message)
}

// Prints:
// Summer
// 5
// sent
// 2
// Summer
// 404 Not Found unexpected status 404 Not Found
