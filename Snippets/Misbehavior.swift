// The errors that a client gets when a server misbehaves.

import Martlet
import MartletTesting

let server = try LoopbackServer { request in
  switch request.path {
  case "/stalls": .text("hello").stalled(after: 2)
  case "/never": .never
  case "/truncated": .text("hello").truncated(after: 2)
  case "/reset": .reset
  case "/hang-up": .hangUp
  case "/nonsense": .raw("nonsense\r\n\r\n")
  default: .text("hello").with(.contentEncoding, "gzip")
  }
}
let session = HTTPSession()

for path in ["/stalls", "/never", "/truncated", "/reset", "/hang-up", "/nonsense", "/not-gzip"] {
  var request = HTTPRequest(.get, server.url(path))
  request.options.idleTimeout = .milliseconds(100)
  request.options.responseTimeout = .milliseconds(path == "/never" ? 100 : 60_000)
  do { _ = try await session.data(for: request) } catch { print(path, error.kind) }
}

// Prints:
// /stalls idleTimeout
// /never responseTimeout
// /truncated connectionLost
// /reset connectionLost
// /hang-up connectionLost
// /nonsense protocolViolation
// /not-gzip undecodableBody
