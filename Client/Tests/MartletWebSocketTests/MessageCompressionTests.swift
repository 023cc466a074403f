import Foundation
@_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import MartletTesting
import Testing

@testable import MartletWebSocket

extension MessageInflater {
  /// Decompresses a whole message.
  func message(_ packed: Data) throws -> Data {
    var output = Data()
    var rest = packed
    while true {
      let step = try rest.withUnsafeBytes { try decompress($0) }
      output += step.output
      rest = rest.dropFirst(step.consumed)
      if step.isDone { break }
    }
    while true {
      let step = try decompressEnd()
      output += step.output
      if step.isDone { return output }
    }
  }
}

/// RFC 7692 §7.2: compression of messages.
struct MessageCompressionTests {
  private func compressed(_ text: String, by deflater: MessageDeflater) -> [UInt8] {
    Array(text.utf8).withUnsafeBytes { deflater.compress($0, isLast: true) }
  }

  // MARK: - §7.2.3: the examples

  @Test func theFirstMessageIsTheRFCs() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    #expect(compressed("Hello", by: deflater) == [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
    // §7.2.3.2: the second one refers to the first
    #expect(compressed("Hello", by: deflater) == [0xF2, 0x00, 0x11, 0x00, 0x00])
  }

  @Test func withoutContextEveryMessageIsTheFirst() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: true))
    for _ in 0..<3 { #expect(compressed("Hello", by: deflater) == [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]) }
  }

  @Test(
    arguments: [
      ("§7.2.3.1", [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
      (
        "§7.2.3.3, a block without compression", [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
        "Hello"
      ),
      ("§7.2.3.4, a block with BFINAL", [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "Hello"),
      (
        "§7.2.3.5, two blocks", [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "Hello"
      ),
      ("§7.2.3.6, an empty message", [0x00], ""),
    ] as [(String, [UInt8], String)])
  func theExamplesAreRead(_ what: String, packed: [UInt8], text: String) throws {
    let inflater = try MessageInflater(windowBits: 15, resets: false)
    for _ in 0..<2 { #expect(try inflater.message(Data(packed)) == Data(text.utf8), "\(what)") }
  }

  @Test func aMessageMayReferToOneThatEndedWithBFINAL() throws {
    let inflater = try MessageInflater(windowBits: 15, resets: false)
    #expect(try inflater.message(Data([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00])) == Data("Hello".utf8))
    #expect(try inflater.message(Data([0xF2, 0x00, 0x11, 0x00, 0x00])) == Data("Hello".utf8))
  }

  @Test func anEmptyMessageIsAnEmptyBlock() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    for _ in 0..<3 { #expect(compressed("", by: deflater) == [0x00]) }
  }

  // MARK: - Windows and pieces

  @Test(arguments: 9...15) func everyWindowIsReadByItsOwn(_ bits: Int) throws {
    let deflater = try #require(MessageDeflater(windowBits: bits, resets: false))
    let inflater = try MessageInflater(windowBits: bits, resets: false)
    var generator = SystemRandomNumberGenerator()
    for size in [1, 100, 5000, 70_000] {
      let text = Data((0..<size).map { _ in UInt8.random(in: 97...105, using: &generator) })
      let packed = Data(text.withUnsafeBytes { deflater.compress($0, isLast: true) })
      #expect(try inflater.message(packed) == text)
    }
  }

  /// zlib cannot keep to a window of 256 bytes, and messages may always be sent as they are.
  @Test func forTheSmallestWindowNothingIsCompressed() {
    #expect(MessageDeflater(windowBits: 8, resets: false) == nil)
  }

  @Test func aPieceCanBeReadBeforeTheNextIsSent() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    let inflater = try MessageInflater(windowBits: 15, resets: false)
    for _ in 0..<2 {
      for piece in ["first ", "second ", "third"] {
        let packed = Array(piece.utf8).withUnsafeBytes { deflater.compress($0, isLast: false) }
        let step = try packed.withUnsafeBytes { try inflater.decompress($0) }
        #expect(step.output == Data(piece.utf8))
      }
      let end = Data([UInt8]().withUnsafeBytes { deflater.compress($0, isLast: true) })
      #expect(try inflater.message(end).isEmpty)
    }
  }

  @Test func aStepIsBounded() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    let packed = Data(count: 10 << 20).withUnsafeBytes { deflater.compress($0, isLast: true) }
    let inflater = try MessageInflater(windowBits: 15, resets: false)
    let step = try packed.withUnsafeBytes { try inflater.decompress($0) }
    #expect(step.output.count == MessageInflater.stepLimit)
    #expect(!step.isDone)
  }

  /// libwebsockets 1470: a pong between the frames of a compressed message was decompressed.
  @Test func controlFramesMayStandBetweenTheFramesOfACompressedMessage() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    var reader = FrameReader(DeflateAgreement(), ratioLimit: nil)
    for text in ["hello, hello, hello", "hello again, and hello"] {
      let packed = Data(Array(text.utf8).withUnsafeBytes { deflater.compress($0, isLast: true) })
      var frames = LoopbackWebSocket.frame(1, packed.prefix(5), isFinal: false, isCompressed: true)
      frames += LoopbackWebSocket.frame(9, Data("?".utf8)) + LoopbackWebSocket.frame(10, Data("!".utf8))
      reader.add(frames + LoopbackWebSocket.frame(0, packed.dropFirst(5)))
      var received = Data()
      var controls = ""
      while let event = try reader.next() {
        switch event {
        case .piece(let piece): received += piece.bytes
        case .ping(let payload), .pong(let payload): controls += String(decoding: payload, as: UTF8.self)
        default: break
        }
      }
      #expect(String(decoding: received, as: UTF8.self) == text)
      #expect(controls == "?!")
    }
  }

  // MARK: - Bombs

  /// A frame with a compressed message of zeros.
  private static func bomb(_ size: Int) throws -> Data {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    let packed = Data(count: size).withUnsafeBytes { deflater.compress($0, isLast: true) }
    return LoopbackWebSocket.frame(2, Data(packed), isCompressed: true)
  }

  @Test func aBombIsInflatedAsFarAsItsRatioAllows() throws {
    var reader = FrameReader(DeflateAgreement(), ratioLimit: 100)
    reader.add(try Self.bomb(64 << 20))
    #expect(throws: WebSocketFault.self) { while try reader.next() != nil {} }
    let limit = 10 << 20  // below it, ratios are not checked
    #expect(limit...limit + 64 << 10 ~= reader.counts.inflated)
  }

  @Test func aBombIsInflatedAsFarAsItsReceiverWants() throws {
    var reader = FrameReader(DeflateAgreement(), ratioLimit: nil)
    reader.add(try Self.bomb(64 << 20) + LoopbackWebSocket.frame(9, Data("after".utf8)))
    let limit = 1 << 20
    var received = 0
    while received <= limit, case .piece(let piece) = try reader.next() { received += piece.bytes.count }
    reader.skipsMessages = true
    guard case .nothing = try reader.next(), case .ping = try reader.next() else {
      Issue.record("the message was not skipped")
      return
    }
    #expect(reader.counts.inflated == received && received <= limit + 64 << 10)
  }

  /// The rest of the message is not even decompressed: it could not be.
  @Test func overSocketsABombStopsAtTheLimitOfMessages() async throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    let packed = Data(Data(count: 1 << 20).withUnsafeBytes { deflater.compress($0, isLast: false) })
    let bytes =
      LoopbackWebSocket.frame(2, packed, isFinal: false, isCompressed: true)
      + LoopbackWebSocket.frame(0, Data(repeating: 0xFF, count: 1000))
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        try socket.send(bytes: bytes)
        while let frame = try socket.receiveFrame() {
          if frame.opcode == 8 { return try socket.sendFrame(8, frame.payload) }
        }
      }.with("Sec-WebSocket-Extensions", "permessage-deflate")
    }
    let socket = try await SocketBed().open(server) { $0.messageLimit = 256 << 10 }
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .bodyTooLarge)
    try await socket.channel.waitUntilClosed()
    #expect(socket.closeCode?.rawValue == 1009)
  }
}
