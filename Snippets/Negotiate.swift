// Kerberos tickets for a server and for a proxy. Without a ticket, the error names the remedy.

import Martlet
import MartletKerberos
import MartletTesting
import SAPFoundation

let server = try LoopbackServer { _ in .text("who?", status: .unauthorized).with(.wwwAuthenticate, "Negotiate") }
let intranet = server.url("/orders")
let tickets = KerberosTickets(cache: "FILE:none")

var configuration = SessionConfiguration()
configuration.credentials = [NegotiateSource(for: .origin(of: intranet), with: tickets)]
let session = HTTPSession(configuration: configuration)

do {
  let (data, response) = try await session.data(for: HTTPRequest(.get, intranet))
  print(response.status, String(decoding: data, as: UTF8.self))
} catch {
  print("run kinit?", error.kind)
}
print(server.requests.map { $0.fields[.authorization] ?? "no token" })

/// A session whose proxy requires a ticket.
func makeSession(behind host: String) -> HTTPSession {
  var connection = ConnectionConfiguration()
  connection.proxy = .http(host, port: 3128).authenticated(by: KerberosTickets())
  return HTTPSession(transport: SocketTransport(connection))
}

/// SAP's session with tickets for its server and its proxy.
func makeSAPSession(for gateway: URL, _ connection: ConnectionConfiguration) -> SAPURLSession {
  var connection = connection
  connection.proxy = .http("proxy.example.com", port: 8080).authenticated(by: KerberosTickets())
  let session = SAPURLSession(connection: connection, credentials: [NegotiateSource(for: .origin(of: gateway))])
  return session
}

// Prints:
// run kinit? authenticationFailed
// ["no token"]
