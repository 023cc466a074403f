// Cookies: who has them, how to see and exchange them, and how to leave them out.

import Martlet

guard let url = CommandLine.arguments.last.flatMap(URL.init(string:)) else { fatalError("usage: Cookies URL") }

// Every session keeps cookies, in a jar of its configuration's. Sessions of one configuration share it.
var configuration = SessionConfiguration()
let jar = CookieJar()
configuration.cookies = jar
let session = HTTPSession(configuration: configuration)
_ = try await session.data(for: HTTPRequest(.get, url))

for cookie in try await jar.allCookies() { print(cookie) }  // never the value
try await jar.set(Cookie(name: "theme", value: "dark", domain: "example.com", isHostOnly: false))
try await jar.removeSessionCookies()

// To and from curl, wget and others.
print(try await jar.exportNetscape())
for problem in try await jar.importNetscape("example.com\tFALSE\t/\tTRUE\t0\tid\t1\n") { print(problem) }

// One request without cookies, and one on behalf of another site's page.
var request = HTTPRequest(.get, url)
request.options.handlesCookies = false
_ = try await session.data(for: request)
request.options.handlesCookies = true
request.options.cookieContext.isSameSite = false
_ = try await session.data(for: request)
