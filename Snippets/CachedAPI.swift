// A client of an API with the header fields of GitHub's: pages that only their user may store, confirmed by an entity tag
// after the token was renewed.

import Martlet
import MartletTesting
import Synchronization

struct Issue: Codable, Sendable {
  var number: Int
  var title: String
}

func makeSession(at api: URL, for user: String, logIn: @escaping @Sendable () -> AccessToken) -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.baseURL = api
  configuration.fields = ["X-GitHub-Api-Version": "2022-11-28"]
  configuration.cache = HTTPCache(store: MemoryCacheStore(capacity: 16 << 20))
  configuration.options.partition = user  // stored responses remain usable with the next token
  configuration.credentials = [TokenSource(for: .origin(of: api)) { _ in logIn() }]
  return HTTPSession(configuration: configuration)
}

// The section github of server-fields.txt.
let fields: HTTPFields = [
  "Content-Type": "application/json; charset=utf-8", "Server": "GitHub.com", "Status": "200 OK",
  "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4354", "X-RateLimit-Reset": "1572055286",
  "Cache-Control": "private, max-age=60, s-maxage=60", "Vary": "Accept, Authorization, Cookie, X-GitHub-OTP",
  "Vary": "Accept-Encoding", "ETag": "W/\"8c3d3dcf6fc5f9edaf26c902295396e5\"",
  "Last-Modified": "Tue, 24 Sep 2019 19:32:29 GMT", "X-Accepted-OAuth-Scopes": "",
  "X-GitHub-Media-Type": "unknown, github.v3", "Access-Control-Allow-Origin": "*",
  "Strict-Transport-Security": "max-age=31536000; includeSubdomains; preload", "X-Frame-Options": "deny",
  "X-Content-Type-Options": "nosniff", "X-XSS-Protection": "1; mode=block",
  "Referrer-Policy": "origin-when-cross-origin, strict-origin-when-cross-origin",
  "Content-Security-Policy": "default-src 'none'", "X-GitHub-Request-Id": "0000:0000:000000:000000:00000000",
]
let logins = Atomic(0)
let server = try LoopbackServer { request in
  let reply: Reply
  switch request.fields[.authorization] {
  case "Bearer t\(logins.load(ordering: .relaxed))":
    let isKnown = request.fields[.ifNoneMatch] == fields[.eTag]
    reply = isKnown ? .status(.notModified) : .json(#"[{"number": 1, "title": "It crashes"}]"#)
  default: return .json(#"{"message": "Bad credentials"}"#, status: .unauthorized).with(.wwwAuthenticate, "Bearer")
  }
  return fields.reduce(reply) { reply, field in reply.with(field.name, field.value) }
}

let session = makeSession(at: server.url, for: "anna") {
  AccessToken("t\(logins.add(1, ordering: .relaxed).newValue)")
}
let page = HTTPRequest(.get, "repos/bird/nest/issues")
for _ in 1...2 {
  let (issues, response) = try await session.value(of: [Issue].self, for: page)
  print(issues.map(\.title), response.source)
}

logins.add(1, ordering: .relaxed)  // the service refuses the old token
var current = page
current.options.cachePolicy = .reloadRevalidatingCacheData
let (issues, response) = try await session.value(of: [Issue].self, for: current)
print(issues.map(\.title), response.source, response.fields["X-RateLimit-Remaining"] ?? "")
print(server.requests.map { $0.fields["Authorization"] ?? "no token" })

// Prints:
// ["It crashes"] network
// ["It crashes"] cache
// ["It crashes"] revalidated 4354
// ["Bearer t1", "Bearer t1", "Bearer t3"]
