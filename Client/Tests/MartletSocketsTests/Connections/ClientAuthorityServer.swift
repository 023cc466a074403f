#if os(Linux)
import Foundation
import MartletEngine
import MartletTesting
import TestServers
import TestSupport

/// An HTTP/1.1 server over TLS that requires a client certificate from its own authority. It answers with `new` if the
/// TLS session is new, and with `resumed` if it is not.
final class ClientAuthorityServer: Sendable {
  let url: URL
  let authority: TestAuthority
  private let process: RealProcess

  init() throws {
    authority = try TestAuthority()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key", "ca.pem"].map { [authority] in authority.folder.file($0).path }
    process = try RealProcess("python3", ["-c", Self.script, "\(port)"] + files, port: port)
    url = TestSupport.url("https://127.0.0.1:\(port)/")
  }

  /// The certificate of a client that the server accepts.
  var clientCertificate: ClientCertificate {
    .pem(certificate: authority.folder.file("client.pem"), key: authority.folder.file("client.key"))
  }

  private static let script = #"""
    import socket, ssl, sys, threading

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[2:4])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(sys.argv[4])

    def serve(plain):
      try:
        connection = context.wrap_socket(plain, server_side=True)
        text, received = b"resumed" if connection.session_reused else b"new", b""
        while part := connection.recv(65536):
          received += part
          if not received.endswith(b"\r\n\r\n"): continue
          received = b""
          connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
      except (OSError, ValueError): pass
      plain.close()

    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """#
}
#endif
