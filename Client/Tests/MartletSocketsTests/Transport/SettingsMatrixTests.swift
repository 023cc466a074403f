#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

@testable import MartletSockets

/// Each setting of a connection has the same effect over HTTP/1.1 and HTTP/2. A row fails if its setting is ignored.
@Suite(.timeLimit(.minutes(5)))
struct SettingsMatrixTests {
  /// The change of a row.
  struct Setup {
    var connection = ConnectionConfiguration()
    var options = SocketTransport.Options()
    var request: HTTPRequest
  }

  struct Row: CustomTestStringConvertible, Sendable {
    let name: String
    let change: @Sendable (inout Setup) throws -> Void
    /// The result of two requests, one after the other: the protocol and the number of connections, or an error.
    let http1: String
    let http2: String

    init(
      _ name: String, _ outcome: String, http2: String? = nil,
      _ change: @escaping @Sendable (inout Setup) throws -> Void
    ) {
      (self.name, self.change, http1, self.http2) = (name, change, outcome, http2 ?? outcome)
    }

    var testDescription: String { name }
  }

  private struct Refusal: Error {}
  /// The pin of a key that no server has.
  private static let pin = Data(repeating: 1, count: 32).base64EncodedString()
  private static let authority = Result { try Nginx.shared.get().authority }

  static let rows: [Row] = [
    Row("nothing", "HTTP/1.1, 1 connection", http2: "HTTP/2.0, 1 connection") { _ in },
    Row("connectTimeout", "connectTimeout") { $0.connection.connectTimeout = .nanoseconds(1) },
    Row("idleLifetime", "HTTP/1.1, 2 connections", http2: "HTTP/2.0, 2 connections") {
      $0.connection.idleLifetime = .zero
    },
    Row("connectionLifetime", "HTTP/1.1, 2 connections", http2: "HTTP/2.0, 2 connections") {
      $0.connection.connectionLifetime = .zero
    },
    Row("idleConnectionLimit", "HTTP/1.1, 2 connections", http2: "HTTP/2.0, 2 connections") {
      $0.connection.idleConnectionLimit = 0
    },
    Row("addressPolicy", "addressRefused") { $0.connection.addressPolicy = .publicAddresses },
    Row("proxy", "proxyFailed") { $0.connection.proxy = .http("127.0.0.1", port: 1) },
    Row("tls.authorities", "untrustedCertificate") { $0.connection.tls.authorities = nil },
    Row("tls.additionalAuthorities", "HTTP/1.1, 1 connection", http2: "HTTP/2.0, 1 connection") {
      $0.connection.tls.authorities = nil
      $0.connection.tls.additionalAuthorities = try authority.get().certificate
    },
    Row("tls.minimumVersion", "tlsFailed") {
      $0.connection.tls.minimumVersion = .v1_3
      $0.request.url = try Nginx.shared.get().old("/protocol")
    },
    Row("tls.pinnedPublicKeys", "pinMismatch") { $0.connection.tls.pinnedPublicKeys = [pin] },
    Row("tls.originSettings", "pinMismatch") {
      $0.connection.tls.originSettings = { _ in TLSSettings.OriginSettings(pinnedPublicKeys: [pin]) }
    },
    Row("tls.serverTrustCheck", "untrustedCertificate") {
      $0.connection.tls.serverTrustCheck = { _, _ in throw HTTPError(.untrustedCertificate, "refused") }
    },
    // the server that requests a certificate has no HTTP/2; the handshake comes before it
    Row("tls.clientCertificate", "badClientCertificatePassword") {
      let container = try Data(contentsOf: authority.get().folder.file("client.p12"))
      $0.connection.tls.clientCertificate = .pkcs12(data: container, password: "wrong")
    },
    Row("addresses", "cannotConnect") {
      $0.options.addresses = ["localhost": ["127.0.0.9"]]
      $0.request.url = try named($0.request.url)
    },
    Row("resolver", "cannotResolveHost") {
      $0.options.resolver = { _ in throw Refusal() }
      $0.request.url = try named($0.request.url, "name.example")
    },
    Row("resolverTimeout", "cannotResolveHost") {
      $0.options.resolver = { _ in
        try await Task.sleep(for: .seconds(1000))
        return []
      }
      $0.options.resolverTimeout = .milliseconds(1)
      $0.request.url = try named($0.request.url, "name.example")
    },
    Row("localAddress", "cannotConnect") { $0.options.localAddress = "192.0.2.1" },
    Row("unixSocket", "cannotConnect") { $0.options.unixSocket = "/nonexistent/socket" },
    // a setting of HTTP/1.1; an invalid value fails any request
    Row("blockingWait", "invalidRequest") { $0.options.blockingWait = .seconds(1) },
    Row("headLimit", "headTooLarge") { $0.request.options.headLimit = 20 },
    Row("responseTimeout", "responseTimeout") { $0.request.options.responseTimeout = .nanoseconds(1) },
  ]

