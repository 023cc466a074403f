// The same session over each transport: over sockets, and over Foundation's URLSession.

import Martlet
import MartletTesting
import MartletURLSession

let server = try LoopbackServer { _ in .text("hello") }
let connection = ConnectionConfiguration()

func get(with session: HTTPSession) async throws -> String {
  String(decoding: try await session.data(for: HTTPRequest(.get, server.url)).0, as: UTF8.self)
}

do {
  let session = HTTPSession(connection: connection)
  print(try await get(with: session))
}

do {
  let session = HTTPSession(transport: URLSessionTransport(.ephemeral))
  print(try await get(with: session))
}

// Prints:
// hello
// hello
