import COpenSSL
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// The messages about handshakes and connections that fail for other reasons than the server's certificate.
@Suite(.timeLimit(.minutes(5)))
struct TLSFailureTests {
  private let trust: MemoryTrust

  init() throws { trust = try MemoryTrust() }

  private func session(port: Int = 8443) throws -> TLSSession {
    try TLSSession(trust.context(), peer: TLSPeer(host: "example.com", port: port), protocols: ["h2", "http/1.1"])
  }

  private func failure(_ body: () throws(HTTPError) -> Void) -> HTTPError? {
    do throws(HTTPError) {
      try body()
      return nil
    } catch { return error }
  }

  // MARK: - No TLS

  @Test(arguments: [
    ("HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", "'HTTP/1.1 400 Bad Request'"),
    ("SSH-2.0-OpenSSH_9.2\r\n", "'SSH-2.0-OpenSSH_9.2'"), ("220 mail ESMTP\r\n", "'220 mail ESMTP'"),
    ("\r\nHTTP", "the bytes 0d 0a 48 54 54 50"), ("\u{0}\u{0}\u{12}\u{4}\u{0}", "the bytes 00 00 12 04 00"),
    ("H", "'H'"),
  ])
  func aServerWithoutTLSIsNamed(answer: String, quoted: String) throws {
    for step in [1, 3, 100] {
      let session = try session()
      _ = try session.handshake()
      let bytes = Array(answer.utf8)
      let error = failure { () throws(HTTPError) in
        for start in stride(from: 0, to: bytes.count, by: step) {
          session.receive(Array(bytes[start..<min(start + step, bytes.count)]))
          _ = try session.handshake()
        }
        session.receiveEnd()
        _ = try session.handshake()
      }
      #expect(error?.kind == .tlsFailed)
      #expect(error?.phase == .securing)
      let message = try #require(error?.message)
      #expect(
        message.hasPrefix("example.com:8443: the server does not use TLS on this port: it may be one for http"),
        "\(message)")
      if step == 100 { #expect(message.contains(quoted), "\(message)") }
    }
  }

  @Test func aServerThatClosesTheConnectionIsNamed() throws {
    let silent = try session()
    silent.receiveEnd()
    let error = failure { () throws(HTTPError) in _ = try silent.handshake() }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("closed the connection before it answered") == true)

