import Foundation
import Martlet
import MartletTesting
import Synchronization
import Testing

/// HTTP Strict Transport Security (RFC 6797) with servers on the ports 80 and 443 of an address that only this test
/// uses.
@Suite(
  "Deployments: hosts that require https", .timeLimit(.minutes(2)),
  .enabled(if: geteuid() == 0, "only root may listen on the ports 80 and 443"))
struct StrictTransportTests {
  private let keys: ChangingKeys

  init() throws { keys = try ChangingKeys(serving: "stranger") }

  private func server(_ program: DeployedServer.Program) throws -> DeployedServer {
    var setting = try DeployedServer.Setting(keys: keys.folder.url, at: (http: 80, https: 443))
    setting.address = "127.80.\(getpid() >> 8 & 0xFF).\(getpid() & 0xFF)"
    return try DeployedServer(program, setting)
  }

  /// - Parameter trusts: whether it trusts the authority of the server.
  private func session(
    _ row: DeployedRow, to server: DeployedServer, _ security: StrictTransportSecurity, _ wires: Wires,
    trusts: Bool = true
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.versions = row.versions
    if trusts { connection.tls.authorities = keys.folder.file("ca.pem") }
    var options = SocketTransport.Options()
    options.addresses = ["stranger.invalid": [server.setting.address]]
    return uncachedSession(SocketTransport(connection, options: options)) {
      $0.strictTransport = security
      $0.listeners = [wires]
    }
  }

  /// The ports to which requests were sent.
  private final class Wires: EventListener {
    private let ports = Mutex<[Int?]>([])
    let events: Event.Kinds = .metrics

    /// Returns the ports since the last call.
    func take() -> [Int?] {
      ports.withLock { ports in
        defer { ports = [] }
        return ports
      }
    }

    func receive(_ event: Event, in call: Call) {
      if case .metrics(let metrics) = event { ports.withLock { $0.append(metrics.remotePort) } }
    }
  }

  @Test(arguments: DeployedRow.all)
  func nothingIsSentOverHTTPOnceTheHostRequiresHTTPS(row: DeployedRow) async throws {
    let server = try server(row.program)
    let url = try #require(URL(string: "http://stranger.invalid/name"))
    let (security, wires) = (StrictTransportSecurity(), Wires())
    let session = session(row, to: server, security, wires)

    // the server redirects to https, and says there that it requires it
    #expect(try await session.text(url) == "one")
    #expect(wires.take() == [80, 443])
    #expect(try await session.text(url) == "one")
    #expect(wires.take() == [443])

    // an error of such a host is final
    let stranger = self.session(row, to: server, security, wires, trusts: false)
    let error = await #expect(throws: HTTPError.self) { try await stranger.text(url) }
    #expect(error?.kind == .untrustedCertificate)
    #expect(!wires.take().contains(80))
  }
}
