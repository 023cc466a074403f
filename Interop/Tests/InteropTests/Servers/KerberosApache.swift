import Foundation
import Martlet
import MartletTesting

/// Apache's httpd with mod_auth_gssapi: it admits users of a realm, and returns their names in `X-User`.
final class KerberosApache: Sendable {
  private let folder: TemporaryFolder
  private let process: RealProcess

  init(_ realm: KerberosRealm) throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free(), root = folder.url.path
    for name in ["", "files"] {
      let place = folder.file(name)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place.path)
    }
    try folder.write(Data("hello".utf8), to: "files/hello.txt")
    try folder.write(Data(Self.configuration(port, root, realm.keytab).utf8), to: "httpd.conf")
    process = try RealProcess(
      "env",
      realm.environment(ofServerIn: folder) + [
        try ChildProcess.path(of: "apache2"), "-X", "-f", folder.file("httpd.conf").path,
      ],
      port: port)
  }

  /// The URL of a path at a host, which must resolve to 127.0.0.1.
  func url(_ path: String, host: String = "localhost") -> URL {
    URL(string: "http://\(host):\(process.port)\(path)") ?? folder.url
  }

  private static let modules = [
    "mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "headers", "alias",
  ]

  private static func configuration(_ port: Int, _ root: String, _ keytab: String) -> String {
    """
    \(Apache.basics(in: root, named: "localhost", with: modules))
    Listen 127.0.0.1:\(port)
    DocumentRoot \(root)/files
    <Directory \(root)/files>
      AuthType GSSAPI
      AuthName interop
      GssapiCredStore keytab:\(keytab)
      GssapiAllowedMech krb5
      Require valid-user
      Header set X-User expr=%{REMOTE_USER}
    </Directory>
    Redirect /away http://127.0.0.1:\(port)/hello.txt
    """
  }
}
