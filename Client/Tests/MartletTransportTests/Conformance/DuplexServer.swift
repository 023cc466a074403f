#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers

/// An HTTP/1.1 server that receives and sends at the same time. `/echo` returns each byte of a chunked body as it
/// arrives. `/speak` sends 1,000 bytes, each when the previous one has returned. `/trailers` sends the trailer lines of
/// the request. Every response has three trailer fields.
final class DuplexServer: Sendable {
  let url: URL
  private let process: RealProcess

  static let shared = Result { try DuplexServer() }

  init() throws {
    let port = try LocalPort.free()
    process = try RealProcess("python3", ["-c", Self.script, "\(port)"], port: port)
    url = TestSupport.url("http://127.0.0.1:\(port)/")
  }

  private static let script = #"""
    import socket, sys, threading

    def chunks(file, trailers):
      while size := int(file.readline().split(b";")[0], 16):
        yield file.read(size)
        file.readline()
      while (line := file.readline()) != b"\r\n": trailers.append(line)

    def serve(connection):
      file = connection.makefile("rb")
      while line := file.readline():
        path, length, expects = line.split(b" ")[1], 0, False
        while (field := file.readline()) != b"\r\n":
          if field.lower().startswith(b"expect:"): expects = True
        def send(data): connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
        if expects: connection.sendall(b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"); return
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        trailers = []
        body = chunks(file, trailers) if path != b"/plain" else []
        if path == b"/speak":
          for _ in range(1000):
            send(b"A")
            assert next(body) == b"A"
        for data in body:
          if path == b"/echo": send(data)
        if trailers: send(b"".join(trailers))
        connection.sendall(b"0\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n\r\n")

    def run(connection):
      try: serve(connection)
      except (OSError, ValueError, AssertionError, StopIteration): pass
      connection.close()

    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    while True:
      connection, _ = listener.accept()
      connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      threading.Thread(target=run, args=(connection,), daemon=True).start()
    """#
}
#endif
