import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// A server as it is deployed: over http and https on an address of its own, with keys that change while it runs.
///
/// | path over https | answer |
/// |---|---|
/// | `/name` | the name of this server |
/// | `/long` | 8 MB |
/// | `/events` | numbered events of the service behind it, or of its own if it is Hypercorn |
///
/// All have a `Strict-Transport-Security` of a year. Over http, it redirects to https on port 443. `X-Issuer` has the
/// issuer of the client certificate; Hypercorn does not know it.
final class DeployedServer: Sendable {
  enum Program: String, Sendable, CaseIterable {
    case nginx
    case apache = "Apache"
    case hypercorn = "Hypercorn"
  }

  /// What distinguishes one server from another.
  struct Setting: Sendable {
    var address = "127.0.0.1"
    /// The ports of http and https.
    var ports: (http: Int, https: Int)
    /// The name in its answers.
    var name = "one"
    /// The folder of `server.pem`, `server.key` and `ca.pem`.
    var keys: URL
    /// Whether clients need a certificate of `ca.pem`.
    var requiresCertificate = false
    /// The port of the service to which it forwards `/events`.
    var service: Int?

    init(keys: URL, at ports: (http: Int, https: Int)? = nil) throws {
      self.keys = keys
      self.ports = try ports ?? (http: LocalPort.free(), https: LocalPort.free())
    }
  }

  static let longCount = 8_000_000

  let program: Program
  let setting: Setting
  /// A port on 127.0.0.1 for http, whatever the setting's address is.
  let innerPort: Int
  private let folder: TemporaryFolder
  private let process: Mutex<RealProcess?>

  init(_ program: Program, _ setting: Setting) throws {
    (self.program, self.setting) = (program, setting)
    innerPort = try LocalPort.free()
    folder = try TemporaryFolder()
    try folder.write(Data(setting.name.utf8), to: "files/name")
    try folder.write(Data(count: Self.longCount), to: "files/long")
    for name in ["", "files"] {
      // A server started by root serves as another user.
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.file(name).path)
    }
    switch program {
    case .nginx: try folder.write(Data(Self.nginx(setting, innerPort, folder.url.path).utf8), to: "nginx.conf")
    case .apache: try folder.write(Data(Self.apache(setting, innerPort, folder.url.path).utf8), to: "httpd.conf")
    case .hypercorn: break
    }
    process = Mutex(nil)
    try start()
  }

  /// Starts it, again if it was stopped. Returns when it answers.
  func start() throws {
    let started: RealProcess
    switch program {
    case .nginx: started = try RealProcess("nginx", nginxArguments, port: innerPort)
    case .apache: started = try RealProcess("apache2", ["-DFOREGROUND"] + apacheArguments, port: innerPort)
    case .hypercorn: started = try RealProcess("env", hypercornArguments(), port: innerPort)
    }
    process.withLock { $0 = started }
  }

  /// Kills it, and returns when it no longer answers.
  func stop() async throws {
    process.withLock { $0 = nil }
    try await until { !LocalPort.answers(innerPort) }
  }

  /// Lets it read its keys again. Connections that are open end their requests; only Hypercorn has to be restarted.
  func reload() async throws {
    switch program {
    case .nginx: try RealProcess.run("nginx", nginxArguments + ["-s", "reload"], in: folder.url)
    case .apache: try RealProcess.run("apache2", apacheArguments + ["-k", "graceful"], in: folder.url)
    case .hypercorn:
      try await stop()
      try start()
    }
  }

  /// Lets Hypercorn's `/events` answer with this status; with events if it is nil.
  func refuseEvents(_ status: HTTPStatus?) throws {
    guard let status else { return try FileManager.default.removeItem(at: folder.file("files/refusal")) }
    try Data("\(status.code)".utf8).write(to: folder.file("files/refusal"), options: .atomic)
  }

  // MARK: Configurations

  private var nginxArguments: [String] { ["-p", folder.url.path, "-c", "nginx.conf", "-e", "error.log"] }
  private var apacheArguments: [String] { ["-f", folder.file("httpd.conf").path] }

  private func hypercornArguments() throws -> [String] {
    let keys = setting.keys.path
    let app = URL(filePath: ServerProgram.path("deployed.py")).deletingLastPathComponent().path
    let required = ["--ca-certs", "\(keys)/ca.pem", "--verify-mode", "CERT_REQUIRED"]
    return [
      "PYTHONPATH=\(app)", "PYTHONDONTWRITEBYTECODE=1", "FILES=\(folder.file("files").path)", try Python.path(), "-m",
      "hypercorn", "-b", "\(setting.address):\(setting.ports.https)", "--insecure-bind",
      "\(setting.address):\(setting.ports.http)", "--insecure-bind", "127.0.0.1:\(innerPort)", "--certfile",
      "\(keys)/server.pem", "--keyfile", "\(keys)/server.key",
    ] + (setting.requiresCertificate ? required : []) + ["deployed:app"]
  }

  private static func nginx(_ setting: Setting, _ innerPort: Int, _ root: String) -> String {
    let keys = setting.keys.path
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(root)/\($0);" }
    let verifies = setting.requiresCertificate ? "ssl_client_certificate \(keys)/ca.pem; ssl_verify_client on;" : ""
    let events = setting.service.map { service in
      """
      location /events {
        proxy_pass http://127.0.0.1:\(service); proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 1s;
      }
      """
    }
    return """
      daemon off; worker_processes 1; user root; pid \(root)/pid; error_log \(root)/error.log;
      events { worker_connections 512; }
      http {
        access_log off; default_type text/plain; \(temporary.joined(separator: " "))
        server {
          listen \(setting.address):\(setting.ports.http); listen 127.0.0.1:\(innerPort);
          return 301 https://$host$request_uri;
        }
        server {
          listen \(setting.address):\(setting.ports.https) ssl http2; root \(root)/files;
          ssl_certificate \(keys)/server.pem; ssl_certificate_key \(keys)/server.key; \(verifies)
          add_header Strict-Transport-Security max-age=31536000 always; add_header X-Issuer $ssl_client_i_dn always;
          \(events ?? "")
        }
      }
      """
  }

  private static func apache(_ setting: Setting, _ innerPort: Int, _ root: String) -> String {
    let keys = setting.keys.path
    let modules = [
      "mpm_event", "authz_core", "mime", "ssl", "socache_shmcb", "http2", "headers", "rewrite", "proxy", "proxy_http",
    ]
    let verifies = setting.requiresCertificate ? "SSLCACertificateFile \(keys)/ca.pem\nSSLVerifyClient require" : ""
    let events = setting.service.map {
      "ProxyPass /events http://127.0.0.1:\($0)/events retry=0 timeout=1 flushpackets=on"
    }
    let places = ["127.0.0.1:\(innerPort)", "\(setting.address):\(setting.ports.http)"]
    return """
      \(Apache.basics(in: root, named: "127.0.0.1", with: modules))
      \(places.map { "Listen \($0)" }.joined(separator: "\n"))
      Listen \(setting.address):\(setting.ports.https)
      Protocols h2 http/1.1
      StartServers 1
      TypesConfig /dev/null
      DocumentRoot \(root)/files
      <Directory \(root)/files>
        Require all granted
      </Directory>
      <VirtualHost \(places.joined(separator: " "))>
        RewriteEngine on
        RewriteRule ^ https://%{SERVER_NAME}%{REQUEST_URI} [R=301,L]
        UseCanonicalName Off
      </VirtualHost>
      <VirtualHost \(setting.address):\(setting.ports.https)>
        SSLEngine on
        SSLCertificateFile \(keys)/server.pem
        SSLCertificateKeyFile \(keys)/server.key
        \(verifies)
        Header always set Strict-Transport-Security max-age=31536000
        Header always set X-Issuer "%{SSL_CLIENT_I_DN}s"
        \(events ?? "")
      </VirtualHost>
      """
  }
}

