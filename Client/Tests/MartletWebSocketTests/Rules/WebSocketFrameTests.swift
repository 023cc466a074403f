import FoundationEssentials
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Testing

@_spi(Toolkit) @testable import MartletSemantics
@_spi(Toolkit) @_spi(Transports) @testable import MartletWebSocket

/// RFC 6455 §5: frames.
struct WebSocketFrameTests {
  typealias Header = WebSocketFrameHeader

  private func read(
    _ bytes: [UInt8], from sender: Header.Sender = .server, compressed: Bool = false
  ) throws(WebSocketFault) -> (header: Header, size: Int)? {
    var result: Result<(header: Header, size: Int)?, WebSocketFault> = .success(nil)
    bytes.withUnsafeBytes { bytes in
      do throws(WebSocketFault) {
        result = .success(try Header.read(bytes, from: sender, allowsCompression: compressed))
      } catch { result = .failure(error) }
    }
    return try result.get()
  }

  private func frame(_ header: Header, _ payload: [UInt8] = []) -> [UInt8] {
    payload.withUnsafeBytes { [UInt8](header.frame($0)) }
  }

  private static let hello = Array("Hello".utf8)

  // MARK: - §5.7: the examples

  @Test func aSingleFrameTextMessageIsTheRFCs() throws {
    #expect(frame(Header(.text, length: 5), Self.hello) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
  }

  @Test func aMaskedTextMessageIsTheRFCs() throws {
    let key = [UInt8]([0x37, 0xFA, 0x21, 0x3D]).withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    let bytes: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
    let header = Header(.text, length: 5, mask: key)
    #expect(frame(header, Self.hello) == bytes)
    let (read, size) = try #require(try read(bytes, from: .client))
    #expect(read == header)
    #expect(size == 6)
  }

  @Test func aFragmentedTextMessageIsTheRFCs() throws {
    #expect(frame(Header(.text, length: 3, isFinal: false), Array("Hel".utf8)) == [0x01, 0x03, 0x48, 0x65, 0x6C])
    #expect(frame(Header(.continuation, length: 2), Array("lo".utf8)) == [0x80, 0x02, 0x6C, 0x6F])
  }

  @Test func aPingAndItsPongAreTheRFCs() throws {
    #expect(frame(Header(.ping, length: 5), Self.hello) == [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    #expect(frame(Header(.pong, length: 5), Self.hello) == [0x8A, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
  }

