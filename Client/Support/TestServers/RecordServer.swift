package import Foundation
import MartletTesting

/// An HTTP/1.1 server with TLS that decides what its records have, which a ``LoopbackServer`` cannot. Its responses are
/// the number of their connection: the head in one record, the body in another.
package final class RecordServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// - Parameters:
  ///   - stray: the bytes that are sent in a separate record after the response, in the same segment.
  ///   - opensRecord: whether the beginning of a further record follows the response, in the same segment.
  ///   - endsFirst: whether the first connection is ended after its handshake, before another one is accepted.
  package init(stray: String = "", opensRecord: Bool = false, endsFirst: Bool = false) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    process = try RealProcess(
      "python3", ["-c", Self.script, "\(port)", opensRecord ? "record" : stray, endsFirst ? "end" : ""] + files,
      port: port)
    self.authority = authority
    guard let url = URL(string: "https://127.0.0.1:\(port)/") else { throw RealServerError("no URL") }
    self.url = url
  }

  private static let script = #"""
    import os, socket, ssl, sys, threading

    port, stray, files = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[4:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)

    def serve(plain, number):
      try:
        connection = context.wrap_socket(plain, server_side=True)
        received = b""
        while True:
          while b"\r\n\r\n" not in received:
            part = connection.recv(65536)
            if not part: return
            received += part
          received = received.split(b"\r\n\r\n", 1)[1]
          if stray: connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
          connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
          connection.sendall(b"%d" % number)
          if stray:
            if stray == b"record": os.write(connection.fileno(), b"\x17\x03\x03\x01")
            else: connection.sendall(stray)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
      except (OSError, ValueError): pass

    listener, number = socket.create_server(("127.0.0.1", port)), 0
    while True:
      plain, _ = listener.accept()
      if not plain.recv(1, socket.MSG_PEEK): continue
      number += 1
      if number == 1 and sys.argv[3]:
        context.wrap_socket(plain, server_side=True).close()
        continue
      threading.Thread(target=serve, args=(plain, number), daemon=True).start()
    """#
}
