import Foundation
import MartletTesting

/// An error that only a test can make.
struct TestFailure: Error, Equatable { let name: String }

/// A server with Python's standard library. It ends with this object, and with the tests' process.
///
/// Its script can use the classes of `preamble`. It ends with `serve(Handler)`, or prints its own first line.
final class PythonProgram: Sendable {
  private let process: ChildProcess
  /// The first output of the program.
  let firstLine: String

  init(_ script: String, _ arguments: String..., in folder: URL? = nil) throws {
    process = try ChildProcess(
      "/usr/bin/env", ["python3", "-u", "-c", Self.preamble + script] + arguments, in: folder, output: .readWithErrors)
    firstLine = String(decoding: process.read() ?? Data(), as: UTF8.self)
  }

  deinit { process.kill() }

  /// The port of a script that ends with `serve(Handler)`.
  func port() throws -> Int {
    guard let port = Int(firstLine.prefix { $0.isNumber }) else {
      throw TestFailure(name: "python3 gives no port, but '\(firstLine)'")
    }
    return port
  }

  private static let preamble = #"""
    import http.server, os, threading, time

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"
      wbufsize = 1 << 16

      def log_message(self, *arguments): pass

      def reply(self, status, body=b"", fields=[]):
        self.send_response(status)
        for name, value in fields: self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD": self.wfile.write(body)

    class Server(http.server.ThreadingHTTPServer):
      request_queue_size = 256

    def serve(handler, server=Server):
      server = server(("127.0.0.1", 0), handler)
      print(server.server_address[1], flush=True)
      server.serve_forever()

    def end_with(parent):
      while os.getppid() == parent: time.sleep(0.5)
      os._exit(0)

    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()

    """#
}
