import COpenSSL
import MartletEngine
import MartletSemantics
import TestServers
import Testing

@testable import MartletSockets

/// Records without application data: some are allowed, a flood ends the connection.
@Suite(.timeLimit(.minutes(5)))
struct RecordFloodTests {
  private let trust: MemoryTrust

  init() throws { trust = try MemoryTrust() }

  private func connection() throws -> MemoryConnection {
    let connection = try trust.connection { $0.versions = TLS1_3_VERSION...TLS1_3_VERSION }
    try connection.shakeHands()
    return connection
  }

  private func send(_ record: FloodServer.Record, times count: Int, from server: MemoryServer) {
    for _ in 0..<count {
      switch record {
      case .ticket: SSL_new_session_ticket(server.ssl)
      case .keyUpdate: SSL_key_update(server.ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
      case .keyUpdateRequest: SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED)
      }
      server.handshake()
    }
  }

  /// The bytes arrive at once, like from a loop that was busy.
  @Test(arguments: FloodServer.Record.allCases)
  func aFloodIsNotDecrypted(_ record: FloodServer.Record) throws {
    let connection = try connection()
    send(record, times: 2000, from: connection.server)

    let error = #expect(throws: HTTPError.self) { try connection.readAtClient() }

    #expect(error?.kind == .protocolViolation)
    #expect(error?.message.contains("TLS records that have no content") == true)
    #expect(connection.client.outgoing.count < 4 << 10)
  }

  @Test(arguments: FloodServer.Record.allCases, [1, .max])
  func someRecordsAreFineAfterEachPieceOfData(_ record: FloodServer.Record, step: Int) throws {
    let connection = try connection()
    for _ in 0..<20 {
      send(record, times: 30, from: connection.server)
      connection.server.write(Array("data".utf8))
      var received: [UInt8] = []
      let bytes = connection.server.takeOutgoing()
      for start in stride(from: 0, to: bytes.count, by: min(step, bytes.count)) {
        connection.client.receive(Array(bytes[start...].prefix(step)))
        received += try connection.client.readAll().bytes
      }
      #expect(received == Array("data".utf8))
      _ = connection.readAtServer()
    }
  }

  /// A record of application data has up to 16 KiB, and may arrive in pieces.
  @Test func largeRecordsAreFine() throws {
    let connection = try connection()
    let data = [UInt8](repeating: 7, count: 200_000)
    connection.server.write(data)
    var received: [UInt8] = []
    let bytes = connection.server.takeOutgoing()
    for start in stride(from: 0, to: bytes.count, by: 5000) {
      connection.client.receive(Array(bytes[start...].prefix(5000)))
      received += try connection.client.readAll().bytes
    }
    #expect(received == data)
  }

  /// Lengths of records and how they are counted.
  @Test func recordsAreCountedByTheirHeaders() {
    func isExceeded(_ records: [Int], pieces: Int = .max) -> Bool {
      var count = RecordCount()
      let bytes = records.flatMap { [23, 3, 3, UInt8($0 >> 8), UInt8($0 & 255)] + [UInt8](repeating: 0, count: $0) }
      for start in stride(from: 0, to: bytes.count, by: min(pieces, bytes.count)) {
        Array(bytes[start...].prefix(pieces)).withUnsafeBytes { count.add($0) }
      }
      return count.isExceeded
    }
    for pieces in [1, 5, 7, .max] {
      #expect(!isExceeded(Array(repeating: 20, count: 33), pieces: pieces))
      #expect(isExceeded(Array(repeating: 20, count: 34), pieces: pieces))
      #expect(isExceeded(Array(repeating: 0, count: 34), pieces: pieces))
      // the last may have data
      #expect(!isExceeded([16_000, 16_000], pieces: pieces))
      #expect(isExceeded([16_000, 16_000, 20], pieces: pieces))
    }
  }

  /// The server reports how much it could send.
  @Test(arguments: FloodServer.Record.allCases)
  func anIdleConnectionThatIsFloodedIsClosed(_ record: FloodServer.Record) async throws {
    let server = try FloodServer(record)
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.tls.authorities = server.authority.certificate
    let transports = [SocketTransport(configuration), SocketTransport(configuration)]
    var texts: [String] = []
    for transport in transports {
      let response = try await transport.send(HTTPRequest(.get, server.url), in: Call())
      texts.append(String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self))
    }

    #expect(texts[0] == "0")
    #expect(try #require(Int(texts[1])) < FloodServer.most)
    #expect(await transports[0].statistics().values.map(\.idle) == [0])
  }
}
