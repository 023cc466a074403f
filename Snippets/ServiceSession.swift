// A session for a service with passwords, tokens and CSRF tokens: kept on disk, retried where that is safe, and
// observed.

import Martlet
import MartletObservation
import MartletSQLite
import MartletSignIn
import MartletTesting

struct Order: Codable, Sendable {
  var id: Int
}

@Sendable func renew(_ old: AccessToken?) async throws -> AccessToken { AccessToken("a1") }

let server = try LoopbackServer { request in
  switch (request.method, request.path) {
  case (.get, "/prices") where request.fields["Last-Event-ID"] != nil: .status(.noContent)
  case (.get, "/prices"): .data(Data("retry: 0\nid: 1\ndata: 12.50\n\n".utf8), type: "text/event-stream")
  case (.post, "/orders") where request.fields["X-CSRF-Token"] == "c1": .json(#"{"id": 7}"#)
  case (.post, _): .status(.forbidden).with("X-CSRF-Token", "Required")
  default: .text("hello").with("X-CSRF-Token", "c1")
  }
}
let (service, api, reports) = (server.url, server.url, server.url)
let (url, prices, film) = (server.url("/orders"), server.url("/prices"), server.url("/film"))
let (folder, file) = (URL(filePath: "."), URL(filePath: "film.mp4"))
let draft = Order(id: 0)
let request = HTTPRequest(.get, film)
var saved: DownloadResumption?

var configuration = SessionConfiguration()
configuration.interceptors = [CorrelationInterceptor(), LanguageInterceptor(), CSRFInterceptor(root: service)]
configuration.credentials = [
  TokenSource(for: .origin(of: api)) { old in try await renew(old) },  // Bearer: renewed once for all
  PasswordSource(Credential(user: "anna", password: "secret"), for: .origin(of: reports)),  // Basic or Digest
  PasswordSource(try .file(), for: .matching(\.isSecure)),  // ~/.netrc
]
configuration.options.retryPolicy = .standard  // backoff, Retry-After, a budget
configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite")))
configuration.options.cachePolicy = .returnCacheDataIfOffline  // response.source says .offline
let recorder = HARRecorder()
configuration.listeners = [LogListener(), recorder]
let session = HTTPSession(configuration: configuration)

let (order, _) = try await session.value(of: Order.self, for: HTTPRequest(.post, url, body: try .json(draft)))
for try await event in session.events(for: HTTPRequest(.get, prices)) { print(event.data) }  // reconnects
do {
  _ = try await session.resumableDownload(for: HTTPRequest(.get, film), to: file, resuming: saved)
} catch { saved = error.resumption }  // Codable: for the next run
let command = request.curlCommand()  // with *** for secrets
try recorder.write(to: URL(filePath: "session.har"))

print(command.hasPrefix("curl "), order.id, recorder.har.log.entries.map(\.request.method))

// Prints:
// 12.50
// true 7 ["HEAD", "POST", "GET", "GET", "GET"]