  @Test(
    arguments: [
      (125, [0x82, 125]), (126, [0x82, 126, 0, 126]), (256, [0x82, 126, 1, 0]), (65_535, [0x82, 126, 0xFF, 0xFF]),
      (65_536, [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] as [(Int, [UInt8])])
  func theLengthHasTheFewestBytes(_ length: Int, head: [UInt8]) throws {
    let frame = frame(Header(.binary, length: length), [UInt8](repeating: 7, count: length))
    #expect(Array(frame.prefix(head.count)) == head)
    #expect(frame.count == head.count + length)
    let (header, size) = try #require(try read(frame))
    #expect(header.length == length)
    #expect(size == head.count)
  }

  // MARK: - §5.2 and §5.5: what must not be sent

  @Test(
    arguments: [
      ("RSV2", [0xA1, 0]), ("RSV3", [0x91, 0]), ("RSV1 without an agreement", [0xC1, 0]),
      ("a reserved data frame", [0x83, 0]), ("another one", [0x87, 0]), ("a reserved control frame", [0x8B, 0]),
      ("the last opcode", [0x8F, 0]), ("a masked frame of a server", [0x81, 0x80]), ("a fragmented ping", [0x09, 0]),
      ("a fragmented Close", [0x08, 0]), ("a ping of 126 bytes", [0x89, 126]), ("a pong of 64 bits", [0x8A, 127]),
      ("125 in 16 bits", [0x82, 126, 0, 125]), ("0 in 16 bits", [0x81, 126, 0, 0]),
      ("126 in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 126]),
      ("65,535 in 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
      ("the top bit of the length", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
    ] as [(String, [UInt8])])
  func aViolationIsFoundInTheFirstBytes(_ what: String, bytes: [UInt8]) {
    let fault = #expect(throws: WebSocketFault.self, "\(what)") { try self.read(bytes) }
    #expect(fault?.code == 1002)
  }

  @Test func anUnmaskedFrameOfAClientIsAViolation() {
    #expect(throws: WebSocketFault.self) { try self.read([0x81, 0], from: .client) }
  }

  /// RFC 7692 §6: RSV1 is set on the first frame of a message only.
  @Test(
    arguments: [
      (0xC1, true), (0xC2, true), (0x41, true), (0xC0, false), (0xC9, false), (0xCA, false), (0xC8, false),
    ] as [(UInt8, Bool)])
  func aCompressedMessageIsMarkedOnItsFirstFrame(_ first: UInt8, isAllowed: Bool) throws {
    if isAllowed {
      #expect(try read([first, 0], compressed: true)?.header.isCompressed == true)
    } else {
      #expect(throws: WebSocketFault.self) { try self.read([first, 0], compressed: true) }
    }
  }

  @Test func aHeaderIsReadOnlyWhenItIsComplete() throws {
    let frames: [[UInt8]] = [
      [0x81, 0x05], [0x82, 126, 1, 0], [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], [0x81, 0x85, 1, 2, 3, 4],
    ]
    for frame in frames {
      let sender: Header.Sender = frame[1] & 0x80 == 0 ? .server : .client
      for count in 0..<frame.count { #expect(try read(Array(frame.prefix(count)), from: sender) == nil) }
      #expect(try read(frame + [9, 9], from: sender)?.size == frame.count)
    }
  }

  @Test func everyHeaderIsReadAsItWasWritten() throws {
    for opcode in [Header.Opcode.continuation, .text, .binary, .close, .ping, .pong] {
      for isFinal in [true, false] where isFinal || !opcode.isControl {
        for length in [0, 1, 125, 126, 65_536] where length <= 125 || !opcode.isControl {
          let isCompressed = opcode == .text
          let header = Header(
            opcode, length: length, isFinal: isFinal, isCompressed: isCompressed, mask: 0x0102_0304)
          let bytes = frame(header, [UInt8](repeating: 1, count: length))
          #expect(try read(bytes, from: .client, compressed: true)?.header == header)
        }
      }
    }
  }

  // MARK: - §5.3: the mask

  @Test func aMaskIsAppliedFromAnyPosition() throws {
    let key: [UInt8] = [0x11, 0x22, 0x44, 0x88]
    let mask = key.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    let plain = (0..<70).map { UInt8($0) }
    let masked = plain.enumerated().map { $0.element ^ key[$0.offset % 4] }
    for start in 0..<12 {
      for end in [start, start + 1, start + 9, 70] {
        var bytes = Array(plain[start..<end])
        bytes.withUnsafeMutableBytes { WebSocketMask.apply(mask, to: UnsafeRawBufferPointer($0), into: $0, at: start) }
        #expect(bytes == Array(masked[start..<end]))
      }
    }
  }

  // MARK: - §5.4: fragments

  private enum Step: Sendable {
    case begin(Header.Opcode, final: Bool = true)
    case text([UInt8])
    case end
  }

  private func run(_ steps: [Step]) throws {
    var fragments = MessageFragments()
    for step in steps {
      switch step {
      case .begin(let opcode, let isFinal): _ = try fragments.begin(Header(opcode, length: 0, isFinal: isFinal))
      case .text(let bytes): try bytes.withUnsafeBytes { try fragments.add($0) }
      case .end: try fragments.end()
      }
    }
  }

  @Test func aMessageIsAFrameAndItsContinuations() throws {
    try run([
      .begin(.text), .end, .begin(.binary, final: false), .begin(.continuation, final: false), .begin(.continuation),
      .end, .begin(.text), .end,
    ])
  }

  @Test func aContinuationNeedsAMessage() {
    #expect(throws: WebSocketFault.self) { try self.run([.begin(.continuation)]) }
    #expect(throws: WebSocketFault.self) { try self.run([.begin(.text), .end, .begin(.continuation)]) }
  }

  @Test func messagesDoNotInterleave() {
    #expect(throws: WebSocketFault.self) { try self.run([.begin(.text, final: false), .begin(.text)]) }
    #expect(throws: WebSocketFault.self) { try self.run([.begin(.binary, final: false), .begin(.text)]) }
  }

  // MARK: - §8.1: text

  @Test func aCharacterMayBeSplitOverFragments() throws {
    try run([.begin(.text, final: false), .text([0xE2]), .begin(.continuation), .text([0x82]), .text([0xAC]), .end])
  }

  @Test func textIsJudgedBeforeItsMessageEnds() {
    let fault = #expect(throws: WebSocketFault.self) {
      try self.run([.begin(.text, final: false), .text([0xED, 0xA0])])
    }
    #expect(fault?.code == 1007)
  }

  @Test func textMustNotEndWithinACharacter() {
    let fault = #expect(throws: WebSocketFault.self) { try self.run([.begin(.text), .text([0xE2, 0x82]), .end]) }
    #expect(fault?.code == 1007)
  }

  @Test func binaryMessagesAreNotJudged() throws { try run([.begin(.binary), .text([0xFF, 0xFE]), .end]) }
}
