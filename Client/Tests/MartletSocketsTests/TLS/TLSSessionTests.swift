import COpenSSL
import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// Sessions with a server in memory: handshake, data, ends.
@Suite(.timeLimit(.minutes(5)))
struct TLSSessionTests {
  private let trust: MemoryTrust

  init() throws { trust = try MemoryTrust() }

  static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

  @Test(arguments: versions)
  func bytesGoBothWaysAfterTheHandshake(version: Int32) throws {
    let connection = try trust.connection { $0.versions = version...version }
    try connection.shakeHands()

    try connection.client.write(Array("question".utf8))
    #expect(connection.readAtServer() == Array("question".utf8))
    connection.server.write(Array("answer".utf8))
    #expect(try connection.readAtClient() == Array("answer".utf8))

    #expect(connection.client.version == (version == TLS1_3_VERSION ? "TLSv1.3" : "TLSv1.2"))
    #expect(!connection.client.cipher.isEmpty)
    #expect(connection.client.trustFailure == nil)
    #expect(connection.client.certificates == [trust.server.data])
    #expect(!connection.client.isResumed)
    #expect(connection.client.negotiatedProtocol == nil)
  }

  // MARK: - Pieces

  @Test(arguments: versions)
  func bytesMayComeOneAtATime(version: Int32) throws {
    let connection = try trust.connection { $0.versions = version...version }
    try connection.shakeHands(step: 1)

    connection.server.write(Array("one".utf8))
    connection.server.write(Array("two".utf8))
    var received: [UInt8] = []
    for byte in connection.server.takeOutgoing() {
      connection.client.receive([byte])
      received += try connection.client.readAll().bytes
    }
    #expect(received == Array("onetwo".utf8))
  }

  @Test(arguments: versions)
  func theHandshakeMayBeCutAtEveryByte(version: Int32) throws {
    let context = try trust.context()
    // the length of signatures varies by a byte or two
    for position in 1... {
      let connection = try trust.connection(context: context) { $0.versions = version...version }
      _ = try connection.client.handshake()
      connection.server.receive(connection.client.takeOutgoing())
      connection.server.handshake()
      let flight = connection.server.takeOutgoing()
      guard position < flight.count else {
        #expect(position > 500)
        return
      }
      connection.client.receive(Array(flight.prefix(position)))
      #expect(try !connection.client.handshake())
      connection.client.receive(Array(flight.dropFirst(position)))
      try connection.shakeHands()
    }
  }

  @Test func lentBytesThatAreNotReadAreKept() throws {
    let connection = try trust.connection()
    try connection.shakeHands()
    _ = try connection.readAtClient()
    let content = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    connection.server.write(content)
    let ciphertext = connection.server.takeOutgoing()
    var buffer = [UInt8](repeating: 0, count: 1000)

    // only the first record is decrypted while the bytes are lent
    let first = try ciphertext.withUnsafeBytes { bytes in
      try connection.client.withReceived(bytes) { () throws(HTTPError) in
        var result: Result<TLSSession.ReadResult, HTTPError> = .success(.needsMore)
        buffer.withUnsafeMutableBytes { target in
          do throws(HTTPError) { result = .success(try connection.client.read(into: target)) } catch {
            result = .failure(error)
          }
        }
        return try result.get()
      }
    }

    #expect(first == .bytes(1000))
    #expect(buffer + (try connection.client.readAll().bytes) == content)
  }

  @Test(arguments: versions)
  func largeDataGoesBothWays(version: Int32) throws {
    let connection = try trust.connection { $0.versions = version...version }
    try connection.shakeHands()
    let content = Array(Data.counting(3_000_000))

    try connection.client.write(content)
    #expect(connection.readAtServer() == content)

    connection.server.write(content)
    let ciphertext = connection.server.takeOutgoing()
    var received: [UInt8] = []
    for start in stride(from: 0, to: ciphertext.count, by: 30_011) {
      connection.client.receive(Array(ciphertext[start..<min(start + 30_011, ciphertext.count)]))
      received += try connection.client.readAll(16 << 10).bytes
    }
    #expect(received == content)
    #expect(connection.client.received.count == 0)
  }

  @Test func aSessionRunsWithinAnother() throws {
    let outer = try trust.connection()
    try outer.shakeHands()
    let inner = try trust.connection(host: "inner.example.com")
    /// Moves the inner connection's bytes through the outer one.
    func exchange() throws {
      try outer.client.write(inner.client.takeOutgoing())
      inner.server.receive(outer.readAtServer())
      inner.server.handshake()
      outer.server.write(inner.server.takeOutgoing())
      inner.client.receive(try outer.readAtClient())
    }

    while try !inner.client.handshake() { try exchange() }
    try exchange()
    try inner.client.write(Array("within".utf8))
    try outer.client.write(inner.client.takeOutgoing())
    inner.server.receive(outer.readAtServer())

    #expect(inner.server.read() == Array("within".utf8))
    #expect(inner.server.requestedName == "inner.example.com")
  }

  // MARK: - Negotiation

  @Test(arguments: versions)
  func theFirstProtocolThatTheServerSupportsIsChosen(version: Int32) throws {
    let connection = try trust.connection(protocols: ["h2", "http/1.1"]) {
      $0.versions = version...version
      $0.protocols = ["http/1.1"]
    }
    try connection.shakeHands()
    #expect(connection.client.negotiatedProtocol == "http/1.1")
  }

  @Test func aServerWithoutNegotiationChoosesNoProtocol() throws {
    let connection = try trust.connection(protocols: ["h2", "http/1.1"])
    try connection.shakeHands()
    #expect(connection.client.negotiatedProtocol == nil)
  }

