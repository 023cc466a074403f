#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Transports with other settings of TLS, which share a thread and limits with the first one, but no connection.
@Suite(.timeLimit(.minutes(5)))
struct OtherIdentityTests {
  private let nginx: Nginx
  private var origin: Origin { get throws { try #require(Origin(nginx.user("/"))) } }

  init() throws { nginx = try Nginx.shared.get() }

  private func transport(_ change: (inout ConnectionConfiguration) -> Void = { _ in }) -> SocketTransport {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.idleLifetime = .seconds(3600)  // no connection is closed because it is idle
    configuration.tls.authorities = nginx.authority.certificate
    change(&configuration)
    return SocketTransport(configuration)
  }

  private func settings(_ change: (inout TLSSettings) -> Void = { _ in }) -> TLSSettings {
    var settings = TLSSettings()
    settings.authorities = nginx.authority.certificate
    change(&settings)
    return settings
  }

  /// Settings with a certificate of the server's authority: `client` or `stranger`.
  private func settings(with name: String) -> TLSSettings {
    let folder = nginx.authority.folder
    return settings {
      $0.clientCertificate = .pem(certificate: folder.file("\(name).pem"), key: folder.file("\(name).key"))
    }
  }

  private func text(_ transport: SocketTransport, _ url: URL) async throws -> String {
    let response = try await transport.send(HTTPRequest(.get, url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 24), as: UTF8.self)
  }

  /// The name in the certificate that the server got, and the number of the connection.
  private struct User: Equatable, Hashable {
    let name: String
    let connection: String
    let version: String

    init(_ text: String) throws {
      let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      try #require(parts.count == 3, "\(text)")
      (name, connection, version) = (parts[0], parts[1], parts[2])
    }
  }

  private func user(_ transport: SocketTransport) async throws -> User {
    try User(try await text(transport, nginx.user("/user")))
  }

  // MARK: - Isolation

  @Test(arguments: [(ConnectionConfiguration.Versions.http1, "HTTP/1.1"), (.automatic, "HTTP/2.0")])
  func eachConnectionServesTheRequestsOfOneCertificate(
    _ versions: ConnectionConfiguration.Versions, _ version: String
  ) async throws {
    let none = transport { $0.versions = versions }
    let first = none.with(tls: settings(with: "client")), second = none.with(tls: settings(with: "stranger"))
    var users: [User] = []

    for _ in 0..<3 {
      for transport in [first, second, none] { users.append(try await user(transport)) }
    }

    #expect(users.map(\.name) == Array(repeating: ["CN=client", "CN=stranger.invalid", ""], count: 3).flatMap { $0 })
    #expect(Array(users[0..<3]) == Array(users[3..<6]) && Array(users[0..<3]) == Array(users[6..<9]))
    #expect(Set(users.map(\.connection)).count == 3)
    #expect(users.allSatisfy { $0.version == version })
    #expect(await none.statistics()[try origin] == PoolStatistics(idle: 3, opened: 3, reused: 6))
  }

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .automatic])
  func simultaneousRequestsHaveTheirOwnCertificates(versions: ConnectionConfiguration.Versions) async throws {
    let none = transport {
      $0.versions = versions
      $0.connectionLimitPerHost = 2  // fewer than certificates
    }
    let transports = [
      ("CN=client", none.with(tls: settings(with: "client"))),
      ("CN=stranger.invalid", none.with(tls: settings(with: "stranger"))), ("", none),
    ]

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<30 {
        let (name, transport) = transports[number % 3]
        group.addTask {
          let user = try await user(transport)
          #expect(user.name == name)
        }
      }
      try await group.waitForAll()
    }

