import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import Testing

/// TLS with nginx, and with certificates of an authority for this run only.
@Suite(.timeLimit(.minutes(5)))
struct TLSTests {
  let nginx: Nginx

  init() throws { nginx = try Nginx.shared.get() }

  private func session(_ change: (inout ConnectionConfiguration) -> Void = { _ in }) -> HTTPSession {
    var configuration = ConnectionConfiguration()
    configuration.tls.authorities = nginx.authority.certificate
    change(&configuration)
    return HTTPSession.uncached(configuration)
  }

  private func text(_ url: URL, _ session: HTTPSession) async throws(HTTPError) -> String {
    String(decoding: try await session.data(for: HTTPRequest(.get, url)).0, as: UTF8.self)
  }

  private func failure(_ url: URL, _ session: HTTPSession) async -> HTTPError? {
    do {
      _ = try await text(url, session)
      return nil
    } catch { return error }
  }

  @Test func anOwnAuthorityIsTrustedAndHTTP2IsUsed() async throws {
    let protocols = try await text(nginx.tls("/protocol"), session())

    #expect(protocols == "HTTP/2.0 TLSv1.3")
  }

  @Test func onlyHTTP1IsUsedIfConfigured() async throws {
    #expect(try await text(nginx.tls("/protocol"), session { $0.versions = .http1 }) == "HTTP/1.1 TLSv1.3")
  }

