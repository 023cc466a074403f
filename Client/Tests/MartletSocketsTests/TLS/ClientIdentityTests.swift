import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

@testable import MartletSockets

/// Client certificates in PKCS#12 and PEM.
@Suite(.timeLimit(.minutes(5)))
struct ClientIdentityTests {
  private let trust: MemoryTrust
  private let folder: TemporaryFolder
  private static let password = "correct horse"

  init() throws {
    trust = try MemoryTrust()
    folder = trust.folder
    let between = try MemoryAuthority("Between", issuedBy: trust.authority)
    let client = try between.server(nil, subject: "client", purpose: "clientAuth")
    try folder.write(client.pem + between.identity.pem, to: "client.pem")
    try folder.write(client.pem + between.identity.pem.prefix(200), to: "cut.pem")
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    try folder.write(client.pem + Data(empty.utf8), to: "damaged.pem")
    try folder.write(client.keyPEM(), to: "client.key")
    try folder.write(client.keyPEM(password: Self.password), to: "client.locked.key")
    try folder.write(client.pem + between.identity.pem + client.keyPEM(), to: "both.pem")
    try folder.write(trust.server.keyPEM(), to: "other.key")
    try folder.write(Data("this is no container".utf8), to: "broken.p12")
  }

  private func container(_ name: String, password: String = password, _ more: String...) throws -> URL {
    try RealProcess.run(
      "openssl",
      ["pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out", name, "-passout", "pass:" + password]
        + more, in: folder.url)
    return folder.file(name)
  }

  private func pem(_ certificate: String, _ key: String, _ password: String? = nil) -> ClientCertificate {
    .pem(certificate: folder.file(certificate), key: folder.file(key), password: password)
  }

  /// The client's name in the server's view.
  private func name(_ certificate: ClientCertificate) throws -> String? {
    let context = try trust.context { $0.clientCertificate = certificate }
    let connection = try trust.connection(context: context) { $0.clients = trust.authority.identity }
    try connection.shakeHands()
    return connection.server.clientName
  }

  private func failure(_ certificate: ClientCertificate) -> HTTPError? {
    var settings = trust.settings
    settings.clientCertificate = certificate
    do throws(HTTPError) {
      _ = try TLSContext(settings)
      return nil
    } catch { return error }
  }

  // MARK: - Accepted containers

  @Test func aContainerIsSentWithItsChain() throws {
    let file = try container("client.p12")
    #expect(try name(.pkcs12(file: file, password: Self.password)) == "client")
    #expect(try name(.pkcs12(data: Data(contentsOf: file), password: Self.password)) == "client")
  }

  @Test(arguments: [
    // the ciphers of old containers: RC2 with 40 bits is in OpenSSL's provider for old algorithms
    ["-legacy"], ["-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"],
    ["-certpbe", "NONE", "-keypbe", "NONE"], ["-certpbe", "AES-256-CBC"],
  ])
  func containersOfAllKindsAreOpened(options: [String]) throws {
    try RealProcess.run(
      "openssl",
      ["pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out", "some.p12"]
        + ["-passout", "pass:" + Self.password] + options, in: folder.url)
    #expect(try name(.pkcs12(file: folder.file("some.p12"), password: Self.password)) == "client")
  }

  @Test func aPasswordMayBeEmptyOrHaveAnyCharacters() throws {
    for password in ["", "pässwörd 日本", String(repeating: "long ", count: 40)] {
      #expect(try name(.pkcs12(file: container("some.p12", password: password), password: password)) == "client")
    }
  }

  @Test func filesInPEMAreSent() throws {
    #expect(try name(pem("client.pem", "client.key")) == "client")
    #expect(try name(pem("client.pem", "client.locked.key", Self.password)) == "client")
    #expect(try name(pem("both.pem", "both.pem")) == "client")
    #expect(try name(pem("client.pem", "client.key", "not needed")) == "client")
  }

  @Test func dataInPEMIsSent() throws {
    func data(_ name: String) throws -> Data { try Data(contentsOf: folder.file(name)) }
    #expect(try name(.pem(certificate: data("client.pem"), key: data("client.key"))) == "client")
    #expect(
      try name(.pem(certificate: data("client.pem"), key: data("client.locked.key"), password: Self.password))
        == "client")
    let table: [(String, String, String)] = [
      ("client.pem", "client.pem", "there is no private key in PEM in the key's data"),
      ("client.key", "client.key", "there is no certificate in PEM in the certificate's data"),
    ]
    for (certificate, key, message) in table {
      let error = try failure(.pem(certificate: data(certificate), key: data(key)))
      #expect(error?.kind == .badClientCertificate)
      #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }
  }

