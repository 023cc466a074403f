#if os(Linux)
import Foundation
import MartletTesting

/// Servers with Python's standard library and TLS. openssl makes the authority of their certificates for this run. Each
/// responds with the properties of the connection, and counts requests.
final class PythonTLSServer: Sendable {
  /// The special behaviour of a server.
  enum Kind: String, Sendable, CaseIterable {
    /// Nothing.
    case good
    /// It speaks TLS 1.2 at most.
    case old
    /// It requests a client certificate of the same authority.
    case client
    /// Its certificate has expired.
    case expired
    /// Its certificate is for another host.
    case stranger
  }

  /// A server's data about itself.
  struct Report: Decodable, Sendable, Equatable {
    /// The version of TLS.
    let version: String
    /// The name in the client's certificate.
    let client: String
    /// The connections with a successful handshake, including this one.
    let connections: Int
    /// The connections that are open.
    let open: Int
    /// The requests, including this one.
    let requests: Int
  }

  private let folder: TemporaryFolder
  private let program: PythonProgram
  private let ports: [String: Int]

  init() throws {
    folder = try TemporaryFolder()
    program = try PythonProgram(Self.script, in: folder.url)
    guard let ports = try? JSONDecoder().decode([String: Int].self, from: Data(program.firstLine.utf8)) else {
      throw TestFailure(name: "python3 gives no ports, but '\(program.firstLine)'")
    }
    self.ports = ports
  }

  /// The authority's certificate.
  var authority: URL { folder.file("ca.pem") }

  /// One of the generated files: `client.pem`, `client.key`.
  func file(_ name: String) -> URL { folder.file(name) }

  func port(_ kind: Kind) -> Int { ports[kind.rawValue] ?? 0 }

  func url(_ kind: Kind) -> URL { URL(string: "https://127.0.0.1:\(port(kind))/") ?? folder.url }

  /// The certificate of the valid server in DER, and the pin of its key, from openssl.
  func certificate() throws -> (der: Data, pin: String) {
    let pin = try String(contentsOf: folder.file("good.pin"), encoding: .utf8)
    return (try Data(contentsOf: folder.file("good.der")), pin.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private static let script = #"""
    import json, ssl, subprocess

    def shell(command): subprocess.run(command, shell=True, check=True, capture_output=True)

    def issue(name, names, days=2):
      with open(name + ".ext", "w") as file: file.write("subjectAltName=" + names + "\n")
      shell(f"openssl req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}")
      shell(f"openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem"
        f" -days {days} -extfile {name}.ext")

    shell("openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=PrivateAuthority")
    issue("good", "IP:127.0.0.1")
    issue("expired", "IP:127.0.0.1", days=-1)
    issue("stranger", "DNS:stranger.invalid")
    issue("client", "email:anna@example.invalid")
    shell("openssl x509 -in good.pem -outform der -out good.der")
    shell("openssl x509 -pubkey -noout -in good.pem | openssl pkey -pubin -outform der"
      " | openssl dgst -sha256 -binary | base64 > good.pin")

    class TLSServer(Server):
      def __init__(self, context):
        super().__init__(("127.0.0.1", 0), Reports)
        self.context, self.lock = context, threading.Lock()
        self.connections, self.open, self.requests = 0, 0, 0

      def finish_request(self, request, address):
        try: connection = self.context.wrap_socket(request, server_side=True)
        except (ssl.SSLError, OSError): return
        with self.lock:
          self.connections += 1
          self.open += 1
        try: super().finish_request(connection, address)
        except (ssl.SSLError, OSError): pass
        finally:
          connection.close()
          with self.lock: self.open -= 1

    class Reports(Handler):
      def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
          self.server.requests += 1
          connections, open, requests = self.server.connections, self.server.open, self.server.requests
        subject = dict(pair[0] for pair in (self.connection.getpeercert() or {}).get("subject", ()))
        self.reply(200, json.dumps({
          "version": self.connection.version(), "client": subject.get("commonName", ""),
          "connections": connections, "open": open, "requests": requests}).encode())

      do_POST = do_GET

    def start(name, certificate="good"):
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(certificate + ".pem", certificate + ".key")
      if name == "old": context.maximum_version = ssl.TLSVersion.TLSv1_2
      if name == "client":
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations("ca.pem")
      server = TLSServer(context)
      threading.Thread(target=server.serve_forever, daemon=True).start()
      return server.server_address[1]

    ports = {name: start(name) for name in ("good", "old", "client")}
    ports.update({name: start(name, name) for name in ("expired", "stranger")})
    print(json.dumps(ports))
    threading.Event().wait()
    """#
}
#endif
