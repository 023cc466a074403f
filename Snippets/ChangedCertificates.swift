// A file of authorities that is replaced while a session lives, as cert-manager and SPIRE do it.

import Foundation
import Martlet
import MartletTesting

let folder = try TemporaryFolder()
let authorities = try (0..<2).map { _ in try LoopbackAuthority() }
let servers = try authorities.enumerated().map { number, authority in
  try LoopbackServer(tls: .selfSigned(by: authority)) { _ in .text("server \(number + 1)") }
}

let file = try folder.write(authorities[0].certificate, to: "ca.pem")
var connection = ConnectionConfiguration()
connection.tls.authorities = file
let session = HTTPSession(transport: SocketTransport(connection))

func show(_ server: LoopbackServer) async {
  do {
    print(try await session.text(for: HTTPRequest(.get, server.url)).0)
  } catch {
    print(error.kind)
  }
}

await show(servers[0])
await show(servers[1])

// Written beside it and renamed: a reader finds the old file or the new one, never a half.
let next = try folder.write(authorities[1].certificate, to: "ca.pem.new")
guard rename(next.path, file.path) == 0 else { fatalError("the file cannot be replaced") }
await session.drainConnections()  // those that trusted the former authority
await show(servers[0])
await show(servers[1])

// Prints:
// server 1
// untrustedCertificate
// untrustedCertificate
// server 2
