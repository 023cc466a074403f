// JSON in and out, what errors say, and limits of time and size.

import Martlet
import MartletTesting

struct Order: Codable, Sendable {
  var id: Int
  var lines: [String]
}

let server = try LoopbackServer { request in
  switch (request.method, request.path) {
  case (.post, _): .json(#"{"id": 7, "lines": ["film"]}"#, status: .created)
  case (_, "/orders/7"): .json(#"{"id": 7, "lines": "film"}"#)
  case (_, "/log"): .text(String(repeating: "x", count: 2000))
  case (_, "/slow"): .never
  default: .json(#"{"error": "there is no such order"}"#, status: .notFound)
  }
}
let api = server.url
let session = HTTPSession()

let draft = Order(id: 0, lines: ["film"])
let create = HTTPRequest(.post, api.appending(path: "orders"), body: try .json(draft))
let (order, response) = try await session.value(of: Order.self, for: create)
print(order.id, response.status)

for number in [7, 8] {
  let url = api.appending(path: "orders/\(number)")
  do {
    _ = try await session.value(of: Order.self, for: HTTPRequest(.get, url))
  } catch {
    print(error.kind, error.response?.status.code ?? 0, error.message)
    print(error.body.map { String(decoding: $0, as: UTF8.self) } ?? "no body")
  }
}

var log = HTTPRequest(.get, api.appending(path: "log"), fields: [.accept: "text/plain"])
log.options.bodyLimit = 1000
do { _ = try await session.data(for: log) } catch { print(error.kind) }

var slow = HTTPRequest(.get, api.appending(path: "slow"))
slow.options.deadline = .milliseconds(50)
do { _ = try await session.data(for: slow) } catch { print(error.kind, error.isTimeout) }

// Prints:
// 7 201 Created
// unexpectedResponse 200 the body (application/json, 26 bytes) cannot be decoded as Order: type mismatch: expected Array<Any> at 'lines'
// {"id": 7, "lines": "film"}
// unexpectedResponse 404 unexpected status 404 Not Found
// {"error": "there is no such order"}
// bodyTooLarge
// deadlineExceeded true
