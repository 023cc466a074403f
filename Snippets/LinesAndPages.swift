// Bodies read line by line, as text and as JSON, and a list that the server divides into pages.

import Martlet
import MartletTesting

struct Order: Codable, Sendable {
  var id: Int
}

func printLog(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  let (body, _) = try await session.bytes(for: HTTPRequest(.get, url), expecting: .successful)
  for try await line in body.lines { print(line) }
}

/// Reads a body as it arrives, with one JSON value on each line.
func printChanges(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  let (body, _) = try await session.bytes(for: HTTPRequest(.get, url), expecting: .successful)
  for try await order in body.values(of: Order.self) { print("changed:", order.id) }
}

/// Reads all orders: each response names the next page in its `Link` field.
func printOrders(from url: URL, in session: HTTPSession) async throws(HTTPError) {
  for try await page in session.pages(of: [Order].self, for: HTTPRequest(.get, url, query: [("size", "2")])) {
    print(page.map(\.id))
  }
}

let server = try LoopbackServer { request in
  switch request.target {
  case "/log": .text("first\nsecond\n")
  case "/changes": .data(Data("{\"id\": 7}\n{\"id\": 8}\n".utf8), type: "application/x-ndjson")
  case "/orders?size=2": .json(#"[{"id": 1}, {"id": 2}]"#).with("Link", #"</orders?after=2>; rel="next""#)
  default: .json(#"[{"id": 3}]"#)
  }
}
let session = HTTPSession()
try await printLog(from: server.url("/log"), in: session)
try await printChanges(from: server.url("/changes"), in: session)
try await printOrders(from: server.url("/orders"), in: session)

// Prints:
// first
// second
// changed: 7
// changed: 8
// [1, 2]
// [3]