    let statistics = try #require(await none.statistics()[try origin])
    #expect(statistics.active == 0 && statistics.queued == 0 && statistics.idle <= 2)
  }

  @Test func equalSettingsShareNoConnectionEither() async throws {
    let base = transport()
    let first = base.with(tls: settings(with: "client")), second = base.with(tls: settings(with: "client"))

    let users = [try await user(first), try await user(second)]

    #expect(users[0].name == users[1].name && users[0].connection != users[1].connection)
  }

  @Test func tlsSessionsAreResumedWithinOneIdentity() async throws {
    let server = try ClientAuthorityServer()
    let base = transport { $0.idleLifetime = .zero }  // each request has its own connection
    let settings = settings {
      $0.authorities = server.authority.certificate
      $0.clientCertificate = server.clientCertificate
    }
    let first = base.with(tls: settings), second = base.with(tls: settings)
    var texts: [String] = []

    for transport in [first, first, second, second, first] { texts.append(try await text(transport, server.url)) }

    #expect(texts == ["new", "resumed", "new", "resumed", "resumed"])
    await #expect(throws: HTTPError.self) { try await text(base, server.url) }
  }

  @Test func aServerIsCheckedForEachIdentityOfItsOwn() async throws {
    struct Refused: Error {}
    let calls = Mutex(0)
    let base = transport()
    let accepting = base.with(
      tls: settings { settings in settings.serverTrustCheck = { _, _ in calls.withLock { $0 += 1 } } })
    let refusing = base.with(tls: settings { settings in settings.serverTrustCheck = { _, _ in throw Refused() } })

    _ = try await user(base)
    for _ in 0..<2 { _ = try await user(accepting) }
    let error = await #expect(throws: HTTPError.self) { try await user(refusing) }

    #expect(calls.withLock { $0 } == 1)
    #expect(error?.kind == .untrustedCertificate && error?.underlying is Refused)
    #expect(await base.statistics()[try origin]?.idle == 2)
  }

  // MARK: - What is shared

  @Test func theThreadAndConnectionsWithoutTLSAreShared() async throws {
    let server = try LoopbackServer { _ in .text("plain") }
    let base = transport()
    let other = base.with(tls: settings(with: "client"))

    for transport in [base, other, base] { #expect(try await text(transport, server.url) == "plain") }

    #expect(other.thread === base.thread)
    #expect(Set(server.requests.map(\.connection)).count == 1)
  }

  @Test func aSettingThatCannotBeReadFailsItsOwnRequestsOnly() async throws {
    let base = transport()
    let other = base.with(tls: settings(with: "missing"))

    let error = await #expect(throws: HTTPError.self) { try await user(other) }

    #expect(error?.kind == .badClientCertificate)
    #expect(try await user(base).name == "")
  }

  // MARK: - The end

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .automatic])
  func theConnectionsAreClosedAfterTheLastReference(versions: ConnectionConfiguration.Versions) async throws {
    let base = transport { $0.versions = versions }
    var other: SocketTransport? = base.with(tls: settings(with: "client"))
    for transport in [try #require(other), base] { _ = try await user(transport) }
    weak let context = other?.identity.ready
    #expect(context != nil)
    #expect(await base.statistics()[try origin]?.idle == 2)

    other = nil

    try await until { try await base.statistics()[origin]?.idle == 1 }
    try await until { context == nil }  // and with it the key
    #expect(try await user(base).name == "")
    #expect(await base.statistics()[try origin]?.opened == 2)
  }

  @Test func aConnectionStaysUntilItsBodyHasBeenRead() async throws {
    let base = transport { $0.readAhead = 64 << 10 }
    var other: SocketTransport? = base.with(tls: settings(with: "client"))
    var response: HTTPResponse? = try await other?.send(HTTPRequest(.get, nginx.user("/zeros.bin")), in: Call())

    other = nil
    #expect(await base.statistics()[try origin]?.active == 1)

    #expect(try await response?.body.collect(upTo: 1 << 24).count == 1_000_000)
    response = nil
    try await until { try await base.statistics()[origin] == PoolStatistics(opened: 1) }
  }

  @Test func anUpgradedConnectionIsUsedOn() async throws {
    let server = try UpgradeServer()
    let base = transport()
    var other: SocketTransport? = base.with(tls: settings { $0.authorities = server.authority.certificate })
    let request = HTTPRequest(.get, server.secure.appending(path: "echo"), fields: [.upgrade: "echo"])
    let stream: any DuplexStream
    do {
      let response = try await #require(other).send(request, in: Call())
      stream = try #require(response.stream)
    }
    weak let identity = other?.identity
    #expect(identity != nil)

    other = nil
    try await until { identity == nil }
    _ = await base.statistics()  // after the job that closes connections

    try await stream.write(Data("again".utf8))
    stream.finish()
    var text = ""
    while let bytes = try await stream.read() { text += String(decoding: bytes, as: UTF8.self) }
    #expect(text == "hello again bye")
    let upgraded = try #require(Origin(server.secure))
    try await until { await base.statistics()[upgraded]?.active == 0 }
  }
}
#endif