  @Test func noCommonProtocolIsAnError() throws {
    let connection = try trust.connection(protocols: ["h2"]) { $0.protocols = ["imap"] }
    let error = #expect(throws: HTTPError.self) { try connection.shakeHands() }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("none of the protocols") == true)
  }

  @Test func aProtocolThatWasNotOfferedIsRefused() throws {
    let connection = try trust.connection(protocols: ["h2", "http/1.1"]) {
      $0.protocols = ["h3"]
      $0.choosesUnoffered = true
    }
    let error = #expect(throws: HTTPError.self) { try connection.shakeHands() }
    #expect(error?.kind == .tlsFailed)
  }

  @Test(
    arguments: [
      ("example.com", "example.com"), ("Sub.Example.COM", "sub.example.com"), ("example.com.", "example.com"),
      ("127.0.0.1", nil), ("[::1]", nil), ("::1", nil),
    ] as [(String, String?)])
  func theNameIsSentToTheServerAnAddressIsNot(host: String, expected: String?) throws {
    let connection = try trust.connection(host: host)
    try connection.shakeHands()
    #expect(connection.server.requestedName == expected)
  }

  @Test(arguments: [
    "", ".", "[]", ".example.com", "www..example.com", "example.com..", "ex ample.com", "b\u{fc}cher.example",
    "example.com\0.org", String(repeating: "a", count: 254),
  ])
  func aHostThatNoCertificateCanHaveIsRefused(host: String) throws {
    let error = #expect(throws: HTTPError.self) { try TLSPeer(host: host, port: 443) }
    #expect(error?.kind == .invalidRequest)
  }

  // MARK: - Ends

  @Test(arguments: versions)
  func closeNotifyIsACleanEnd(version: Int32) throws {
    let connection = try trust.connection { $0.versions = version...version }
    try connection.shakeHands()
    connection.server.write(Array("last".utf8))
    connection.server.close()
    connection.client.receive(connection.server.takeOutgoing())
    connection.client.receiveEnd()

    let (bytes, result) = try connection.client.readAll()
    #expect(bytes == Array("last".utf8))
    #expect(result == .end(isClean: true))

    connection.client.close()
    connection.client.close()
    _ = connection.readAtServer()
    #expect(connection.server.sawClose)
  }

  @Test(arguments: versions)
  func anEndWithoutCloseNotifyIsNotClean(version: Int32) throws {
    for cut in [0, 1, 5, 20] {
      let connection = try trust.connection { $0.versions = version...version }
      try connection.shakeHands()
      connection.server.write(Array("data".utf8))
      connection.server.write(Array("more".utf8))
      let ciphertext = connection.server.takeOutgoing()
      connection.client.receive(Array(ciphertext.dropLast(cut)))
      connection.client.receiveEnd()

      let (bytes, result) = try connection.client.readAll()
      #expect(bytes == Array((cut == 0 ? "datamore" : "data").utf8))
      #expect(result == .end(isClean: false))
      // OpenSSL sends nothing about it to the server
      #expect(connection.client.outgoing.isEmpty)
    }
  }

  @Test func closingBeforeTheHandshakeSendsNothing() throws {
    let connection = try trust.connection()
    connection.client.close()
    #expect(connection.client.outgoing.isEmpty)
    _ = try connection.client.handshake()
    connection.client.close()
    connection.server.receive(connection.client.takeOutgoing())
    #expect(connection.server.handshake() == nil)
  }

  @Test func nothingCanBeWrittenBeforeTheHandshakeIsComplete() throws {
    let connection = try trust.connection()
    #expect(throws: HTTPError.self) { try connection.client.write([1]) }
    #expect(try connection.client.readAll().result == .needsMore)
    try connection.shakeHands()
    try connection.client.write([1])
    #expect(connection.readAtServer() == [1])
  }

  // MARK: - The rest of the protocol

  @Test func newKeysAreUsed() throws {
    let connection = try trust.connection()
    try connection.shakeHands()
    for index in 0..<5 as Range<UInt8> {
      #expect(SSL_key_update(connection.server.ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
      connection.server.write([index])
      #expect(try connection.readAtClient() == [index])
      try connection.client.write([index, index])
      #expect(connection.readAtServer() == [index, index])
    }
  }

  @Test func theDispositionOfSIGPIPEIsNotChanged() throws {
    func disposition() -> UInt {
      var action = sigaction()
      sigaction(SIGPIPE, nil, &action)
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
    }
    let before = disposition()
    try trust.connection().shakeHands()
    #expect(disposition() == before)
  }

  @Test func endedSessionsLeaveNothingBehind() throws {
    let freed = Counter()
    weak var last: TLSSession?
    do {
      let context = try trust.context()
      // each session counts as a use of its context in OpenSSL, so the context is freed after the last of them
      SSL_CTX_set_ex_data(context.raw, Self.freedContexts, Unmanaged.passUnretained(freed).toOpaque())
      let stranger = try MemoryAuthority().server("DNS:example.com")
      for round in 0..<100 {
        // some are complete, some refused, some end in the middle of the handshake, and some fail
        let connection = try trust.connection(to: round % 4 == 1 ? stranger : trust.server, context: context)
        last = connection.client
        if round % 4 == 2 { connection.client.receive(Array("HTTP/1.1 400 Bad Request".utf8)) }
        if round % 4 == 3 { _ = try connection.client.handshake() } else { try? connection.shakeHands() }
        _ = try? connection.readAtClient()
      }
      #expect(freed.value == 0)
    }
    #expect(last == nil)
    #expect(freed.value == 1)
  }

  /// The position of the counter in a context that counts when it is freed.
  private static let freedContexts = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil) {
    _, counter, _, _, _, _ in
    if let counter { Unmanaged<Counter>.fromOpaque(counter).takeUnretainedValue().next() }
  }
}
