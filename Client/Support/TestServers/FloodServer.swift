package import Foundation
import MartletTesting

/// An HTTP/1.1 server over TLS. It answers the first request, and then floods its connection with records without
/// content, until it fails or 100,000 were sent. It answers the next connection with their number, after that.
package final class FloodServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// The records that are sent.
  package enum Record: String, Sendable, CaseIterable {
    /// KeyUpdate that requests one in return (RFC 8446 §4.6.3).
    case keyUpdateRequest
    case keyUpdate
    /// NewSessionTicket (RFC 8446 §4.6.1).
    case ticket
  }

  /// The maximum number of records.
  package static let most = 100_000

  package init(_ record: Record) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    process = try RealProcess("python3", ["-c", Self.script, "\(port)", record.rawValue] + files, port: port)
    self.authority = authority
    guard let url = URL(string: "https://127.0.0.1:\(port)/") else { throw RealServerError("no URL") }
    self.url = url
  }

  // Python's own module cannot send these records
  private static let script = #"""
    import ctypes, socket, sys, threading

    port, record, files = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    ssl = ctypes.CDLL("libssl.so.3")
    for name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"): getattr(ssl, name).restype = ctypes.c_void_p
    pointer = ctypes.c_void_p
    context = pointer(ssl.SSL_CTX_new(pointer(ssl.TLS_server_method())))
    assert ssl.SSL_CTX_use_certificate_chain_file(context, files[0].encode()) == 1
    assert ssl.SSL_CTX_use_PrivateKey_file(context, files[1].encode(), 1) == 1
    over, count = threading.Event(), 0

    def is_established(plain): return plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1

    # OpenSSL takes no notice of a connection that ends before a ticket
    def flood(session, plain):
      if not is_established(plain): return False
      if record == "ticket": return ssl.SSL_new_session_ticket(session) == 1 and ssl.SSL_do_handshake(session) == 1
      kind = 1 if record == "keyUpdateRequest" else 0
      return ssl.SSL_key_update(session, kind) == 1 and ssl.SSL_do_handshake(session) == 1

    def serve(plain, number):
      global count
      session = pointer(ssl.SSL_new(context))
      ssl.SSL_set_fd(session, plain.fileno())
      buffer = ctypes.create_string_buffer(65536)
      if ssl.SSL_accept(session) != 1 or ssl.SSL_read(session, buffer, 65536) <= 0: return
      if number > 1: over.wait()
      text = b"%d" % count
      answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text
      ssl.SSL_write(session, answer, len(answer))
      if number > 1: return
      while count < 100000 and flood(session, plain): count += 1
      over.set()
      plain.close()

    listener, number = socket.create_server(("127.0.0.1", port)), 0
    while True:
      plain, _ = listener.accept()
      if not plain.recv(1, socket.MSG_PEEK): continue
      number += 1
      threading.Thread(target=serve, args=(plain, number), daemon=True).start()
    """#
}
