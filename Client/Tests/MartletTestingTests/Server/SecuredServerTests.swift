import Martlet
import MartletTesting
import TestSupport
import Testing

/// Servers over TLS, as a session sees them.
@Suite(.timeLimit(.minutes(5)))
struct SecuredServerTests {
  private func session(
    _ server: LoopbackServer, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.tls.authorities = server.authority?.file
    change(&connection)
    return HTTPSession(connection: connection)
  }

  @Test(arguments: [HTTPVersion.http2, .http1_1])
  func aClientThatTrustsTheAuthorityGetsTheVersionOfTheServer(version: HTTPVersion) async throws {
    var tls = LoopbackTLS.selfSigned
    tls.protocols = [version]
    let server = try LoopbackServer(tls: tls) { .text("\($0.method) \($0.path) \($0.text)") }

    let request = HTTPRequest(.post, server.url("/there?x=1"), body: .text("hello"))
    let (text, response) = try await session(server).text(for: request)

    #expect(text == "POST /there hello")
    #expect(response.networkHead?.version == version)
    #expect(server.url.absoluteString == "https://127.0.0.1:\(server.port)")
    let received = try #require(server.requests.first)
    #expect(received.version == version)
    #expect(received.fields[.host] == "127.0.0.1:\(server.port)")
    #expect(received.target == "/there?x=1")
    #expect(received.handshake?.version == .v1_3)
    #expect(received.handshake?.serverName == nil)
    #expect(received.handshake?.clientSubject == nil)
  }

  @Test func aClientThatDoesNotTrustTheAuthorityRefusesTheServer() async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .text("secret") }
    let other = try LoopbackAuthority()
    let session = session(server) { $0.tls.authorities = other.file }

    await #expect { try await session.data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.kind == .untrustedCertificate
    }
    #expect(server.requests.isEmpty)
  }

  @Test func anyHostCanBeInTheCertificate() async throws {
    let server = try LoopbackServer(tls: .selfSigned(for: "shop.example", "*.cdn.example")) { _ in .text("ok") }
    for host in ["shop.example", "a.cdn.example", "localhost"] {
      var options = SocketTransport.Options()
      options.addresses = [host: ["127.0.0.1"]]
      var connection = ConnectionConfiguration()
      connection.proxy = .direct
      connection.tls.authorities = server.authority?.file
      let session = HTTPSession(transport: SocketTransport(connection, options: options))
      _ = try await session.data(for: HTTPRequest(.get, "https://\(host):\(server.port)/"), expecting: .only([.ok]))
      #expect(server.requests.last?.handshake?.serverName == host)
    }
  }

  @Test func aCertificateForOtherHostsIsRefused() async throws {
    var tls = LoopbackTLS.selfSigned
    tls.hosts = ["stranger.example"]
    let server = try LoopbackServer(tls: tls) { _ in .text("ok") }
    await #expect { try await session(server).data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.kind == .untrustedCertificate
    }
  }

  @Test func aCertificateThatHasExpiredIsRefused() async throws {
    var tls = LoopbackTLS.selfSigned
    tls.validity = Date.now.addingTimeInterval(-7200)..<Date.now.addingTimeInterval(-3600)
    let server = try LoopbackServer(tls: tls) { _ in .text("ok") }
    await #expect { try await session(server).data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      let error = $0 as? HTTPError
      return error?.kind == .untrustedCertificate && error?.message.contains("expired") == true
    }
  }

  @Test func theVersionOfTLSCanBeFixed() async throws {
    var tls = LoopbackTLS.selfSigned
    tls.version = .v1_2
    let server = try LoopbackServer(tls: tls) { _ in .text("ok") }
    _ = try await session(server).data(for: HTTPRequest(.get, server.url("/")))
    #expect(server.requests.first?.handshake?.version == .v1_2)

    await #expect {
      try await session(server) { $0.tls.minimumVersion = .v1_3 }.data(for: HTTPRequest(.get, server.url("/")))
    } throws: {
      ($0 as? HTTPError)?.kind == .tlsFailed
    }
  }

  @Test(arguments: ["a:443", "a b", "", "ä.example", "a,DNS:b"])
  func aHostThatNoCertificateCanHaveIsAnError(host: String) {
    #expect { try LoopbackServer(tls: .selfSigned(for: host)) { _ in .text("ok") } } throws: {
      "\($0)".contains("'\(host)' cannot be in a certificate")
    }
  }

  @Test(arguments: [LoopbackTLS.ClientCertificates.requested, .required])
  func aClientCertificateOfTheAuthorityIsAccepted(mode: LoopbackTLS.ClientCertificates) async throws {
    let authority = try LoopbackAuthority()
    var tls = LoopbackTLS.selfSigned(by: authority)
    tls.clientCertificates = mode
    let server = try LoopbackServer(tls: tls) { .text($0.handshake?.clientSubject ?? "none") }
    let own = try authority.clientCertificate(named: "Ada, of London")
    let foreign = try LoopbackAuthority().clientCertificate(named: "Eve")
    let request = HTTPRequest(.get, server.url("/"))

    #expect(try await session(server) { $0.tls.clientCertificate = own }.text(for: request).0 == #"CN=Ada\, of London"#)
    await #expect(throws: HTTPError.self) {
      try await session(server) { $0.tls.clientCertificate = foreign }.text(for: request)
    }
    if mode == .requested {
      #expect(try await session(server).text(for: request).0 == "none")
    } else {
      await #expect(throws: HTTPError.self) { try await session(server).text(for: request) }
    }
  }

  @Test func theFileOfTheAuthorityIsPrivateAndGoesWithIt() throws {
    var authority: LoopbackAuthority? = try LoopbackAuthority()
    let file = try #require(authority?.file)
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.hasPrefix("-----BEGIN CERTIFICATE-----"))
    #expect(!text.contains("PRIVATE KEY"))

    authority = nil

    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func aClientWithoutTLSIsRefused() async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .text("secret") }
    let client = try RawClient(port: server.port)
    try client.get("/")
    #expect(!(try client.rest().contains("secret")))
    #expect(try await server.end(ofConnection: 1) == .server)
    #expect(server.requests.isEmpty)
  }

  @Test func bytesThatAreNoRecordEndTheConnection() async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .text("ok") }
    let nonsense = try RawClient(port: server.port)
    try nonsense.send([22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 70_000))
    #expect(try await server.end(ofConnection: 1) == .server)
    let silent = try RawClient(port: server.port)
    silent.close()
    try await server.end(ofConnection: 2)
    _ = try await session(server).data(for: HTTPRequest(.get, server.url("/")), expecting: .only([.ok]))
  }

  @Test func aRefusedHandshakeIsAnErrorOfTLS() async throws {
    let server = try LoopbackServer(tls: .selfSigned, accept: { _ in .refuseHandshake }) { _ in .text("never") }
    await #expect { try await session(server).data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.kind == .tlsFailed
    }
  }

  @Test func aHandshakeThatDoesNotEndRunsIntoTheTimeLimit() async throws {
    let server = try LoopbackServer(tls: .selfSigned, accept: { _ in .stall }) { _ in .text("never") }
    let session = session(server) { $0.connectTimeout = .milliseconds(100) }
    await #expect { try await session.data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.isTimeout == true
    }
  }
}
