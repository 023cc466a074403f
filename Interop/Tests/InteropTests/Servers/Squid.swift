import Foundation
import MartletTesting

/// squid as a proxy that wants credentials, Basic or Digest, with the helpers that come with it.
final class Squid: Sendable {
  private let folder: TemporaryFolder
  private let process: RealProcess

  /// How the proxy asks.
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
    // The helper wants a hash of crypt(3): openssl passwd -1
    try folder.write(Data("anna:$1$interop$769F12/cAw4NPFr4ftbf71\n".utf8), to: "users")
    try folder.write(Data("anna:interop:470c1e920ead533cb8207048b1ad8244\n".utf8), to: "digests")
    try folder.write(Data(Self.configuration(scheme, port, folder.url.path).utf8), to: "squid.conf")
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
    process = try RealProcess("squid", ["-N", "-f", folder.file("squid.conf").path], port: port)
  }

  var port: Int { process.port }

  private static func configuration(_ scheme: Scheme, _ port: Int, _ root: String) -> String {
    let question =
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
    return """
      http_port 127.0.0.1:\(port)
      visible_hostname interop
      pid_filename none
      access_log none
      cache_log \(root)/cache.log
      cache_mem 8 MB
      cache deny all
      netdb_filename none
      pinger_enable off
      shutdown_lifetime 0 seconds
      coredump_dir \(root)
      \(question)
      \(scheme == .none ? "" : "acl known proxy_auth REQUIRED")
      http_access allow \(scheme == .none ? "all" : "known")
      http_access deny all
      """
  }
}
