import Foundation
import Martlet
import MartletTesting

/// A realm of Kerberos on loopback: a key distribution centre (MIT's krb5kdc) that knows the users alice and robot, and
/// the service HTTP/localhost. The Kerberos library of this process uses it.
final class KerberosRealm: Sendable {
  static let name = "LOOP.EXAMPLE"
  /// One realm for all tests of a run.
  static let shared = Result { try KerberosRealm() }
  /// The programs and files that this machine lacks.
  static let missing = [
    "/usr/sbin/krb5kdc", "/usr/sbin/kadmin.local", "/usr/bin/kinit", "/usr/lib/apache2/modules/mod_auth_gssapi.so",
    "/usr/lib/squid/negotiate_kerberos_auth",
  ].filter { !FileManager.default.fileExists(atPath: $0) }

  let folder: TemporaryFolder
  /// Accepts connections, but does not answer: the key distribution centre of the realm SILENT.EXAMPLE.
  private let silentCentre: RealProcess
  private let process: RealProcess

  private init() throws {
    folder = try TemporaryFolder()
    let port = try LocalPort.free(), silentPort = try LocalPort.free(), root = folder.url.path
    silentCentre = try RealProcess("python3", ["-c", Self.silence, "\(silentPort)"], port: silentPort)
    // servers started by root serve as another user
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: root)
    try folder.write(Data(Self.configuration(port, silentPort).utf8), to: "krb5.conf")
    try folder.write(Data(Self.centre(port, root).utf8), to: "kdc.conf")
    // the tests of this package run one after another, and only they use Kerberos
    setenv("KRB5_CONFIG", folder.file("krb5.conf").path, 1)
    let environment = Self.environment(in: folder)
    try RealProcess.run(
      "env", environment + [try ChildProcess.path(of: "kdb5_util"), "create", "-s", "-P", "master"], in: folder.url)
    for query in [
      "addprinc -randkey alice", "addprinc -randkey robot", "addprinc -randkey HTTP/localhost",
      "ktadd -k \(root)/alice.keytab alice", "ktadd -k \(root)/robot.keytab robot",
      "ktadd -k \(root)/http.keytab HTTP/localhost",
    ] {
      try RealProcess.run(
        "env", environment + [try ChildProcess.path(of: "kadmin.local"), "-q", query], in: folder.url)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: root + "/http.keytab")
    process = try RealProcess(
      "env", environment + [try ChildProcess.path(of: "krb5kdc"), "-n"], port: port)
    let entry =
      #"printf 'addent -password -p robot@SILENT.EXAMPLE -k 1 -e aes256-cts\nx\nwkt silent.keytab\n' | ktutil"#
    try RealProcess.run("sh", ["-c", entry], in: folder.url)
  }

  /// The environment of programs that use the realm, in the form for `env`.
  var environment: [String] { Self.environment(in: folder) }

  /// The same for a server, which stores the tokens it has received in its own folder.
  func environment(ofServerIn folder: TemporaryFolder) -> [String] {
    environment + ["KRB5RCACHENAME=file2:\(folder.file("replays").path)"]
  }

  private static func environment(in folder: TemporaryFolder) -> [String] {
    let root = folder.url.path
    return ["KRB5_CONFIG=\(root)/krb5.conf", "KRB5_KDC_PROFILE=\(root)/kdc.conf"]
  }

  /// The key of the servers' service.
  var keytab: String { folder.file("http.keytab").path }

  /// The keytab of a user. `silent` is a user of the realm whose centre does not answer.
  func keytab(of user: String) -> String { folder.file("\(user).keytab").path }

  /// Gets a ticket for alice.
  ///
  /// - Parameter lifetime: in the form for kinit.
  /// - Returns: the name of its cache.
  func ticket(for lifetime: String = "1h") throws -> String {
    let cache = "FILE:\(folder.file("alice-\(UUID())").path)"
    try RealProcess.run(
      "env", environment + ["kinit", "-k", "-t", keytab(of: "alice"), "-l", lifetime, "-c", cache, "alice"],
      in: folder.url)
    return cache
  }

  private static let silence = """
    import socket, sys
    listener, held = socket.create_server(("127.0.0.1", int(sys.argv[1]))), []
    while True: held.append(listener.accept())
    """

  private static func configuration(_ port: Int, _ silent: Int) -> String {
    """
    [libdefaults]
      default_realm = \(name)
      dns_lookup_kdc = false
      dns_lookup_realm = false
      dns_canonicalize_hostname = false
      rdns = false
      udp_preference_limit = 1
    [realms]
      \(name) = {
        kdc = 127.0.0.1:\(port)
      }
      SILENT.EXAMPLE = {
        kdc = 127.0.0.1:\(silent)
      }
    [domain_realm]
      localhost = \(name)
      .loop.example = \(name)
      .other.example = OTHER.EXAMPLE
    """
  }

  private static func centre(_ port: Int, _ root: String) -> String {
    """
    [kdcdefaults]
      kdc_listen = 127.0.0.1:\(port)
      kdc_tcp_listen = 127.0.0.1:\(port)
    [realms]
      \(name) = {
        database_name = \(root)/principal
        key_stash_file = \(root)/stash
        acl_file = \(root)/acl
        max_life = 1h
      }
    """
  }
}
