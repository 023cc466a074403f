// Connections: opened before the first request, shared by all, limited, counted, and replaced.

import Martlet
import MartletTesting

let server = try LoopbackServer { _ in .text("hello") }
let api = server.url

var connection = ConnectionConfiguration()
connection.connectionLimitPerHost = 4
connection.connectTimeout = .seconds(5)
connection.connectionLifetime = .seconds(300)  // the name is looked up again at least every 330 seconds
let transport = SocketTransport(connection)
let session = HTTPSession(transport: transport)

try await transport.preconnect(to: api, requests: 4)  // TCP, proxy and TLS are ready before they are needed

await withTaskGroup(of: Void.self) { group in
  for number in 1...100 {
    group.addTask { _ = try? await session.data(for: HTTPRequest(.get, server.url("/\(number)"))) }
  }
}
print(server.requests.count, "requests over", server.connectionCount, "connections")

await session.drainConnections()  // later requests use new connections
await session.closeIdleConnections()
_ = try await session.data(for: HTTPRequest(.get, api))
print(server.connectionCount, "connections in all")

// Prints:
// 100 requests over 4 connections
// 5 connections in all
