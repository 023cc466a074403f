import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// Servers and clients whose certificates and authorities are replaced while both run.
@Suite("Deployments: keys that are replaced", .timeLimit(.minutes(3)))
struct RotatedKeysTests {
  private let keys: ChangingKeys

  init() throws { keys = try ChangingKeys() }

  private func server(_ program: DeployedServer.Program) throws -> DeployedServer {
    var setting = try DeployedServer.Setting(keys: keys.folder.url)
    setting.requiresCertificate = true
    return try DeployedServer(program, setting)
  }

  private func url(_ path: String, at server: DeployedServer) throws -> URL {
    try #require(URL(string: "https://localhost:\(server.setting.ports.https)\(path)"))
  }

  /// A session with the files of the folder.
  private func session(
    _ row: DeployedRow, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.versions = row.versions
    connection.tls.authorities = keys.folder.file("ca.pem")
    connection.tls.clientCertificate = .pem(
      certificate: keys.folder.file("client.pem"), key: keys.folder.file("client.key"))
    change(&connection)
    return uncachedSession(SocketTransport(connection))
  }

  /// Returns when new connections to the server get the certificate of one authority, and may show that of another. A
  /// former process of the server may accept some connections after the first ones of its successor.
  private func wait(
    for server: DeployedServer, toHave served: Int, andAccept accepted: Int, _ row: DeployedRow
  ) async throws {
    let request = HTTPRequest(.get, try url("/name", at: server))
    let pair = try (keys.content("client.pem", of: accepted), keys.content("client.key", of: accepted))
    let authority = keys.authorities[served].certificate
    var inARow = 0
    try await until {
      let session = session(row) {
        $0.tls.authorities = authority
        $0.tls.clientCertificate = .pem(certificate: pair.0, key: pair.1)
      }
      inARow = (try? await session.status(request)) == .ok ? inARow + 1 : 0
      return inARow == 20
    }
  }

  /// The number of the authority that issued the certificate with which a request was made.
  private func issuer(_ response: HTTPResponse) throws -> Int? {
    let issuer = try #require(response.fields["X-Issuer"])
    return keys.authorities.firstIndex { issuer.contains($0.name) }
  }

  /// As SPIRE and cert-manager do it: first both sides trust the old and the new authority, then both have certificates
  /// of the new one, then they trust only that.
  @Test(arguments: DeployedRow.all.filter { $0.program != .hypercorn })
  func noRequestFailsWhileAnAuthorityIsReplaced(row: DeployedRow) async throws {
    let server = try server(row.program)
    let session = session(row) { $0.connectionLifetime = .milliseconds(50) }
    let request = HTTPRequest(.get, try url("/name", at: server))
    let callers = Callers()
    let counts = Task { try await callers.run(4) { try await session.status(request) == .ok } }
    defer { callers.isOver.store(true, ordering: .relaxed) }

    try keys.trust(0...1)
    try await server.reload()
    try await wait(for: server, toHave: 0, andAccept: 1, row)
    for name in ["server", "client"] { try keys.replace(name, by: 1) }
    try await server.reload()
    try await wait(for: server, toHave: 1, andAccept: 1, row)
    try await until { try issuer(try await session.data(for: request).1) == 1 }
    await session.drainConnections()  // others may still have the former certificate
    try keys.trust(1...1)
    try await server.reload()
    try await wait(for: server, toHave: 1, andAccept: 1, row)

    callers.isOver.store(true, ordering: .relaxed)
    let (succeeded, failed) = try await counts.value
    #expect(failed == 0 && succeeded > 0, "\(succeeded) succeeded, \(failed) failed")
  }

  /// Callers that send one request after another until it is over.
  private final class Callers: Sendable {
    let isOver = Atomic(false)

    func run(
      _ count: Int, _ succeeds: @escaping @Sendable () async throws -> Bool
    ) async throws -> (succeeded: Int, failed: Int) {
      try await withThrowingTaskGroup(of: (Int, Int).self) { group in
        for _ in 0..<count {
          group.addTask {
            var (succeeded, failed) = (0, 0)
            while !self.isOver.load(ordering: .relaxed) {
              if try await succeeds() { succeeded += 1 } else { failed += 1 }
            }
            return (succeeded, failed)
          }
        }
        return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
      }
    }
  }

  @Test(arguments: DeployedRow.all)
  func afterTheReplacementConnectionsHaveTheNewKeys(row: DeployedRow) async throws {
    let server = try server(row.program)
    let request = HTTPRequest(.get, try url("/name", at: server))
    let first = try (keys.content("client.pem", of: 0), keys.content("client.key", of: 0))
    let unchanged = self.session(row) { $0.tls.clientCertificate = .pem(certificate: first.0, key: first.1) }
    let session = self.session(row)
    for session in [unchanged, session] { #expect(try await session.status(request) == .ok) }
    let long = try await session.bytes(for: HTTPRequest(.get, url("/long", at: server))).0

    for name in ["server", "client"] { try keys.replace(name, by: 1) }
    try keys.trust(1...1)
    try await server.reload()
    try await wait(for: server, toHave: 1, andAccept: 1, row)
    for session in [unchanged, session] { await session.drainConnections() }
    let response = try await session.data(for: request).1

    #expect(response.status == .ok)
    if row.program != .hypercorn {
      #expect(try issuer(response) == 1)
      #expect(try await long.collect(upTo: DeployedServer.longCount).count == DeployedServer.longCount)
    }
    // nginx completes the handshake, and refuses the request
    do { #expect(try await unchanged.status(request) == .badRequest) } catch {
      #expect(error.isTLSFailure || error.kind == .connectionLost, "\(error)")
    }
  }

  /// The certificate is there before its key, and both before the authority.
  @Test(arguments: DeployedRow.all)
  func halfOfAReplacementChangesNothing(row: DeployedRow) async throws {
    let server = try server(row.program)
    let session = session(row)
    let request = HTTPRequest(.get, try url("/name", at: server))
    #expect(try await session.status(request) == .ok)

    try keys.content("client.pem", of: 1).write(to: keys.folder.file("client.pem"))
    await session.drainConnections()

    #expect(try await session.status(request) == .ok)
  }
}
