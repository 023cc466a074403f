// A service that completes its calls in progress before it ends.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .text("ok") }
let url = server.url

func serve(with session: HTTPSession) async throws {
  print(try await session.text(for: HTTPRequest(.get, url)).0)
}

let configuration = SessionConfiguration()
let http = ClosableSession(configuration: configuration)
try await serve(with: http.session)
await http.close(within: .seconds(10))

do {
  _ = try await http.session.data(for: HTTPRequest(.get, url))
} catch {
  print(error.kind)
}

// Prints:
// ok
// shutDown