  private static func named(_ url: URL, _ host: String = "localhost") throws -> URL {
    try #require(URL(string: url.absoluteString.replacing("127.0.0.1", with: host)))
  }

  @Test(arguments: rows, [ConnectionConfiguration.Versions.http1, .automatic])
  func aSettingHasAnEffect(_ row: Row, _ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    var setup = Setup(connection: nginx.connection(versions), request: HTTPRequest(.get, nginx.tls("/protocol")))
    try row.change(&setup)

    let outcome = await outcome(of: setup)

    #expect(outcome == (versions == .http1 ? row.http1 : row.http2))
  }

  private func outcome(of setup: Setup) async -> String {
    let transport = SocketTransport(setup.connection, options: setup.options)
    var text = ""
    for _ in 0..<2 {
      do {
        let response = try await transport.send(setup.request, in: Call())
        text = String(decoding: try await response.body.collect(upTo: 1 << 10), as: UTF8.self)
      } catch { return "\(HTTPError(wrapping: error).kind)" }
    }
    let count = await transport.statistics().values.map(\.opened).reduce(0, +)
    return "\(text.prefix { $0 != " " }), \(count) connection\(count == 1 ? "" : "s")"
  }

  /// The result of a request while the response of another one, of 1 MB, is not read. The server serves one at a time
  /// on a connection.
  static let busyRows: [Row] = [
    Row("nothing", "done, 2 connections") { _ in },
    Row("connectionLimitPerHost and poolTimeout", "poolTimeout") {
      $0.connection.connectionLimitPerHost = 1
      $0.connection.poolTimeout = .milliseconds(1)
    },
    Row("connectionLimit and poolTimeout", "poolTimeout") {
      $0.connection.connectionLimit = 1
      $0.connection.poolTimeout = .milliseconds(1)
    },
    Row("readAhead of more than the response", "done, 1 connection") {
      $0.connection.connectionLimitPerHost = 1
      $0.connection.readAhead = 2_000_000
    },
  ]

  @Test(arguments: busyRows, [ConnectionConfiguration.Versions.http1, .automatic])
  func aSettingHasAnEffectBesideAnOpenResponse(_ row: Row, _ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    var setup = Setup(connection: nginx.connection(versions), request: HTTPRequest(.get, nginx.single("/hello.txt")))
    setup.connection.readAhead = 65_536
    try row.change(&setup)
    let transport = SocketTransport(setup.connection)

    let open = try await transport.send(HTTPRequest(.get, nginx.single("/zeros.bin")), in: Call())
    var outcome: String
    do {
      _ = try await transport.send(setup.request, in: Call()).body.collect(upTo: 1 << 10)
      let count = await transport.statistics().values.map(\.opened).reduce(0, +)
      outcome = "done, \(count) connection\(count == 1 ? "" : "s")"
    } catch { outcome = "\(HTTPError(wrapping: error).kind)" }

    #expect(outcome == row.http1)
    #expect(try await open.body.collect(upTo: 1 << 20).count == 1_000_000)
  }

  @Test(arguments: [true, false], [ConnectionConfiguration.Versions.http1, .automatic])
  func codingsAreAskedForWhereBodiesAreDecoded(
    _ decompresses: Bool, _ versions: ConnectionConfiguration.Versions
  ) async throws {
    let nginx = try Nginx.shared.get()
    var connection = nginx.connection(versions)
    connection.decompresses = decompresses

    let response = try await SocketTransport(connection).send(HTTPRequest(.get, nginx.tls("/fields")), in: Call())
    let text = String(decoding: try await response.body.collect(upTo: 1 << 10), as: UTF8.self)

    #expect(text.contains("gzip") == decompresses)
  }

  /// Give a new setting a row, or a place here.
  @Test func everySettingHasARow() {
    let others: Set<String> = [
      // which every test changes; codingsAreAskedForWhereBodiesAreDecoded changes the last one
      "tls", "versions", "decompresses",
      // which UpgradeTests changes
      "webSocketLimitPerHost",
      // which ServiceClassTests changes
      "serviceClass",
      // for dead connections, which NetworkDeathTests and SilentConnectionTests change
      "silenceLimit", "probePatience", "probeTimeout", "acknowledgementTimeout",
      // for abandoned streams, which HTTP2TunnelEndTests changes
      "lingeringTime",
      // which HandshakeTests changes
      "handshakeThreads",
    ]
    let settings =
      Mirror(reflecting: ConnectionConfiguration()).children.compactMap(\.label)
      + Mirror(reflecting: SocketTransport.Options()).children.compactMap(\.label)
    for setting in settings where !others.contains(setting) {
      #expect((Self.rows + Self.busyRows).contains { $0.name.contains(setting) }, "\(setting)")
    }
  }
}

extension Nginx {
  /// Returns the settings with which it is reached over these versions of HTTP.
  func connection(_ versions: ConnectionConfiguration.Versions) -> ConnectionConfiguration {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.tls.authorities = authority.certificate
    connection.versions = versions
    return connection
  }
}
#endif