// MARK: - Clients

/// A program and a version of HTTP over which it is used.
struct DeployedRow: Sendable, CustomTestStringConvertible {
  let program: DeployedServer.Program
  let versions: ConnectionConfiguration.Versions

  static let all = DeployedServer.Program.allCases.flatMap { program in
    [ConnectionConfiguration.Versions.http1, .automatic].map { DeployedRow(program: program, versions: $0) }
  }

  var testDescription: String { "\(program.rawValue), \(versions == .http1 ? "HTTP/1.1" : "HTTP/2")" }
}

/// Returns a session that sends every request. Responses with the age of a file would be served from its cache.
func uncachedSession(
  _ transport: SocketTransport, _ change: (inout SessionConfiguration) -> Void = { _ in }
) -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.cache = nil
  change(&configuration)
  return HTTPSession(transport: transport, configuration: configuration)
}

/// The keys of authorities that replace one another, in a folder that servers and clients read.
struct ChangingKeys: Sendable {
  static let authorities = Result { try (0..<2).map { _ in try TestAuthority() } }

  let authorities: [TestAuthority]
  let folder: TemporaryFolder

  /// The certificates of servers: `server` for `localhost`, or `stranger` for `stranger.invalid`.
  private let served: String

  /// Begins with the keys of the first authority.
  init(serving served: String = "server") throws {
    self.served = served
    authorities = try Self.authorities.get()
    folder = try TemporaryFolder()
    for name in ["server", "client"] { try replace(name, by: 0) }
    try trust(0...0)
  }

  /// Replaces the certificate and the key of the `server` or the `client` by those of an authority.
  func replace(_ name: String, by number: Int) throws {
    let source = name == "server" ? served : name
    for type in ["pem", "key"] { try write(try content("\(source).\(type)", of: number), to: "\(name).\(type)") }
  }

  /// Replaces the trusted authorities.
  func trust(_ numbers: ClosedRange<Int>) throws {
    try write(try numbers.map { try content("ca.pem", of: $0) }.reduce(Data(), +), to: "ca.pem")
  }

  func content(_ file: String, of number: Int) throws -> Data {
    try Data(contentsOf: authorities[number].folder.file(file))
  }

  private func write(_ data: Data, to name: String) throws {
    try data.write(to: folder.file(name), options: .atomic)
  }
}
