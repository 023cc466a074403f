// A session whose calls a browser can watch while the program is developed.

import Martlet
import MartletInspector
import MartletTesting

func makeSession() throws -> HTTPSession {
  var configuration = SessionConfiguration()
  #if DEBUG
  configuration.listeners.append(try Inspector())
  #endif
  return HTTPSession(configuration: configuration)
}

// With the connections of a transport:
let transport = SocketTransport()
var options = Inspector.Options()
options.pools = { await transport.statistics() }
try Inspector(options).close()

let server = try LoopbackServer { _ in .text("hello") }
let (data, _) = try await makeSession().data(for: HTTPRequest(.get, server.url("/")))
print(String(decoding: data, as: UTF8.self))

// Prints:
// hello
