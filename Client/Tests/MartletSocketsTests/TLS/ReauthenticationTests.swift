#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@testable import MartletSockets

/// Servers that ask for a client certificate after the handshake, in memory.
@Suite(.timeLimit(.minutes(5)))
struct ReauthenticationTests {
  private let trust: MemoryTrust
  private let certificate: ClientCertificate

  init() throws {
    trust = try MemoryTrust()
    let client = try trust.authority.server(nil, subject: "client", purpose: "clientAuth")
    try trust.folder.write(client.pem, to: "client.pem")
    try trust.folder.write(client.keyPEM(), to: "client.key")
    certificate = .pem(certificate: trust.folder.file("client.pem"), key: trust.folder.file("client.key"))
  }

  private func connection(
    _ version: Int32, protocols: [String] = [], chosen: [String] = [], hasCertificate: Bool = true
  ) throws -> MemoryConnection {
    let context = try trust.context { if hasCertificate { $0.clientCertificate = certificate } }
    let connection = try trust.connection(context: context, protocols: protocols) {
      ($0.versions, $0.protocols, $0.laterClients) = (version...version, chosen, trust.authority.identity)
    }
    try connection.shakeHands()
    return connection
  }

  /// Moves bytes to and fro until neither side has more. Returns the content that the client has read.
  @discardableResult
  private func converse(_ connection: MemoryConnection, pieces: Int = .max) throws -> [UInt8] {
    var content: [UInt8] = []
    while true {
      let bytes = connection.server.takeOutgoing()
      for start in stride(from: 0, to: max(1, bytes.count), by: min(pieces, max(1, bytes.count))) {
        connection.client.receive(Array(bytes[start..<min(bytes.count, start + min(pieces, bytes.count))]))
        content += try connection.client.readAll().bytes
        if connection.client.isReauthenticating, try connection.client.handshake() {
          content += try connection.client.readAll().bytes
        }
      }
      let answer = connection.client.takeOutgoing()
      guard !answer.isEmpty else { return content }
      connection.server.receive(answer)
      _ = connection.server.read()
    }
  }

  private func error(_ connection: MemoryConnection) -> HTTPError? {
    do {
      try converse(connection)
      return nil
    } catch { return error as? HTTPError }
  }

  /// What the request of a refused server must not be: sent again as if nothing had been sent.
  private func isFinal(_ error: HTTPError?) -> Bool {
    error?.isTLSFailure == true && error?.isUnsent == false && error?.isTransient == false
  }

  @Test(arguments: TLSSessionTests.versions, [1, 100, .max])
  func theCertificateIsSentAfterTheHandshake(version: Int32, pieces: Int) throws {
    let connection = try connection(version)
    connection.server.askForCertificate()
    try converse(connection, pieces: pieces)

    #expect(connection.server.clientName == "client")
    connection.server.write(Array("answer".utf8))
    #expect(try converse(connection) == Array("answer".utf8))
    try connection.client.write(Array("question".utf8))
    #expect(connection.readAtServer() == Array("question".utf8))
  }

  @Test(arguments: TLSSessionTests.versions)
  func aServerThatOnlyAsksIsAnsweredWithoutACertificate(version: Int32) throws {
    let connection = try connection(version, hasCertificate: false)
    connection.server.askForCertificate(isRequired: false)
    try converse(connection)

    #expect(connection.server.clientName == nil)
    connection.server.write(Array("answer".utf8))
    #expect(try converse(connection) == Array("answer".utf8))
  }

  @Test(arguments: TLSSessionTests.versions)
  func aServerThatRequiresACertificateIsNamed(version: Int32) throws {
    let connection = try connection(version, hasCertificate: false)
    connection.server.askForCertificate()
    let error = error(connection)
    #expect(error?.message.contains("requires a client certificate") == true, "\(String(describing: error))")
    #expect(isFinal(error))
  }

  @Test(arguments: TLSSessionTests.versions)
  func aServerMayAskOverHTTP1Only(version: Int32) throws {
    for (protocols, chosen, isAllowed) in [
      (["h2", "http/1.1"], ["http/1.1"], true), (["h2", "http/1.1"], [], true), (["http/1.1"], ["http/1.1"], true),
      (["h2", "http/1.1"], ["h2"], false), (["h2"], [], false),
    ] {
      let connection = try connection(version, protocols: protocols, chosen: chosen)
      connection.server.askForCertificate()
      let error = error(connection)
      #expect((error == nil) == isAllowed, "\(protocols), \(chosen): \(String(describing: error))")
      guard !isAllowed else { continue }
      #expect(error?.message.contains("over HTTP/1.1 only") == true)
      #expect(isFinal(error))
    }
  }

  @Test(arguments: [(TLS1_2_VERSION, 1), (TLS1_3_VERSION, Reauthentication.limit)])
  func aServerMayAskSoOften(version: Int32, limit: Int) throws {
    let connection = try connection(version)
    for _ in 0..<limit {
      connection.server.askForCertificate()
      try converse(connection)
      connection.server.write([1])
      #expect(try converse(connection) == [1])
    }
    connection.server.askForCertificate()
    let error = error(connection)
    #expect(error?.message.contains("too often") == true, "\(String(describing: error))")
    #expect(isFinal(error))
  }

  @Test(arguments: TLSSessionTests.versions)
  func afterAnUpgradeAServerMayNotAsk(version: Int32) throws {
    let connection = try connection(version)
    connection.client.endReauthentication()
    connection.server.askForCertificate()
    #expect(isFinal(error(connection)))
  }

  /// The client certificate would otherwise vouch for the content of another connection.
  @Test func aServerThatRenegotiatesMustHaveTheSameCertificate() throws {
    let connection = try connection(TLS1_2_VERSION)
    connection.server.present(try trust.authority.server("DNS:example.com"))
    connection.server.askForCertificate()
    let error = error(connection)
    #expect(error?.message.contains("another certificate than before") == true, "\(String(describing: error))")
    #expect(isFinal(error))
    #expect(connection.server.clientName == nil)
  }

  @Test func anEndDuringTheAnswerIsNamed() throws {
    let connection = try connection(TLS1_2_VERSION)
    connection.server.askForCertificate()
    connection.client.receive(connection.server.takeOutgoing())
    _ = try connection.client.readAll()
    #expect(try !connection.client.handshake())
    connection.client.receiveEnd()
    let error = #expect(throws: HTTPError.self) { try connection.client.handshake() }
    #expect(error?.message.contains("asked for a client certificate, and then closed") == true)
    #expect(isFinal(error))
  }
}
#endif
