import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// A name that moves to another server while a session sends requests to it.
@Suite("Deployments: names that move", .timeLimit(.minutes(2)))
struct MovedNameTests {
  /// The address of the name.
  private final class NameService: Sendable {
    private let address = Mutex("")

    func point(to server: DeployedServer) { address.withLock { $0 = server.setting.address } }

    func session(_ row: DeployedRow, _ keys: ChangingKeys, lifetime: Duration?) -> HTTPSession {
      var connection = ConnectionConfiguration()
      connection.proxy = .direct
      connection.versions = row.versions
      connection.tls.authorities = keys.folder.file("ca.pem")
      connection.connectionLifetime = lifetime
      var options = SocketTransport.Options()
      options.resolver = { _ in [self.address.withLock(\.self)] }
      return uncachedSession(SocketTransport(connection, options: options))
    }
  }

  @Test(arguments: DeployedRow.all)
  func requestsFollowTheNameOnceTheirConnectionIsOld(row: DeployedRow) async throws {
    let keys = try ChangingKeys(serving: "stranger")
    var setting = try DeployedServer.Setting(keys: keys.folder.url)
    let servers = try [("127.0.0.1", "old"), ("127.0.0.2", "new")].map { address, name in
      (setting.address, setting.name) = (address, name)
      return try DeployedServer(row.program, setting)
    }
    let names = NameService()
    names.point(to: servers[0])
    let url = try #require(URL(string: "https://stranger.invalid:\(setting.ports.https)/name"))
    let session = names.session(row, keys, lifetime: .milliseconds(50))
    let unlimited = names.session(row, keys, lifetime: nil)
    for session in [session, unlimited] { #expect(try await session.text(url) == "old") }

    names.point(to: servers[1])
    try await until { try await session.text(url) == "new" }

    // busy connections without a lifetime stay where they are, until they are drained
    for _ in 0..<20 { #expect(try await unlimited.text(url) == "old") }
    await unlimited.drainConnections()
    #expect(try await unlimited.text(url) == "new")
    try await servers[0].stop()
    for _ in 0..<20 { #expect(try await session.text(url) == "new") }
  }
}
