package import Foundation
import MartletTesting

/// A server whose first connection dies; later ones live. A response is the number of its connection: `1`.
package final class DyingServer: Sendable {
  /// How the connection dies.
  package enum Death: String, CaseIterable, Sendable {
    /// The server's system still acknowledges bytes, but the server reads and sends nothing more.
    case freezes
    /// Nothing arrives at the server any more and nothing comes from it, as if its host had disappeared.
    case vanishes
    /// The server resets the connection.
    case resets
  }

  /// The time of death. The first request over the connection is always answered; the second one dies with it.
  package enum Moment: String, CaseIterable, Sendable {
    /// When the test calls ``DyingServer/endFirstConnection()``.
    case betweenRequests
    case beforeTheHead, inTheHead, inTheBody
    /// After some of the request's body was read.
    case inTheUpload
  }

  package let url: URL
  package let authority: TestAuthority
  private let process: RealProcess

  /// Starts a server.
  ///
  /// - Parameter leavesFirstOpen: whether the first response does not end, so that its stream stays open.
  package init(
    _ death: Death, _ moment: Moment, isHTTP2: Bool, tls: Bool, leavesFirstOpen: Bool = false
  ) throws {
    let authority = try TestAuthority.shared.get()
    let port = try LocalPort.free()
    let files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
    let arguments = [
      "\(port)", death.rawValue, moment.rawValue, isHTTP2 ? "h2" : "http/1.1", leavesFirstOpen ? "open" : "ended",
    ]
    process = try RealProcess("python3", ["-c", Self.script] + arguments + (tls ? files : []), port: port)
    self.authority = authority
    guard let url = URL(string: "\(tls ? "https" : "http")://127.0.0.1:\(port)/") else {
      throw RealServerError("no URL")
    }
    self.url = url
  }

  /// Ends the first connection if it dies between requests, after its response was read: a reset would destroy the
  /// response.
  package func endFirstConnection() { _ = LocalPort.answers(process.port) }

  private static let script = #"""
    import ctypes, socket, ssl, struct, sys, threading

    port, death, moment, protocol, first = int(sys.argv[1]), *sys.argv[2:6]
    files = sys.argv[6:]
    kept, lock, number, looked = [], threading.Lock(), 0, threading.Event()
    DATA, HEADERS, SETTINGS, PING, WINDOW = 0, 1, 4, 6, 8

    class Dead(Exception): pass

    class Filter(ctypes.Structure):
      _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
      _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]

    def die(connection):
      if death == "vanishes":  # a filter that lets no packet through: none is acknowledged either
        nothing = (Filter * 1)(Filter(6, 0, 0, 0))
        connection.setsockopt(socket.SOL_SOCKET, 26, bytes(Program(1, nothing)))
      if death == "resets":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
      kept.append(connection)
      raise Dead

    def frame(kind, flags, stream, payload=b""):
      return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def read(connection, count):
      got = b""
      while len(got) < count:
        part = connection.recv(count - len(got))
        if not part: raise Dead
        got += part
      return got

    def parts(stream, text, ends):
      """The head and the body of a response."""
      if protocol == "h2": return frame(HEADERS, 4, stream, b"\x88"), frame(DATA, 1 if ends else 0, stream, text)
      length = b"Content-Length: %d\r\n" % len(text) if ends else b""
      return b"HTTP/1.1 200 OK\r\n" + length + b"\r\n", text

    class Conversation:
      def __init__(self, connection, number):
        self.connection, self.number, self.count = connection, number, 0

      def dies(self, now): return self.number == 1 and self.count == 2 and moment == now

      def began(self, stream):
        self.count += 1
        head, body = parts(stream, b"1", ends=False)
        if self.dies("beforeTheHead"): die(self.connection)
        if self.dies("inTheHead"): self.connection.sendall(head[:len(head) // 2]); die(self.connection)
        if self.dies("inTheBody"): self.connection.sendall(head + body); die(self.connection)

      def uploaded(self):
        if self.dies("inTheUpload"): die(self.connection)

      def answer(self, stream):
        isOpen = first == "open" and self.number == 1 and self.count == 1
        looked.clear()
        self.connection.sendall(b"".join(parts(stream, b"%d" % self.number, ends=not isOpen)))
        if self.number == 1 and moment == "betweenRequests": looked.wait(); die(self.connection)

    def speakHTTP1(connection, number):
      conversation, got = Conversation(connection, number), b""
      while True:
        while b"\r\n\r\n" not in got:
          part = connection.recv(65536)
          if not part: return
          got += part
        head, got = got.split(b"\r\n\r\n", 1)
        conversation.began(0)
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        rest = int(lengths[0].split(b":")[1]) if lengths else 0
        while rest > 0:
          got = got or read(connection, 1)
          taken = min(rest, len(got))
          rest, got = rest - taken, got[taken:]
          conversation.uploaded()
          if rest > 0: got += connection.recv(65536)
        conversation.answer(0)

    def speakHTTP2(connection, number):
      conversation = Conversation(connection, number)
      read(connection, 24)
      connection.sendall(frame(SETTINGS, 0, 0))
      while True:
        head = read(connection, 9)
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        payload = read(connection, int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & 1: connection.sendall(frame(SETTINGS, 1, 0))
        if kind == PING and not flags & 1: connection.sendall(frame(PING, 1, 0, payload))
        if kind == HEADERS: conversation.began(stream)
        if kind == DATA and payload:
          conversation.uploaded()
          grant = struct.pack(">I", len(payload))
          connection.sendall(frame(WINDOW, 0, 0, grant) + frame(WINDOW, 0, stream, grant))
        if kind in (HEADERS, DATA) and flags & 1: conversation.answer(stream)

    def run(plain):
      global number
      try:
        # a connection that only looks whether the server is there does not count
        if not plain.recv(1, socket.MSG_PEEK): looked.set(); return
        if files: plain = context.wrap_socket(plain, server_side=True)
        with lock: number += 1; mine = number
        (speakHTTP2 if protocol == "h2" else speakHTTP1)(plain, mine)
      except (Dead, OSError): pass

    if files:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(*files)
      context.set_alpn_protocols([protocol])
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    while True: threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()
    """#
}
