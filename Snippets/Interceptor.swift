// An interceptor signs every attempt, a listener observes, and options apply to one request.

import Martlet
import MartletTesting

struct APIKey: Interceptor {
  let key: String
  let origin: Origin?

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard request.origin == origin else { return .send(request) }
    var request = request
    request.fields["X-Api-Key"] = key
    return .send(request)
  }
}

let elsewhere = try LoopbackServer { request in .text(request.fields["X-Api-Key"] ?? "no key") }
let there = elsewhere.url("/there")
let server = try LoopbackServer { request in
  request.path == "/moved" ? .redirect(to: there.absoluteString) : .text(request.fields["X-Api-Key"] ?? "no key")
}
let api = server.url

var configuration = SessionConfiguration()
configuration.interceptors = [APIKey(key: "secret", origin: Origin(api))]
configuration.listeners = [
  EventHandler(.metrics) { event, call in
    if case .metrics(let metrics) = event { print("reused a connection:", metrics.reusedConnection) }
  }
]
let session = HTTPSession(configuration: configuration)

for path in ["/report", "/moved"] {
  var request = HTTPRequest(.get, server.url(path), fields: [.accept: "text/plain"])
  request.options.deadline = .seconds(10)
  request.options.redirectPolicy = .follow
  let (data, _) = try await session.data(for: request)
  print(String(decoding: data, as: UTF8.self))
}

// Prints:
// reused a connection: false
// secret
// reused a connection: true
// reused a connection: false
// no key
