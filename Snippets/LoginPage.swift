// A service without tokens: it sends a login page, and later recognizes the user by a cookie.

import Martlet
import MartletSignIn
import MartletTesting

let server = try LoopbackServer { request in
  switch (request.path, request.fields[.cookie]) {
  case ("/login", _): .status(.noContent).with(.setCookie, "session=s1; Path=/; HttpOnly")
  case (_, "session=s1"): .text("orders")
  default: .text("<title>Log in</title>").with("X-Login", "required")
  }
}
let loginURL = server.url("/login")

var configuration = SessionConfiguration()
configuration.interceptors = [
  LoginInterceptor(isChallenge: { response, _ in response.fields["X-Login"] == "required" }) { call in
    let form = [(name: "user", value: "anna"), (name: "password", value: "secret")]
    _ = try await call.session?.data(for: HTTPRequest(.post, loginURL, body: .form(form)))
  }
]
let session = HTTPSession(configuration: configuration)

let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/orders")))
print(String(decoding: data, as: UTF8.self), server.requests.map(\.path))

// Prints:
// orders ["/orders", "/login", "/orders"]
