package import Foundation

/// A server that returns, as JSON, how the first packet of a connection arrived: Linux keeps the header of each SYN.
/// It listens on IPv6 and IPv4.
package final class PacketServer: Sendable {
  package let port: Int
  private let process: RealProcess

  /// The instance for all tests of a run.
  package static let shared = Result { try PacketServer() }

  package init() throws {
    port = try LocalPort.free()
    process = try RealProcess("python3", ["-c", Self.script, "\(port)"], port: port)
  }

  package struct Arrival: Decodable, Sendable {
    /// The version of IP.
    package var version: Int
    /// The Differentiated Services codepoint.
    package var codepoint: Int
    /// The client's port, which identifies the connection.
    package var connection: Int
  }

  package func url(_ path: String = "/") -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(filePath: path)
  }

  private static let script = #"""
    import http.server, json, socket, sys

    TCP_SAVE_SYN, TCP_SAVED_SYN = 27, 28

    class Server(http.server.ThreadingHTTPServer):
      address_family = socket.AF_INET6

      def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_SAVE_SYN, 1)
        super().server_bind()

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"

      def setup(self):
        packet = self.request.getsockopt(socket.IPPROTO_TCP, TCP_SAVED_SYN, 512)  # can be read once
        version = packet[0] >> 4
        field = packet[1] if version == 4 else (packet[0] & 15) << 4 | packet[1] >> 4
        arrival = {"version": version, "codepoint": field >> 2, "connection": self.client_address[1]}
        self.answer = json.dumps(arrival).encode()
        super().setup()

      def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

      def log_message(self, *arguments): pass

    Server(("::", int(sys.argv[1])), Handler).serve_forever()
    """#
}
