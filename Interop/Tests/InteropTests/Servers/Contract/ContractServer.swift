import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// A foreign server in front of the contract's paths, over TLS:
///
/// | path | answer |
/// |---|---|
/// | `/hello` | `hello` |
/// | `/text` | 80,000 bytes of text, compressed with gzip |
/// | `/sink` | the size, SHA-256 and `X-Sum` trailer of the request's body; `?pace=slow` reads it with pauses |
/// | `/bytes` | 64 MiB; `?pace=slow` sends them with pauses, and without a length |
/// | `/early` | 403, without reading the request's body |
/// | `/small` | like `/sink`, but 413 for more than 1 MiB |
/// | `/trailers` | `body` and the trailer `X-Sum: 42` |
///
/// It requests a client certificate if it can. It closes connections that were idle for a second, and some connections
/// after ``requestLimit`` requests. It is started once per run, when a test first needs it.
struct ContractServer: Sendable {
  let name: String
  /// The Debian package or the Python package that contains it.
  let package: String
  /// The versions over which it ends a connection after ``requestLimit`` requests.
  var limitsRequests: [ContractRow.Version] = []
  /// Its missing features: the cases that need one have no row for this server.
  var lacks: [Lack] = []
  /// Its answer to a field of 100 kB.
  var largeField: [ContractRow.Version: LargeField] = [:]
  /// Starts it on a port, with the keys of an authority and the setting that all servers share.
  let start: @Sendable (_ port: Int, _ setting: ContractSetting) throws -> [RealProcess]

  static let requestLimit = 100

  /// The features that cases need. Every server has the other paths.
  enum Feature: Hashable, Sendable {
    case clientCertificate
    /// It answers before the body has arrived, over HTTP/1.1 and HTTP/2.
    case earlyAnswer
    /// It limits the bodies of one path only.
    case bodyLimit
    case compression
    case requestTrailers
    case responseTrailers
    /// It closes connections that were idle for a second.
    case idleLimit
    /// It accepts a body of unknown length.
    case lengthlessUpload
    /// It handles a field of 100 kB as described in ``largeField``.
    case largeField
    /// It ends connections after ``requestLimit`` requests.
    case requestLimit

  }

  struct Lack: Sendable {
    let feature: Feature
    let versions: [ContractRow.Version]
    let reason: String

    init(_ feature: Feature, over versions: [ContractRow.Version] = ContractRow.Version.allCases, _ reason: String) {
      (self.feature, self.versions, self.reason) = (feature, versions, reason)
    }
  }

  enum LargeField: Hashable, Sendable {
    case status(Int)
    /// The stream or the connection fails.
    case failure
    /// The head of an answer without a length arrives, and then the end of the connection without a close_notify.
    case cut(Int)
  }
}

/// A server and a version of HTTP.
struct ContractRow: Sendable, CustomTestStringConvertible {
  let server: ContractServer
  let version: Version

  enum Version: String, Sendable, CaseIterable {
    case http1 = "HTTP/1.1"
    case http2 = "HTTP/2"
  }

  func has(_ feature: ContractServer.Feature) -> Bool {
    !server.lacks.contains { $0.feature == feature && $0.versions.contains(version) }
  }

  var testDescription: String { "\(server.name), \(version.rawValue)" }

  /// The rows of the servers with a feature.
  static func rows(with feature: ContractServer.Feature? = nil) -> [ContractRow] {
    ContractServer.all.flatMap { server in
      Version.allCases.map { ContractRow(server: server, version: $0) }
    }.filter { row in feature.map(row.has) ?? true }
  }

  /// The rows of the servers that end connections after ``ContractServer/requestLimit`` requests.
  static var limited: [ContractRow] {
    rows(with: .requestLimit).filter { $0.server.limitsRequests.contains($0.version) }
  }
}

// MARK: - Running servers

/// The shared setting of the servers of a run.
struct ContractSetting: Sendable {
  let authority: TestAuthority
  let pattern: Pattern
  /// The port of the origin without TLS.
  let origin: Int
  /// A server's own folder.
  let folder: URL

  /// The folder of the keys: `server.pem`, `server.key`, `ca.pem`, and `both.pem` with certificate and key.
  var keys: String { authority.folder.url.path }
}

/// The servers that have been started in this run. They end with it.
final class RunningServers: Sendable {
  static let shared = RunningServers()
  private let ports = Mutex<[String: Result<Int, any Error>]>([:])
  private let processes = Mutex<[RealProcess]>([])
  private let folders = Mutex<[TemporaryFolder]>([])

  /// The data that all servers need, made with the first.
  let common = Result { try Common() }

  struct Common: Sendable {
    let authority: TestAuthority
    let pattern: Pattern
    let origin: Int
    fileprivate let process: RealProcess

    init() throws {
      authority = try TestAuthority()
      pattern = try Pattern(64 << 20)
      let folder = authority.folder
      let both = try ["server.pem", "server.key"].map { try Data(contentsOf: folder.file($0)) }
      try folder.write(both[0] + both[1], to: "both.pem")
      let port = try LocalPort.free()
      process = try RealProcess(
        GoOrigin.program.get(), ["-addr", "127.0.0.1:\(port)", "-body", pattern.file.path], port: port)
      origin = port
    }
  }

  /// Returns the port of a server, and starts the server if it is not running yet.
  func port(of server: ContractServer) throws -> Int {
    try ports.withLock { ports in
      let result = ports[server.name] ?? Result { try start(server) }
      ports[server.name] = result
      return try result.get()
    }
  }

  /// Another program may take the port before the server has it. Then the server is started once more, on another port.
  private func start(_ server: ContractServer) throws -> Int {
    let common = try common.get()
    let folder = try TemporaryFolder()
    // a server started by root serves as another user
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
    folders.withLock { $0.append(folder) }
    let setting = ContractSetting(
      authority: common.authority, pattern: common.pattern, origin: common.origin, folder: folder.url)
    var failure: any Error = RealServerError("\(server.name) was not started")
    for _ in 0..<2 {
      do {
        let port = try LocalPort.free()
        let started = try server.start(port, setting)
        processes.withLock { $0 += started }
        return port
      } catch { failure = error }
    }
    throw RealServerError(
      "\(server.name) cannot be started: is \(server.package) installed, as scripts/install-system-libraries interop "
        + "and scripts/interop do? \(failure)")
  }
}

extension ContractRow {
  /// The URL of a path. `localhost` is a name that can be sent in the handshake; an address is not.
  func url(_ path: String) throws -> URL {
    try #require(URL(string: "https://localhost:\(try RunningServers.shared.port(of: server))\(path)"))
  }

  var pattern: Pattern { get throws { try RunningServers.shared.common.get().pattern } }

  /// - Parameters:
  ///   - showsCertificate: whether the session has a certificate for a server that requests one.
  ///   - lifetime: the age at which connections are replaced.
  func session(
    showsCertificate: Bool = true, lifetime: Duration? = nil,
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> HTTPSession {
    let authority = try RunningServers.shared.common.get().authority
    let certificate = ClientCertificate.pkcs12(
      file: authority.folder.file("client.p12"), password: TestAuthority.password)
    let asks = showsCertificate && has(.clientCertificate)
    return makeSession(
      trusting: authority.certificate, certificate: asks ? certificate : nil,
      versions: version == .http1 ? .http1 : .automatic, lifetime: lifetime
    ) {
      $0.options.deadline = .seconds(120)  // for 64 MiB on a busy machine
      change(&$0)
    }
  }
}
