import Foundation
import MartletTesting

/// squid as a proxy that requires credentials, Basic, Digest or Negotiate, with its own helpers.
final class Squid: Sendable {
  private let folder: TemporaryFolder
  private let process: RealProcess

  /// The scheme of the proxy's challenge.
  enum Scheme: String, Sendable, CaseIterable {
    case none
    case basic
    case digest
  }

  static let user = "anna"
  static let password = "correct horse"

  init(_ scheme: Scheme) throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free()
    // The helper requires a hash of crypt(3): openssl passwd -1
    try folder.write(Data("anna:$1$interop$769F12/cAw4NPFr4ftbf71\n".utf8), to: "users")
    try folder.write(Data("anna:interop:470c1e920ead533cb8207048b1ad8244\n".utf8), to: "digests")
    let configuration = Self.configuration(Self.question(scheme, folder.url.path), port, folder.url.path)
    process = try Self.start(configuration, in: folder, port: port)
  }

  /// Admits the users of a Kerberos realm, and returns their names in the `X-User` field of plain requests.
  init(_ realm: KerberosRealm) throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free()
    let question = """
      auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -k \(realm.keytab) -s HTTP/localhost@\(KerberosRealm.name)
      auth_param negotiate children 4 startup=1
      auth_param negotiate keep_alive on
      request_header_add X-User "%ul"
      """
    let configuration = Self.configuration(question, port, folder.url.path)
    process = try Self.start(configuration, in: folder, port: port, environment: realm.environment(ofServerIn: folder))
  }

  var port: Int { process.port }

  /// The proxy's log of its requests.
  func log() throws -> String { try String(contentsOf: folder.file("access.log"), encoding: .utf8) }

  private static func start(
    _ configuration: String, in folder: TemporaryFolder, port: Int, environment: [String] = []
  ) throws -> RealProcess {
    try folder.write(Data(configuration.utf8), to: "squid.conf")
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
    let squid = try ChildProcess.path(of: "squid")
    return try RealProcess("env", environment + [squid, "-N", "-f", folder.file("squid.conf").path], port: port)
  }

  private static func question(_ scheme: Scheme, _ root: String) -> String {
    switch scheme {
    case .none: ""
    case .basic:
      """
      auth_param basic program /usr/lib/squid/basic_ncsa_auth \(root)/users
      auth_param basic children 2
      auth_param basic realm interop
      """
    case .digest:
      """
      auth_param digest program /usr/lib/squid/digest_file_auth -c \(root)/digests
      auth_param digest children 2
      auth_param digest realm interop
      """
    }
  }

  private static func configuration(_ question: String, _ port: Int, _ root: String) -> String {
    """
    http_port 127.0.0.1:\(port)
    visible_hostname interop
    pid_filename none
    access_log stdio:\(root)/access.log
    cache_log \(root)/cache.log
    cache_mem 8 MB
    cache deny all
    netdb_filename none
    pinger_enable off
    shutdown_lifetime 0 seconds
    coredump_dir \(root)
    \(question)
    \(question.isEmpty ? "" : "acl known proxy_auth REQUIRED")
    http_access allow \(question.isEmpty ? "all" : "known")
    http_access deny all
    """
  }
}
