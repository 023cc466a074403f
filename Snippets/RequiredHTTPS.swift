// A host that has said that it requires https (HSTS, RFC 6797): from then on, nothing is sent to it over http.

import Martlet
import MartletTesting

let server = try LoopbackServer(tls: .selfSigned(for: "shop.example")) { request in
  .text("answered over TLS").with("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
}

var connection = ConnectionConfiguration()
connection.tls.authorities = server.authority?.file
var options = SocketTransport.Options()
options.addresses = ["shop.example": ["127.0.0.1"]]
var configuration = SessionConfiguration()
configuration.strictTransport = StrictTransportSecurity()
let session = HTTPSession(
  transport: SocketTransport(connection, options: options), configuration: configuration)

for scheme in ["https", "http"] {
  let request = HTTPRequest(.get, "\(scheme)://shop.example:\(server.port)/")
  let (text, response) = try await session.text(for: request)
  print(scheme, "became", response.request.url.scheme ?? "", "and was", text)
}

// Prints:
// https became https and was answered over TLS
// http became https and was answered over TLS
