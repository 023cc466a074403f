import Foundation
@_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import MartletTesting
import Testing

@testable import MartletWebSocket

/// Frames out of bytes that arrive in any pieces.
struct FrameReaderTests {
  /// What a reader said about bytes, with the pieces of each message joined.
  private func events(_ bytes: Data, inPiecesOf size: Int, _ agreement: DeflateAgreement? = nil) throws -> [String] {
    var reader = FrameReader(agreement, ratioLimit: nil)
    var events: [String] = []
    var message = Data()
    for start in stride(from: 0, to: bytes.count, by: size) {
      reader.add(bytes[start..<min(bytes.count, start + size)])
      while let event = try reader.next() {
        switch event {
        case .piece(let piece):
          #expect(piece.isFirst == message.isEmpty || piece.isLast && piece.bytes.isEmpty)
          message += piece.bytes
          if piece.isLast {
            events.append("\(piece.isText ? "text" : "data") \(String(decoding: message, as: UTF8.self))")
            message = Data()
          }
        case .nothing: break
        case .ping(let payload): events.append("ping \(String(decoding: payload, as: UTF8.self))")
        case .pong(let payload): events.append("pong \(String(decoding: payload, as: UTF8.self))")
        case .close(let frame): events.append("close \(frame.code ?? 0) \(frame.reason)")
        }
      }
    }
    return events
  }

  @Test func anyPiecesGiveTheSameEvents() throws {
    let long = String(repeating: "ö", count: 70)
    var bytes = LoopbackWebSocket.frame(1, Data("one".utf8))
    bytes += LoopbackWebSocket.frame(1, Data(long.utf8.prefix(3)), isFinal: false)
    bytes += LoopbackWebSocket.frame(9, Data("now".utf8))
    bytes += LoopbackWebSocket.frame(0, Data(long.utf8.dropFirst(3)))
    bytes += LoopbackWebSocket.frame(10)
    bytes += LoopbackWebSocket.frame(2)
    bytes += LoopbackWebSocket.frame(8, Data([0x03, 0xE9]) + Data("bye".utf8))
    let expected = ["text one", "ping now", "text \(long)", "pong ", "data ", "close 1001 bye"]
    for size in 1...bytes.count { #expect(try events(bytes, inPiecesOf: size) == expected) }
  }

  @Test func anyPiecesOfCompressedMessagesGiveTheSameEvents() throws {
    let deflater = try #require(MessageDeflater(windowBits: 15, resets: false))
    let texts = ["Hello", "Hello", "", String(repeating: "abc", count: 20_000), "Hello"]
    var bytes = Data()
    for text in texts {
      let packed = Data(Array(text.utf8).withUnsafeBytes { deflater.compress($0, isLast: true) })
      bytes += LoopbackWebSocket.frame(1, packed.prefix(1), isFinal: false, isCompressed: true)
      bytes += LoopbackWebSocket.frame(0, packed.dropFirst())
    }
    bytes += LoopbackWebSocket.frame(1, Data("plain".utf8))
    for size in 1...bytes.count {
      #expect(try events(bytes, inPiecesOf: size, .init()) == (texts + ["plain"]).map { "text \($0)" })
    }
  }

  @Test(
    "The longest frame that RFC 6455 §5.2 allows does not stop the program", arguments: [false, true], [false, true])
  func longestFrame(isCompressed: Bool, isSkipped: Bool) throws {
    let first: UInt8 = isCompressed ? 0xC2 : 0x82
    let header = Data([first, 127, 0x7F] + Array(repeating: 0xFF, count: 7))
    var reader = FrameReader(isCompressed ? DeflateAgreement() : nil, ratioLimit: nil)
    reader.skipsMessages = isSkipped
    reader.add(LoopbackWebSocket.frame(9) + header + Data([0x4A, 0x4C, 0x02]))
    _ = try #require(try reader.next())  // the ping

    var event = try reader.next()
    if case .nothing = event { event = try reader.next() }

    if case .piece(let piece) = event {
      #expect(!isSkipped && !piece.isLast)
      if !isCompressed { #expect(piece.bytes.count == 3 && piece.following == Int.max - 3) }
    } else {
      #expect(event == nil && (isSkipped || isCompressed))
    }
  }

  @Test func aWrongByteIsFoundBeforeItsFrameIsComplete() {
    var bytes = LoopbackWebSocket.frame(1, Data([0x61, 0xF4, 0x90, 0x80, 0x80]))
    bytes.removeLast(2)
    let fault = #expect(throws: WebSocketFault.self) { try self.events(bytes, inPiecesOf: 1) }
    #expect(fault?.code == 1007)
  }

  @Test func aPieceSaysHowMuchIsToCome() throws {
    var reader = FrameReader(nil, ratioLimit: nil)
    reader.add(LoopbackWebSocket.frame(2, Data(count: 1000)).prefix(104))
    guard case .piece(let piece) = try reader.next() else {
      Issue.record("no piece")
      return
    }
    #expect(piece.bytes.count == 100)
    #expect(piece.following == 900)
  }
}
