// How a session connects: a client certificate and a proxy.

import Martlet
import MartletTesting

let proxy = try LoopbackServer { request in
  .text("\(request.target) for \(request.fields[.proxyAuthorization] ?? "nobody")")
}
let proxyPort = proxy.port
let (certificate, password) = (URL(filePath: "anna.p12"), "secret")

var connection = ConnectionConfiguration()
connection.tls.clientCertificate = .pkcs12(file: certificate, password: password)
connection.proxy = .http("127.0.0.1", port: proxyPort)
  .authenticated(user: "anna", password: "secret", schemes: [.basic])
let session = HTTPSession(connection: connection)

if let url = URL(string: "http://example.com/") {
  let (data, _) = try await session.data(for: HTTPRequest(.get, url))
  print(String(decoding: data, as: UTF8.self))
}

// Prints:
// http://example.com/ for Basic YW5uYTpzZWNyZXQ=