  @Test func anUnknownAuthorityIsNotTrusted() async throws {
    let error = await failure(nginx.tls("/hello.txt"), HTTPSession.uncached())

    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.phase == .securing)
    #expect(error?.message.contains("127.0.0.1") == true)
  }

  @Test func aCertificateForAnotherNameIsNotTrusted() async throws {
    #expect(await failure(nginx.stranger("/hello.txt"), session())?.kind == .untrustedCertificate)
  }

  @Test func aPortWithoutTLSIsNamedInTheError() async throws {
    let python = try PythonServer.shared.get()
    for port in [try #require(nginx.plain("/").port), try #require(python.url.port)] {
      let error = await failure(try #require(URL(string: "https://127.0.0.1:\(port)/")), session())

      #expect(error?.kind == .tlsFailed)
      #expect(error?.phase == .securing)
      #expect(error?.message.hasPrefix("127.0.0.1:\(port): the server does not use TLS on this port") == true)
    }
  }

  @Test func aMissingAuthorityFileIsNamedInTheError() async throws {
    let error = await failure(
      nginx.tls("/"), session { $0.tls.authorities = URL(filePath: "/nowhere/authority.pem") })

    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("/nowhere/authority.pem") == true)
  }

  @Test func anOldVersionOfTLSIsRefused() async throws {
    #expect(try await text(nginx.old("/protocol"), session()) == "HTTP/1.1 TLSv1.2")
    #expect(await failure(nginx.old("/protocol"), session { $0.tls.minimumVersion = .v1_3 })?.kind == .tlsFailed)
  }

  @Test func aPinnedKeyIsRequired() async throws {
    let right = try nginx.authority.pin(of: "server")
    let wrong = try nginx.authority.pin(of: "stranger")

    #expect(try await text(nginx.tls("/hello.txt"), session { $0.tls.pinnedPublicKeys = [wrong, right] }) == "hello")
    #expect(await failure(nginx.tls("/"), session { $0.tls.pinnedPublicKeys = [wrong] })?.kind == .pinMismatch)
  }

  @Test func aClientCertificateFromAFileIsSent() async throws {
    let certificate = ClientCertificate.pkcs12(
      file: nginx.authority.folder.file("client.p12"), password: TestAuthority.password)
    #expect(
      try await text(nginx.client("/certificate"), session { $0.tls.clientCertificate = certificate }) == "CN=client")
  }

  @Test func aClientCertificateFromDataIsSent() async throws {
    let data = try Data(contentsOf: nginx.authority.folder.file("client.p12"))
    let certificate = ClientCertificate.pkcs12(data: data, password: TestAuthority.password)
    #expect(
      try await text(nginx.client("/certificate"), session { $0.tls.clientCertificate = certificate }) == "CN=client")
  }

  @Test(arguments: [("client.key", nil), ("client.locked.key", TestAuthority.password)] as [(String, String?)])
  func aClientCertificateInPEMFilesIsSent(_ key: String, _ password: String?) async throws {
    let folder = nginx.authority.folder
    let certificate = ClientCertificate.pem(
      certificate: folder.file("client.pem"), key: folder.file(key), password: password)
    #expect(
      try await text(nginx.client("/certificate"), session { $0.tls.clientCertificate = certificate }) == "CN=client")
  }

  @Test func withoutAClientCertificateTheServerRefuses() async throws {
    let (data, response) = try await session().data(for: HTTPRequest(.get, nginx.client("/certificate")))

    #expect(response.status == 400)
    #expect(String(decoding: data, as: UTF8.self).contains("No required SSL certificate"))
  }

  @Test func aWrongPasswordIsDistinguishedFromABadFile() async throws {
    let folder = nginx.authority.folder
    let container = try Data(contentsOf: folder.file("client.p12"))
    func pem(_ certificate: String, _ key: String, _ password: String?) -> ClientCertificate {
      .pem(certificate: folder.file(certificate), key: folder.file(key), password: password)
    }
    let table: [(ClientCertificate, HTTPError.Kind)] = [
      (.pkcs12(file: folder.file("client.p12"), password: "mistaken"), .badClientCertificatePassword),
      (.pkcs12(data: container, password: "mistaken"), .badClientCertificatePassword),
      (.pkcs12(file: folder.file("broken.p12"), password: "any"), .badClientCertificate),
      (.pkcs12(data: Data("no container".utf8), password: "any"), .badClientCertificate),
      (.pkcs12(data: container.prefix(100), password: TestAuthority.password), .badClientCertificate),
      (.pkcs12(file: URL(filePath: "/nowhere/client.p12"), password: "any"), .badClientCertificate),
      (.pkcs12(data: Data(), password: "any"), .badClientCertificate),
      (pem("client.pem", "client.locked.key", "mistaken"), .badClientCertificatePassword),
      (pem("client.pem", "client.locked.key", nil), .badClientCertificatePassword),
      (pem("client.pem", "broken.p12", nil), .badClientCertificate),
      (pem("client.pem", "nowhere.key", nil), .badClientCertificate),
      (pem("nowhere.pem", "client.key", nil), .badClientCertificate),
      (pem("client.pem", "server.key", nil), .badClientCertificate),
    ]
    for (certificate, kind) in table {
      let error = await failure(nginx.client("/"), session { $0.tls.clientCertificate = certificate })
      #expect(error?.kind == kind, "\(certificate): \(String(describing: error))")
      #expect(error?.description.contains("mistaken") != true)
    }
  }

  @Test func manyRequestsShareOneHTTP2Connection() async throws {
    let session = session()
    let connections = Mutex(0)
    let listener = EventHandler { event, _ in
      if case .metrics(let metrics) = event, !metrics.reusedConnection { connections.withLock { $0 += 1 } }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          var request = HTTPRequest(.get, nginx.tls("/hello.txt"))
          request.options.listeners = [listener]
          _ = try await session.data(for: request)
        }
      }
      try await group.waitForAll()
    }
    #expect(connections.withLock { $0 } == 1)
  }

  @Test func aSlowReaderOfOneStreamDoesNotPauseTheOthers() async throws {
    let session = session()
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, nginx.tls("/zeros.bin")))
    var iterator = body.makeAsyncIterator()
    var count = try await iterator.next()?.count ?? 0

    #expect(try await text(nginx.tls("/hello.txt"), session) == "hello")

    while let chunk = try await iterator.next() { count += chunk.count }
    #expect(count == 1_000_000)
  }

  @Test func metricsHaveEveryPhase() async throws {
    let seen = Mutex<[TransferMetrics]>([])
    let session = session()
    var request = HTTPRequest(.get, nginx.tls("/long.txt"))
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.listeners = [
      EventHandler { event, _ in if case .metrics(let metrics) = event { seen.withLock { $0.append(metrics) } } }
    ]

    _ = try await session.data(for: request)
    _ = try await session.data(for: request)

    let metrics = seen.withLock { $0 }
    let first = try #require(metrics.first), second = try #require(metrics.last)
    #expect(metrics.count == 2)
    #expect(first.nameLookup <= first.connect)
    #expect(first.connect < first.secureConnect)
    #expect(first.secureConnect <= first.requestStart)
    #expect(first.requestStart < first.firstByte)
    #expect(first.firstByte <= first.total)
    #expect(first.version == .http2)
    #expect(first.remoteAddress == "127.0.0.1")
    #expect(!first.reusedConnection)
    #expect(second.reusedConnection)
    #expect(first.headerBytesReceived > 50)
    #expect((1..<80_000).contains(first.bytesReceived))  // compressed on the wire
    let tls = try #require(first.tls)
    #expect(tls.version == "TLSv1.3" && tls.cipher.hasPrefix("TLS_") && tls.applicationProtocol == "h2")
    #expect(second.tls == tls)
    let certificate = try #require(tls.certificate)
    #expect(certificate.subject == "localhost" && !certificate.issuer.isEmpty)
    #expect(try #require(certificate.validUntil) > .now)
  }
}
