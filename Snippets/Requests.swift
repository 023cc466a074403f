// A session for one service: JSON in and out, the content of errors, and limits of time and size.

import Martlet
import MartletTesting

struct Order: Codable, Sendable {
  var id: Int
  var lines: [String]
}

let server = try LoopbackServer { request in
  switch (request.method, request.path) {
  case (.post, _): .json(#"{"id": 7, "lines": ["film"]}"#, status: .created)
  case (_, "/v1/orders/7"): .json(#"{"id": 7, "lines": "film"}"#)
  case (_, "/v1/search"): .text("\(request.target) for \(request.fields["X-App"] ?? "")")
  case (_, "/v1/log"): .text(String(repeating: "x", count: 2000))
  case (_, "/v1/slow"): .never
  default: .json(#"{"error": "there is no such order"}"#, status: .notFound)
  }
}
let api = server.url("/v1")

var configuration = SessionConfiguration()
configuration.baseURL = api  // for requests with a relative URL
configuration.fields = ["X-App": "Shop/1.0"]  // sent with every request to this server
configuration.decoder.dateDecodingStrategy = .iso8601
let session = HTTPSession(configuration: configuration)

let draft = Order(id: 0, lines: ["film"])
let create = HTTPRequest(.post, "orders", body: try .json(draft))
let (order, response) = try await session.value(of: Order.self, for: create)
print(order.id, response.status)

let search = HTTPRequest(.get, "search", query: [("q", "a+b c"), ("page", "2")])
print(try await session.text(for: search, expecting: .successful).0)

for number in [7, 8] {
  do {
    _ = try await session.value(of: Order.self, for: HTTPRequest(.get, "orders/\(number)"))
  } catch {
    print(error.kind, error.response?.status.code ?? 0, error.message)
    print(error.body.map { String(decoding: $0, as: UTF8.self) } ?? "no body")
  }
}

var log = HTTPRequest(.get, "log", fields: [.accept: "text/plain"])
log.options.bodyLimit = 1000
do { _ = try await session.data(for: log) } catch { print(error.kind) }

var slow = HTTPRequest(.get, "slow")
slow.options.deadline = .milliseconds(50)
do { _ = try await session.data(for: slow) } catch { print(error.kind, error.isTimeout) }

// Prints:
// 7 201 Created
// /v1/search?q=a%2Bb%20c&page=2 for Shop/1.0
// unexpectedResponse 200 the body (application/json, 26 bytes) cannot be decoded as Order: type mismatch: expected an array at 'lines'
// {"id": 7, "lines": "film"}
// unexpectedResponse 404 unexpected status 404 Not Found
// {"error": "there is no such order"}
// bodyTooLarge
// deadlineExceeded true
