// A session on a mock of the transport, and on a real server that misbehaves.

import Martlet
import MartletTesting

let session = HTTPSession(transport: MockTransport { request in .json(#"{"answer": 42}"#) })
let server = try LoopbackServer { request in .text("hello").stalled(after: 2) }

if let url = URL(string: "https://example.com/question") {
  print(try await session.value(of: [String: Int].self, for: HTTPRequest(.get, url)).0)
}

var request = HTTPRequest(.get, server.url("/greeting"))
request.options.idleTimeout = .milliseconds(100)
do { _ = try await HTTPSession.shared.data(for: request) } catch { print(error.kind.name) }
print(server.requests.map(\.path))

// Prints:
// ["answer": 42]
// idleTimeout
// ["/greeting"]
