// Passwords and tokens, each for its own origins.

import Martlet
import MartletTesting

func makeSession(api: URL, reports: URL) throws -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.credentials = [
    // renewed once, however many requests find an expired token
    TokenSource(for: .origin(of: api)) { old in
      let request = HTTPRequest(.post, api.appending(path: "token"), body: .form([("key", "k1")]))
      return AccessToken(try await HTTPSession.shared.text(for: request, expecting: .successful).0)
    },
    // Basic or Digest: the stronger one that the server offers
    PasswordSource(Credential(user: "anna", password: "secret"), for: .origin(of: reports)),
    // the passwords in ~/.netrc for other servers, over https only
    PasswordSource(try .file(), for: .matching(\.isSecure)),
  ]
  return HTTPSession(configuration: configuration)
}

let api = try LoopbackServer { request in
  switch (request.path, request.fields[.authorization]) {
  case ("/token", _): .text("a1")
  case (_, "Bearer a1"): .text("orders")
  default: .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
  }
}
let reports = try LoopbackServer { request in
  request.fields[.authorization] == "Basic YW5uYTpzZWNyZXQ="
    ? .text("report") : .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="reports""#])
}

let session = try makeSession(api: api.url, reports: reports.url)
for url in [api.url("/orders"), reports.url("/today")] {
  print(try await session.text(for: HTTPRequest(.get, url)).0)
}

// Prints:
// orders
// report
