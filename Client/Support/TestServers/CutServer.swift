package import Foundation
import MartletTesting

/// A server that sends a response and ends the connection in the middle of it. It ends the first connection after no
/// byte by FIN, the second after no byte by RST, the third after one byte by FIN, and so on, until all bytes are sent.
/// The connection after these gets the response byte by byte, and the last one at once.
///
/// Bytes are those on the network: with TLS 1.3, one record with the response, and one with `close_notify`.
package final class CutServer: Sendable {
  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - response: the bytes of the response; over HTTP/2, the frames that follow SETTINGS, on stream 1.
  ///   - isHTTP2: whether the connection is one of HTTP/2.
  ///   - tls: whether it is one of TLS 1.3.
  package init(_ response: [UInt8], isHTTP2: Bool, tls: Bool) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    let hex = response.map { String(format: "%02x", $0) }.joined()
    process = try RealProcess(
      "python3", ["-c", Self.script, "\(port)", hex, isHTTP2 ? "h2" : "http/1.1"] + (tls ? files : []), port: port)
    self.authority = authority
    guard let url = URL(string: "\(tls ? "https" : "http")://127.0.0.1:\(port)/") else {
      throw RealServerError("no URL")
    }
    self.url = url
  }

  /// The number of bytes on the network for a response of this length.
  package static func networkCount(of count: Int, tls: Bool) -> Int { tls ? count + record + record + 2 : count }

  /// The number of bytes after which the response is received, if not all bytes are.
  package static func receivedCount(of count: Int, tls: Bool) -> Int { tls ? count + record : count }

  /// The additions of a TLS 1.3 record to its content: a header, a type and an authentication tag (RFC 8446 §5.2).
  private static let record = 5 + 1 + 16

  private static let script = #"""
    import socket, ssl, struct, sys

    port, response, protocol, files = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3], sys.argv[4:]

    def frame(kind, flags): return bytes([0, 0, 0, kind, flags, 0, 0, 0, 0])

    class Connection:
      def __init__(self, plain):
        self.plain = plain
        if not files: return
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.wait_for(self.session.do_handshake)
        self.plain.sendall(self.outgoing.read())

      def wait_for(self, action):
        while True:
          try: return action()
          except ssl.SSLWantReadError:
            self.plain.sendall(self.outgoing.read())
            self.incoming.write(self.plain.recv(65536) or self.stop())

      def stop(self): raise OSError("ended")

      def read(self, count):
        data = b""
        while len(data) < count:
          more = count - len(data)
          data += (self.wait_for(lambda: self.session.read(more)) if files else self.plain.recv(more)) or self.stop()
        return data

      def encrypted(self, data):
        if not files: return data
        self.session.write(data)
        return self.outgoing.read()

      def end(self):
        if not files: return b""
        try: self.session.unwrap()
        except ssl.SSLError: pass
        return self.outgoing.read()

    def read_request(connection):
      if protocol == "h2":
        connection.read(24)
        connection.plain.sendall(connection.encrypted(frame(4, 0)))
        while True:
          head = connection.read(9)
          connection.read(int.from_bytes(head[:3], "big"))
          if head[3] == 4 and not head[4] & 1: connection.plain.sendall(connection.encrypted(frame(4, 1)))
          if head[3] == 1: return
      head = b""
      while not head.endswith(b"\r\n\r\n"): head += connection.read(1)

    def serve(plain, number):
      connection = Connection(plain)
      read_request(connection)
      wire = connection.encrypted(response) + connection.end()
      cut, resets = divmod(number, 2)
      if cut == len(wire) + 1 and not resets:
        for at in range(len(wire)): plain.sendall(wire[at:at + 1])
      else: plain.sendall(wire[:cut])
      if cut <= len(wire) and resets:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
      plain.shutdown(socket.SHUT_WR)
      while plain.recv(65536): pass

    if files:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.minimum_version = ssl.TLSVersion.TLSv1_3
      context.num_tickets = 0
      context.load_cert_chain(*files)
      context.set_alpn_protocols([protocol])
    listener = socket.create_server(("127.0.0.1", port))
    number = 0
    while True:
      plain, _ = listener.accept()
      plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      try:
        if plain.recv(1, socket.MSG_PEEK):
          number += 1
          serve(plain, number - 1)
      except (OSError, ValueError): pass
      plain.close()
    """#
}
