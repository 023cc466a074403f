#if os(Linux)
import Foundation
import MartletTesting

/// A Python server that requests client certificates of its own authority.
final class PythonTLS: Sendable {
  let url: URL
  private let folder: TemporaryFolder
  private let program: PythonProgram

  init() throws {
    folder = try TemporaryFolder()
    program = try PythonProgram(Self.script, in: folder.url)
    url = URL(string: "https://127.0.0.1:\(try program.port())/") ?? folder.url
  }

  func file(_ name: String) -> URL { folder.file(name) }

  private static let script = #"""
    import ssl, subprocess

    def run(command): subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for ca in ["ca", "other"]:
      run(f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {ca}.key -out {ca}.pem -days 2 -subj /CN={ca}")
    for name, ca, more in [("server", "ca", "IP:127.0.0.1"), ("good", "ca", "email:a@example.invalid"), ("bad", "other", "email:a@example.invalid")]:
      with open(f"{name}.ext", "w") as file: file.write(f"subjectAltName={more}\n")
      run(f"openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}")
      run(f"openssl x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -out {name}.pem -days 2 -extfile {name}.ext")
      run(f"openssl pkcs12 -export -in {name}.pem -inkey {name}.key -out {name}.p12 -passout pass:")
    with open("broken.p12", "w") as file: file.write("nonsense")

    class Names(Handler):
      def do_GET(self):
        subject = dict(item for part in self.connection.getpeercert()["subject"] for item in part)
        self.reply(200, subject["commonName"].encode())

    class TLSServer(Server):
      def finish_request(self, request, address):
        connection = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        try: connection.do_handshake()
        except OSError:  # what comes is read to its end, so that the alert is not lost
          while os.read(connection.fileno(), 65536): pass
          return connection.close()
        try: super().finish_request(connection, address)
        except OSError: pass

      def handle_error(self, request, address): pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.pem", "server.key")
    context.load_verify_locations("ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    serve(Names, TLSServer)
    """#
}
#endif
