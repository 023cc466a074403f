#if os(Linux)
import Foundation
import MartletTesting
import TestServers
import TestSupport

/// A server that changes the protocol after a request with `Upgrade`, over TCP and over TLS. By path:
///
/// - `/echo` sends `hello ` together with its 101, and then returns the bytes that it receives; after the end it sends
///   ` bye`, and ends.
/// - `/once` sends `once`, ends its direction, and keeps the bytes that it receives until the end for `/received`.
///   `/later` does not receive before `/go` is requested, and `/lost` then resets the connection.
/// - `/flood` sends 32 MiB. After a byte, `/reset` resets the connection, and `/cut` ends it, over TLS without
///   `close_notify`.
/// - `/late` sends its 101 when `/go` is requested.
/// - CONNECT is answered with a 200 that has a `Content-Length`; after that, it is like `/echo` without its `hello`.
/// - `/ended` is answered when an upgraded connection has ended.
final class UpgradeServer: Sendable {
  let plain: URL
  let secure: URL
  let authority: TestAuthority
  private let process: RealProcess

  init() throws {
    authority = try TestAuthority.shared.get()
    let ports = [try LocalPort.free(), try LocalPort.free()]
    let files = ["server.pem", "server.key"].map { [authority] in authority.folder.file($0).path }
    process = try RealProcess("python3", ["-c", Self.script] + ports.map(String.init) + files, port: ports[1])
    plain = TestSupport.url("http://127.0.0.1:\(ports[0])/")
    secure = TestSupport.url("https://127.0.0.1:\(ports[1])/")
  }

  private static let script = #"""
    import queue, socket, ssl, struct, sys, threading

    SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    received, ended, asked, go = queue.Queue(), queue.Queue(), queue.Queue(), queue.Queue()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[3:])

    class Plain:
      def __init__(self, socket_): self.socket, self.recv, self.sendall = socket_, socket_.recv, socket_.sendall
      def finish(self): self.socket.shutdown(socket.SHUT_WR)

    # Python's own sockets over TLS cannot receive after they have sent close_notify.
    class Secure:
      def __init__(self, socket_):
        self.socket, self.input, self.output = socket_, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.input, self.output, server_side=True)
        self.step(self.tls.do_handshake)

      def step(self, call, *arguments):
        while True:
          try:
            result = call(*arguments)
            self.flush()
            return result
          except ssl.SSLWantReadError:
            self.flush()
            data = self.socket.recv(65536)
            if data: self.input.write(data)
            else: self.input.write_eof()

      def flush(self):
        data = self.output.read()
        if data: self.socket.sendall(data)

      def recv(self, size):
        try: return self.step(self.tls.read, size)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError): return b""

      def sendall(self, data): self.step(self.tls.write, data)

      def finish(self):
        try: self.tls.unwrap()
        except ssl.SSLError: pass
        self.flush()

    def upgraded(connection, path):
      if path == b"/late": asked.put(1); go.get()
      connection.sendall(SWITCH + {b"/echo": b"hello ", b"/once": b"once", b"/later": b"once", b"/lost": b"once"}.get(path, b""))
      if path in (b"/once", b"/later", b"/lost"): connection.finish()
      if path in (b"/later", b"/lost"): go.get()
      if path == b"/flood":
        for number in range(32 << 6): connection.sendall(bytes([number % 251]) * (16 << 10))
      if path in (b"/reset", b"/cut"): connection.recv(1)
      if path in (b"/reset", b"/lost"):
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); return
      if path == b"/cut": return
      whole = b""
      while data := connection.recv(65536):
        if path == b"/echo": connection.sendall(data)
        if path in (b"/once", b"/later"): whole += data
      if path == b"/echo": connection.sendall(b" bye"); connection.finish()
      if path in (b"/once", b"/later"): received.put(whole)

    def serve(connection):
      head = b""
      while b"\r\n\r\n" not in head:
        data = connection.recv(1)
        if not data: return
        head += data
      path = head.split(b" ")[1]
      if head.startswith(b"CONNECT "):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
        while data := connection.recv(65536): connection.sendall(data)
        connection.sendall(b" bye")
        connection.socket.close()
        return
      if b"upgrade:" in head.lower():
        try: upgraded(connection, path)
        except OSError: pass
        connection.socket.close()
        ended.put(1)
        return
      text = {b"/received": received.get, b"/ended": ended.get, b"/asked": asked.get, b"/go": lambda: go.put(1)}[path]()
      text = text if isinstance(text, bytes) else b""
      connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
      connection.socket.close()

    def run(plain, secures):
      try: serve(Secure(plain) if secures else Plain(plain))
      except OSError: pass

    def accept(listener, secures):
      while True:
        threading.Thread(target=run, args=(listener.accept()[0], secures), daemon=True).start()

    # the one whose port the test waits for comes last
    plain, secure = [socket.create_server(("127.0.0.1", int(port)), backlog=128) for port in sys.argv[1:3]]
    threading.Thread(target=accept, args=(plain, False), daemon=True).start()
    accept(secure, True)
    """#
}
#endif