    let connection = try trust.connection()
    _ = try connection.client.handshake()
    connection.server.receive(connection.client.takeOutgoing())
    connection.server.handshake()
    connection.client.receive(Array(connection.server.takeOutgoing().dropLast(10)))
    #expect(try !connection.client.handshake())
    connection.client.receiveEnd()
    let later = failure { () throws(HTTPError) in _ = try connection.client.handshake() }
    #expect(later?.kind == .tlsFailed)
    #expect(later?.message.contains("during the handshake") == true)
  }

  // MARK: - Versions and ciphers

  @Test func theLowestVersionIsRequired() throws {
    let connection = try trust.connection(context: trust.context { $0.minimumVersion = .v1_3 }) {
      $0.versions = TLS1_2_VERSION...TLS1_2_VERSION
    }
    let error = failure { () throws(HTTPError) in try connection.shakeHands() }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("does not support TLS 1.3") == true)

    let modern = try trust.connection(context: trust.context { $0.minimumVersion = .v1_3 })
    #expect(failure { () throws(HTTPError) in try modern.shakeHands() } == nil)
    #expect(modern.client.version == "TLSv1.3")
  }

  @Test func noCommonCipherIsNamed() throws {
    let connection = try trust.connection {
      $0.versions = TLS1_2_VERSION...TLS1_2_VERSION
      $0.ciphers = "PSK"
    }
    let error = failure { () throws(HTTPError) in try connection.shakeHands() }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("no common cipher") == true)
  }

  // MARK: - Client certificates

  /// Completes a handshake with a server that requires a client certificate, and reads its answer.
  private func failure(_ connection: MemoryConnection) -> HTTPError? {
    failure { () throws(HTTPError) in
      try connection.shakeHands()
      connection.server.handshake()
      connection.client.receive(connection.server.takeOutgoing())
      _ = try connection.client.readAll()
    }
  }

  @Test(arguments: TLSSessionTests.versions)
  func aClientCertificateIsSent(version: Int32) throws {
    let connection = try trust.connection(context: clientContext(trust.authority)) {
      $0.clients = trust.authority.identity
      $0.versions = version...version
    }
    #expect(failure(connection) == nil)
    #expect(connection.server.clientName == "client")
  }

  @Test(arguments: TLSSessionTests.versions)
  func aClientCertificateThatTheServerRefusesIsNamed(version: Int32) throws {
    let connection = try trust.connection(context: clientContext(MemoryAuthority())) {
      $0.clients = trust.authority.identity
      $0.versions = version...version
    }
    let error = failure(connection)
    #expect(error?.kind == .badClientCertificate)
    #expect(error?.phase == .securing)
    #expect(error?.message.contains("unknown ca") == true)
  }

  @Test(arguments: TLSSessionTests.versions)
  func aMissingClientCertificateIsNamed(version: Int32) throws {
    let connection = try trust.connection {
      $0.clients = trust.authority.identity
      $0.versions = version...version
    }
    let error = failure(connection)
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("requires a client certificate") == true)
  }

  @Test func anAlertAboutACertificateThatIsNotSetMeansThatOneIsRequired() throws {
    let badCertificate: [UInt8] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x2a]
    let table: [(TLSContext, HTTPError.Kind, String)] = [
      (try trust.context(), .tlsFailed, "the server requires a client certificate"),
      (try clientContext(trust.authority), .badClientCertificate, "the server refused the client certificate"),
    ]
    for (context, kind, words) in table {
      let client = try trust.connection(context: context).client
      _ = try client.handshake()
      client.receive(badCertificate)
      let error = failure { () throws(HTTPError) in _ = try client.handshake() }
      #expect(error?.kind == kind)
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
  }

  private func clientContext(_ authority: MemoryAuthority) throws -> TLSContext {
    let client = try authority.server(nil, subject: "client", purpose: "clientAuth")
    try trust.folder.write(client.pem, to: "client.pem")
    try trust.folder.write(client.keyPEM(), to: "client.key")
    return try trust.context {
      $0.clientCertificate = .pem(certificate: trust.folder.file("client.pem"), key: trust.folder.file("client.key"))
    }
  }

  // MARK: - Damage

  @Test(arguments: TLSSessionTests.versions)
  func aDamagedRecordEndsTheConnection(version: Int32) throws {
    let connection = try trust.connection { $0.versions = version...version }
    try connection.shakeHands()
    _ = try connection.readAtClient()
    connection.server.write(Array("data".utf8))
    var record = connection.server.takeOutgoing()
    record[record.count - 1] ^= 1
    connection.client.receive(record)

    for _ in 0..<2 {
      let error = failure { () throws(HTTPError) in _ = try connection.client.readAll() }
      #expect(error?.kind == .connectionLost)
      #expect(error?.message.hasPrefix("example.com: the TLS connection failed") == true)
    }
    #expect(failure { () throws(HTTPError) in try connection.client.write([1]) }?.kind == .connectionLost)
    // the server is notified
    #expect(!connection.client.outgoing.isEmpty)
  }

  @Test func damagedHandshakesFailOrWait() throws {
    var random = SeededGenerator(seed: 15)
    let context = try trust.context()
    for round in 0..<600 {
      let version = round.isMultiple(of: 2) ? TLS1_2_VERSION : TLS1_3_VERSION
      let connection = try trust.connection(context: context) { $0.versions = version...version }
      _ = try connection.client.handshake()
      connection.server.receive(connection.client.takeOutgoing())
      connection.server.handshake()
      let whole = connection.server.takeOutgoing()
      // The versions in the headers of the records that are not encrypted may be any.
      let start = version == TLS1_3_VERSION ? startOfEncryptedRecords(of: whole) : 0
      let flight = damaged(whole, from: start, &random)
      if flight.starts(with: whole) { continue }  // Several changes may cancel each other out.
      connection.client.receive(flight)
      var isComplete = false
      let error = failure { () throws(HTTPError) in isComplete = try connection.client.handshake() }
      // The last message of a handshake of TLS 1.3 confirms all of them; in TLS 1.2 another one follows.
      #expect(!isComplete, "\(round)")
      if let error {
        #expect([.tlsFailed, .untrustedCertificate].contains(error.kind), "\(round): \(error)")
      } else {
        connection.client.receiveEnd()
        #expect(failure { () throws(HTTPError) in _ = try connection.client.handshake() }?.kind == .tlsFailed)
      }
    }
  }

  /// Changes, removes or adds bytes from an offset on.
  private func damaged(_ whole: [UInt8], from start: Int, _ random: inout SeededGenerator) -> [UInt8] {
    var flight = whole
    for _ in 0...Int.random(in: 0..<3, using: &random) where flight.count > start {
      let position = Int.random(in: start..<flight.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: flight.remove(at: position)
      case 1: flight.insert(UInt8.random(in: 0...255, using: &random), at: position)
      case 2: flight.removeLast(position - start)
      default: flight[position] ^= UInt8.random(in: 1...255, using: &random)
      }
    }
    return flight
  }

  /// The offset of the first record of the type that encrypted ones have (RFC 8446 §5.2).
  private func startOfEncryptedRecords(of flight: [UInt8]) -> Int {
    var start = 0
    while start + 5 < flight.count, flight[start] != 23 {
      start += 5 + (Int(flight[start + 3]) << 8) + Int(flight[start + 4])
    }
    return start
  }
}
