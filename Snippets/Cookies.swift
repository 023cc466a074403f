// Cookies: which sessions share them, how to list and name them, and how to omit them.

import Martlet
import MartletTesting

let server = try LoopbackServer { request in
  request.fields[.cookie].map { .text($0) } ?? .text("none").with(.setCookie, "id=1; Path=/; SameSite=Strict")
}

let home = server.url

// Every session keeps cookies, in its configuration's jar. Sessions with the same configuration share it.
var configuration = SessionConfiguration()
let jar = CookieJar()
configuration.cookies = jar
configuration.cache = nil
let session = HTTPSession(configuration: configuration)

func cookiesSent(_ change: (inout RequestOptions) -> Void = { _ in }) async throws -> String {
  var request = HTTPRequest(.get, home)
  change(&request.options)
  return String(decoding: try await session.data(for: request).0, as: UTF8.self)
}

print(try await cookiesSent(), try await cookiesSent())
print(try await cookiesSent { $0.handlesCookies = false })  // not those of the jar
print(try await cookiesSent { $0.cookieContext.isSameSite = false })  // on behalf of another site's page

try await jar.set(Cookie(name: "theme", value: "dark", domain: "example.com", isHostOnly: false))
for cookie in try await jar.allCookies() { print(cookie) }  // never the value

// To and from curl, wget and others.
try await jar.removeSessionCookies()
for problem in try await jar.importNetscape("example.com\tFALSE\t/\tTRUE\t0\tid\t1\nnonsense\n") { print(problem) }
print(try await jar.exportNetscape().contains("example.com"))

// Several users in one session: each partition has its own cookies.
func page(of user: String) async throws -> String {
  var request = HTTPRequest(.get, home)
  request.options.partition = user
  return String(decoding: try await session.data(for: request).0, as: UTF8.self)
}

print(try await page(of: "anna"), try await page(of: "anna"), try await page(of: "ben"))

try await jar.removePartition("anna")  // when she signs out

// Prints:
// none id=1
// none
// none
// id=…; host 127.0.0.1; path /; SameSite=strict
// theme=…; domain example.com; path /
// line 2: it has 1 fields: write seven, with one tab (no spaces) between
// true
// none id=1 none
