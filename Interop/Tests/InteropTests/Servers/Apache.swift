import Foundation
import Martlet
import MartletTesting

/// Apache's httpd: its own Basic and Digest, TLS with HTTP/2 and client certificates, WebDAV for uploads, compression.
final class Apache: Sendable {
  let authority: TestAuthority
  let folder: TemporaryFolder
  private let process: RealProcess
  private let ports: Ports

  private struct Ports: Sendable {
    let plain: Int
    let tls: Int
    let client: Int
    let partial: Int
    let old: Int
  }

  /// One server for all tests of a run.
  static let shared = Result { try Apache() }

  static let user = "anna"
  static let password = "correct horse"

  init() throws {
    authority = try TestAuthority()
    folder = try TemporaryFolder()
    ports = Ports(
      plain: try LocalPort.free(), tls: try LocalPort.free(), client: try LocalPort.free(),
      partial: try LocalPort.free(), old: try LocalPort.free())
    for name in ["", "files", "files/basic", "files/digest", "files/dav", "files/known", "files/asked", "locks"] {
      let place = folder.file(name)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      // A server started by root serves as another user.
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place.path)
    }
    try folder.write(Data("hello".utf8), to: "files/hello.txt")
    // A file that has just changed has a weak entity tag, which does not allow ranges.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: folder.file("files/hello.txt").path)
    for name in ["files/known/file.txt", "files/asked/file.txt"] { try folder.write(Data("hello".utf8), to: name) }
    try folder.write(Data("secret".utf8), to: "files/basic/secret.txt")
    try folder.write(Data("secret".utf8), to: "files/digest/secret.txt")
    try folder.write(Data(String(repeating: "martlet ", count: 10_000).utf8), to: "files/long.txt")
    try folder.write(Data("text/plain txt\n".utf8), to: "types")
    // SHA-1 of the password, and MD5 of "user:realm:password"
    try folder.write(Data("anna:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=\n".utf8), to: "users")
    try folder.write(Data("anna:interop:470c1e920ead533cb8207048b1ad8244\n".utf8), to: "digests")
    try folder.write(Data(Self.configuration(ports, folder.url.path, authority.folder.url.path).utf8), to: "httpd.conf")
    process = try RealProcess("apache2", ["-X", "-f", folder.file("httpd.conf").path], port: ports.plain)
  }

  func plain(_ path: String) -> URL { url("http", ports.plain, path) }
  func tls(_ path: String) -> URL { url("https", ports.tls, path) }
  /// A URL that requires a client certificate.
  func client(_ path: String) -> URL { url("https", ports.client, path) }

  /// A URL on a server that requires a client certificate for `/known/`, and asks for one for `/asked/`.
  func partial(_ path: String) -> URL { url("https", ports.partial, path) }
  /// The same on a server with TLS 1.2.
  func old(_ path: String) -> URL { url("https", ports.old, path) }

  private func url(_ scheme: String, _ port: Int, _ path: String) -> URL {
    URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? folder.url
  }

  private static let modules = [
    "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "mime", "dir",
    "ssl", "socache_shmcb", "http2", "dav", "dav_fs", "deflate", "filter", "headers", "alias",
  ]

  /// Returns the beginning of every configuration: all files in one folder, and these modules.
  static func basics(in root: String, named name: String, with modules: [String]) -> String {
    """
    ServerRoot \(root)
    ServerName \(name)
    PidFile \(root)/httpd.pid
    DefaultRuntimeDir \(root)
    Mutex pthread
    ErrorLog \(root)/error.log
    User www-data
    Group www-data
    \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
    """
  }

  private static func configuration(_ ports: Ports, _ root: String, _ keys: String) -> String {
    let tls = "SSLEngine on\n  SSLCertificateFile \(keys)/server.pem\n  SSLCertificateKeyFile \(keys)/server.key"
    return """
      \(basics(in: root, named: "127.0.0.1", with: modules))
      Listen 127.0.0.1:\(ports.plain)
      Listen 127.0.0.1:\(ports.tls)
      Listen 127.0.0.1:\(ports.client)
      Listen 127.0.0.1:\(ports.partial)
      Listen 127.0.0.1:\(ports.old)
      Protocols h2 http/1.1
      TypesConfig \(root)/types
      AddOutputFilterByType DEFLATE text/plain
      DocumentRoot \(root)/files
      DavLockDB \(root)/locks/db
      <Directory \(root)/files>
        Require all granted
      </Directory>
      <Location /basic>
        AuthType Basic
        AuthName interop
        AuthUserFile \(root)/users
        Require valid-user
      </Location>
      <Location /digest>
        AuthType Digest
        AuthName interop
        AuthDigestProvider file
        AuthUserFile \(root)/digests
        AuthDigestDomain /digest
        Require valid-user
      </Location>
      <Location /dav>
        Dav On
      </Location>
      Redirect permanent /moved /hello.txt
      <VirtualHost 127.0.0.1:\(ports.tls)>
        \(tls)
      </VirtualHost>
      <VirtualHost 127.0.0.1:\(ports.client)>
        \(tls)
        SSLCACertificateFile \(keys)/ca.pem
        SSLVerifyClient require
        Header always set X-Client "%{SSL_CLIENT_S_DN_CN}s"
      </VirtualHost>
      \(partial(ports.partial, "\(tls)\n  SSLProtocol TLSv1.3", keys))
      \(partial(ports.old, "\(tls)\n  SSLProtocol TLSv1.2", keys))
      """
  }

  /// Returns a server that asks for a client certificate when it knows the path.
  private static func partial(_ port: Int, _ tls: String, _ keys: String) -> String {
    """
    <VirtualHost 127.0.0.1:\(port)>
      \(tls)
      SSLCACertificateFile \(keys)/ca.pem
      Header always set X-Client "%{SSL_CLIENT_S_DN_CN}s"
      <Location /known>
        SSLVerifyClient require
      </Location>
      <Location /asked>
        SSLVerifyClient optional
      </Location>
    </VirtualHost>
    """
  }
}
