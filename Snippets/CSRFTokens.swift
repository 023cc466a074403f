// A service that requires a CSRF token for changes. The token is valid with a session cookie.

import Martlet
import MartletSignIn
import MartletTesting

let server = try LoopbackServer { request in
  switch (request.method, request.fields["X-CSRF-Token"]) {
  case (.head, "Fetch"): .status(.ok, fields: ["X-CSRF-Token": "c1", .setCookie: "session=s1; Path=/"])
  case (.post, "c1") where request.fields[.cookie] == "session=s1": .status(.created)
  case (.post, _): .status(.forbidden, fields: ["X-CSRF-Token": "Required"])
  default: .text("hello")
  }
}
let service = server.url("/service")

var configuration = SessionConfiguration()
configuration.interceptors = [CSRFInterceptor(root: service)]
let session = HTTPSession(configuration: configuration)

for _ in 1...2 {
  let order = HTTPRequest(.post, service.appending(path: "Orders"), body: try .json(["film": 1]))
  print(try await session.data(for: order).1.status)
}
print(server.requests.map { "\($0.method) \($0.path)" })

// Prints:
// 201 Created
// 201 Created
// ["HEAD /service", "POST /service/Orders", "POST /service/Orders"]