  // MARK: - Refused containers

  @Test func aWrongPasswordIsDistinguishedFromABadFile() throws {
    let data = try Data(contentsOf: container("client.p12"))
    let table: [(ClientCertificate, HTTPError.Kind)] = [
      (.pkcs12(file: folder.file("client.p12"), password: "mistaken"), .badClientCertificatePassword),
      (.pkcs12(file: folder.file("client.p12"), password: ""), .badClientCertificatePassword),
      (.pkcs12(data: data, password: "mistaken"), .badClientCertificatePassword),
      (.pkcs12(file: try container("old.p12", "-legacy"), password: "mistaken"), .badClientCertificatePassword),
      (.pkcs12(file: folder.file("broken.p12"), password: "any"), .badClientCertificate),
      (.pkcs12(data: Data("no container".utf8), password: "any"), .badClientCertificate),
      (.pkcs12(data: data.prefix(100), password: Self.password), .badClientCertificate),
      (.pkcs12(file: URL(filePath: "/nowhere/client.p12"), password: "any"), .badClientCertificate),
      (.pkcs12(data: Data(), password: "any"), .badClientCertificate),
      (.pkcs12(file: try container("keyless.p12", "-nokeys"), password: Self.password), .badClientCertificate),
      (pem("client.pem", "client.locked.key", "mistaken"), .badClientCertificatePassword),
      (pem("client.pem", "client.locked.key", nil), .badClientCertificatePassword),
      (pem("client.pem", "client.locked.key", ""), .badClientCertificatePassword),
      (pem("client.pem", "client.locked.key", String(repeating: "long", count: 1000)), .badClientCertificatePassword),
      (pem("client.pem", "broken.p12"), .badClientCertificate),
      (pem("client.pem", "client.pem"), .badClientCertificate),
      (pem("client.pem", "nowhere.key"), .badClientCertificate),
      (pem("client.key", "client.key"), .badClientCertificate),
      (pem("nowhere.pem", "client.key"), .badClientCertificate),
      (pem("client.pem", "other.key"), .badClientCertificate),
      (pem("cut.pem", "client.key"), .badClientCertificate),
      (pem("damaged.pem", "client.key"), .badClientCertificate),
    ]
    for (certificate, kind) in table {
      let error = failure(certificate)
      #expect(error?.kind == kind, "\(certificate): \(String(describing: error))")
      #expect(error?.phase == .securing)
      for secret in ["mistaken", Self.password] { #expect(error?.description.contains(secret) != true) }
    }
  }

  @Test func anOldCipherThatIsNotInstalledIsNamed() throws {
    let data = try Data(contentsOf: container("old.p12", "-legacy"))
    let container = PKCS12Container(
      data, name: "old.p12", password: Self.password, legacyProvider: "a-provider-that-is-not-installed")
    let error = #expect(throws: HTTPError.self) { _ = try container.identity() }
    #expect(error?.kind == .badClientCertificate)
    #expect(error?.message.contains("old.p12 is encrypted with an old cipher") == true)
    #expect(error?.message.contains("openssl pkcs12 -legacy") == true)
  }

  @Test func theFileIsNamed() throws {
    #expect(failure(pem("nowhere.pem", "client.key"))?.message.contains("nowhere.pem") == true)
    #expect(failure(pem("client.pem", "nowhere.key"))?.message.contains("nowhere.key") == true)
    #expect(failure(pem("client.pem", "client.locked.key"))?.message.contains("client.locked.key") == true)
    for name in ["cut.pem", "damaged.pem"] {
      let message = failure(pem(name, "client.key"))?.message
      #expect(message?.contains(name) == true && message?.contains("certificate 2, or the text before it") == true)
    }
    let broken = failure(.pkcs12(file: folder.file("broken.p12"), password: "any"))
    #expect(broken?.message.contains("broken.p12") == true)
    #expect(broken?.message.contains("is it a PKCS#12 container?") == true)
  }

  @Test func damagedContainersAreRefused() throws {
    let data = try Data(contentsOf: container("client.p12"))
    for index in stride(from: 0, to: data.count, by: 17) {
      var damaged = data
      damaged[index] ^= 0x55
      guard let error = failure(.pkcs12(data: damaged, password: Self.password)) else { continue }
      #expect([.badClientCertificate, .badClientCertificatePassword].contains(error.kind))
      if let short = failure(.pkcs12(data: data.prefix(index), password: Self.password)) {
        #expect(short.kind == .badClientCertificate)
      }
    }
  }
}
