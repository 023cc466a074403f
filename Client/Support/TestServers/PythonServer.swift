package import Foundation

/// A server with Python's standard library that returns, as JSON, how it read a request's body: it parses forms with
/// its `email` and `urllib` packages, and decompresses with its `zlib`.
package final class PythonServer: Sendable {
  package let url: URL
  private let process: RealProcess

  /// The instance for all tests of a run.
  package static let shared = Result { try PythonServer() }

  package init() throws {
    let port = try LocalPort.free()
    process = try RealProcess("python3", ["-c", Self.script, "\(port)"], port: port)
    guard let url = URL(string: "http://127.0.0.1:\(port)/") else { throw RealServerError("no URL") }
    self.url = url
  }

  /// The server's response.
  package struct Understood: Decodable, Sendable {
    package var length: String?
    package var size: Int
    package var digest: String
    package var parts: [Part]?
    package var pairs: [[String]]?
  }

  package struct Part: Decodable, Sendable, Equatable {
    package var name: String
    package var fileName: String?
    package var type: String?
    package var content: String

    package init(name: String, fileName: String? = nil, type: String? = nil, content: String) {
      (self.name, self.fileName, self.type, self.content) = (name, fileName, type, content)
    }
  }

  private static let script = #"""
    import email.message, email.parser, hashlib, http.server, json, sys, urllib.parse, zlib

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = "HTTP/1.1"

      def chunks(self):
        while size := int(self.rfile.readline().split(b";")[0], 16):
          yield self.rfile.read(size)
          self.rfile.readline()
        self.rfile.readline()

      def do_POST(self):
        length = self.headers["content-length"]
        body = self.rfile.read(int(length)) if length else b"".join(self.chunks())
        coding = self.headers["content-encoding"]
        if coding:
          unpacker = zlib.decompressobj(31 if coding == "gzip" else 15)
          body = unpacker.decompress(body) + unpacker.flush()
          assert unpacker.eof and not unpacker.unused_data
        answer = {"length": length, "size": len(body), "digest": hashlib.sha256(body).hexdigest()}
        kind = self.headers.get_content_type()
        if kind == "multipart/form-data":
          head = ("Content-Type: " + self.headers["content-type"] + "\r\n\r\n").encode()
          message = email.parser.BytesParser().parsebytes(head + body)
          assert message.is_multipart() and not message.defects, message.defects
          answer["parts"] = [self.part(part) for part in message.get_payload()]
        elif kind == "application/x-www-form-urlencoded":
          answer["pairs"] = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True)
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

      def part(self, part):
        raw = {name.lower(): value for name, value in part.raw_items()}["content-disposition"]
        disposition = email.message.Message()
        disposition["content-disposition"] = raw.encode("utf-8", "surrogateescape").decode("utf-8")
        content = part.get_payload(decode=True)
        return {
          "name": disposition.get_param("name", header="content-disposition"),
          "fileName": disposition.get_param("filename", header="content-disposition"),
          "type": part["content-type"],
          "content": content.decode() if len(content) < 1000 else hashlib.sha256(content).hexdigest(),
        }

      def log_message(self, *_): pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
    """#
}
