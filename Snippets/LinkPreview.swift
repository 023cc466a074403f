// Titles of pages whose URLs come from strangers: only public addresses, also after a redirect, without cookies and within
// limits of time and size.

import Martlet
import MartletTesting

func makeFetcher(_ policy: AddressPolicy = .publicAddresses) -> HTTPSession {
  var connection = ConnectionConfiguration()
  connection.addressPolicy = policy
  connection.proxy = .direct  // behind a proxy the address would not be known
  var configuration = SessionConfiguration()
  configuration.cookies = nil
  configuration.options.deadline = .seconds(10)
  configuration.options.bodyLimit = 64 << 10
  configuration.options.expecting = .successful
  return HTTPSession(connection: connection, configuration: configuration)
}

func title(of page: String, in session: HTTPSession) async -> String {
  do {
    let (text, response) = try await session.text(for: HTTPRequest(.get, page, fields: [.accept: "text/html"]))
    guard response.fields.mediaType?.matches(.html) == true else { return "not a page" }
    return text.firstMatch(of: /<title>([^<]*)<\/title>/).map { String($0.1) } ?? "a page without a title"
  } catch {
    return "no preview: \(error.kind)"
  }
}

// The section apache-page of server-fields.txt.
let found: HTTPFields = [
  "Server": "Apache/2.4.71 (Debian)", "Last-Modified": "Fri, 27 Nov 2026 09:30:56 GMT",
  "ETag": "\"3d-6613eb7a181b8\"", "Accept-Ranges": "bytes", "Content-Type": "text/html",
]
// The section nginx-redirect of server-fields.txt.
let moved: HTTPFields = [
  "Server": "nginx/1.22.1", "Content-Type": "text/html",
]
// The section nginx-file of server-fields.txt.
let film: HTTPFields = [
  "Server": "nginx/1.22.1", "Content-Type": "video/mp4", "Last-Modified": "Fri, 27 Nov 2026 09:30:56 GMT",
  "ETag": "\"6b094dd0-100000\"", "Accept-Ranges": "bytes",
]
let server = try LoopbackServer { request in
  switch request.path {
  case "/wrens": Reply(fields: found, content: Data("<!doctype html><title>Wrens</title>".utf8))
  case "/moved": Reply(status: .found, fields: moved).with(.location, "/wrens")
  case "/trap": Reply(status: .found, fields: moved).with(.location, "http://169.254.169.254/latest/meta-data/")
  default: Reply(fields: film, content: Data(count: 1 << 20))
  }
}

print(await title(of: server.url("/wrens").absoluteString, in: makeFetcher()))

var policy = AddressPolicy.publicAddresses
policy.allowed = ["127.0.0.1"]  // only here, where the server is on this machine
let fetcher = makeFetcher(policy)
for path in ["/wrens", "/moved", "/trap", "/film"] {
  print(path, "–", await title(of: server.url(path).absoluteString, in: fetcher))
}

// Prints:
// no preview: addressRefused
// /wrens – Wrens
// /moved – Wrens
// /trap – no preview: addressRefused
// /film – no preview: bodyTooLarge
