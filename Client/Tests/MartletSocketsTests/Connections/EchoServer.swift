#if os(Linux)
import Foundation
import MartletTesting
import TestServers
import TestSupport

/// A server that returns each chunk of a request's body as soon as it has arrived, over TCP and over a unix socket.
final class EchoServer: Sendable {
  let url: URL
  /// The path of the unix socket.
  let path: String
  private let folder: TemporaryFolder
  private let process: RealProcess

  init() throws {
    let port = try LocalPort.free()
    folder = try TemporaryFolder()
    path = folder.file("socket").path
    process = try RealProcess("python3", ["-c", Self.script, "\(port)", path], port: port)
    url = TestSupport.url("http://127.0.0.1:\(port)/")
  }

  private static let script = #"""
    import socket, sys, threading

    HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    def serve(connection):
      file = connection.makefile("rb")
      while file.readline():
        while file.readline() != b"\r\n": pass
        connection.sendall(HEAD)
        while size := int(file.readline(), 16):
          connection.sendall(b"%x\r\n" % size + file.read(size + 2))
        connection.sendall(b"0\r\n" + file.readline())

    def listen(listener):
      while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    unix = socket.socket(socket.AF_UNIX)
    unix.bind(sys.argv[2])
    unix.listen()
    threading.Thread(target=listen, args=(unix,), daemon=True).start()
    listen(socket.create_server(("127.0.0.1", int(sys.argv[1]))))
    """#
}
#endif
