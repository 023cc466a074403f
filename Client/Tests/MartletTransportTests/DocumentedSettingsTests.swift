import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// The settings that the articles show, as they show them.
@Suite(.timeLimit(.minutes(5)))
struct DocumentedSettingsTests {
  @Test func aTransportWhoseFilesDoNotExistSaysSo() async throws {
    var mutual = ConnectionConfiguration()
    mutual.tls.authorities = URL(filePath: "/run/tls/ca.crt")
    mutual.tls.clientCertificate = .pem(
      certificate: URL(filePath: "/run/tls/tls.crt"), key: URL(filePath: "/run/tls/tls.key"))
    mutual.connectionLifetime = .seconds(600)

    let session = HTTPSession(transport: SocketTransport(mutual))
    let request = HTTPRequest(.get, try #require(URL(string: "https://127.0.0.1:1/")))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.message.contains("/run/tls/") == true)
  }

  @Test func aSessionRemembersHostsThatRequireHTTPS() async throws {
    var careful = SessionConfiguration()
    careful.strictTransport = StrictTransportSecurity()

    let session = HTTPSession(
      transport: ScriptedTransport(
        .text("first").with("Strict-Transport-Security", "max-age=600"), .text("second")), configuration: careful)
    _ = try await session.data(for: HTTPRequest(.get, try #require(URL(string: "https://a.example/"))))
    let (_, response) = try await session.data(
      for: HTTPRequest(.get, try #require(URL(string: "http://a.example/"))))
    #expect(response.request.url.scheme == "https")
  }

  @Test func aBackupSharesItsRate() async throws {
    let server = try LoopbackServer { request in .text("\(request.body.count) bytes") }
    let (archive, session) = (server.url("/"), HTTPSession(transport: SocketTransport()))
    let file = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID()).bin")
    try Data(count: 1_000).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }

    let background = RateShare(bytesPerSecond: 2_000_000)
    var backup = HTTPRequest(.put, archive, body: .file(file))
    backup.options.maximumRate = background  // requests with the same share have this rate together
    backup.options.minimumRate = MinimumRate(bytesPerSecond: 1_000, over: .seconds(20))
    _ = try await session.data(for: backup, expecting: .successful)
    #expect(server.requests.map(\.body.count) == [1_000])
  }

  /// A collected body is delivered in one piece, but not before it is found to be too slow.
  @Test func aCollectedBodyThatStallsIsTooSlow() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 1000)).stalled(after: 500) }
    let clock = ManualClock()
    var configuration = SessionConfiguration()
    configuration.clock = clock
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    var request = HTTPRequest(.get, server.url)
    request.options.minimumRate = MinimumRate(bytesPerSecond: 100, over: .seconds(10))
    request.options.idleTimeout = .seconds(20)
    request.options.retryPolicy = .never
    let slow = request

    let time = Task {
      while true {
        try await clock.sleepers(1)
        clock.advance(by: .seconds(20))
      }
    }
    defer { time.cancel() }
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: slow) }

    #expect(error?.kind == .tooSlow)
  }
}
