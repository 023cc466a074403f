// A test of https, HTTP/2 and client certificates, with a server that misbehaves as only HTTP/2 can.

import Martlet
import MartletTesting

let authority = try LoopbackAuthority()
var tls = LoopbackTLS.selfSigned(for: "shop.example", by: authority)
tls.clientCertificates = .requested
let server = try LoopbackServer(tls: tls) { request in
  switch request.path {
  case "/refused": .streamReset(7)  // REFUSED_STREAM
  case "/cut": .text("hello").streamReset(after: 2)
  case "/moved" where request.connection == 1: .goAway()
  case "/flood": .text("hello").sendingFrames([.ping], times: 1_000_000, after: 2)
  default: .text("\(request.version) for \(request.handshake?.clientSubject ?? "a stranger")")
  }
}

var connection = ConnectionConfiguration()
connection.tls.authorities = authority.file
connection.tls.clientCertificate = try authority.clientCertificate(named: "Ada")
var options = SocketTransport.Options()
options.addresses = ["shop.example": ["127.0.0.1"]]
let session = HTTPSession(transport: SocketTransport(connection, options: options))

print(try await session.text(for: HTTPRequest(.get, "https://shop.example:\(server.port)/")).0)
for path in ["/refused", "/cut", "/moved", "/flood"] {
  do {
    print(path, try await session.text(for: HTTPRequest(.post, server.url(path))).0)
  } catch {
    print(path, error.kind)
  }
}

// Prints:
// HTTP/2 for CN=Ada
// /refused connectionLost
// /cut connectionLost
// /moved HTTP/2 for CN=Ada
// /flood connectionLost
