import Foundation
import MartletTesting

/// A gateway that speaks HTTP/2 over TLS, and HTTP/1.1 with a server behind it. It translates the extended CONNECT of a
/// WebSocket (RFC 8441) into an upgrade.
final class HTTP2Front: Sendable {
  private let folder: TemporaryFolder
  private let process: RealProcess

  enum Program: String, Sendable { case haproxy, nghttpx }

  init(_ program: Program, to server: Int, with authority: TestAuthority) throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free()
    let keys = authority.folder
    switch program {
    case .haproxy:
      let both = try Data(contentsOf: keys.file("server.pem")) + Data(contentsOf: keys.file("server.key"))
      try folder.write(both, to: "both.pem")
      let configuration = """
        defaults
          mode http
          timeout connect 5s
          timeout client 60s
          timeout server 60s
          timeout tunnel 600s
        frontend front
          bind 127.0.0.1:\(port) ssl crt \(folder.file("both.pem").path) alpn h2,http/1.1
          default_backend server
        backend server
          server server 127.0.0.1:\(server)

        """
      try folder.write(Data(configuration.utf8), to: "haproxy.cfg")
      process = try RealProcess("haproxy", ["-db", "-f", folder.file("haproxy.cfg").path], port: port)
    case .nghttpx:
      let arguments = [
        "--conf=/dev/null", "-f127.0.0.1,\(port)", "-b127.0.0.1,\(server)", "--workers=1",
        "--errorlog-file=\(folder.file("error.log").path)", keys.file("server.key").path, keys.file("server.pem").path,
      ]
      process = try RealProcess("nghttpx", arguments, port: port)
    }
  }

  var port: Int { process.port }
}
