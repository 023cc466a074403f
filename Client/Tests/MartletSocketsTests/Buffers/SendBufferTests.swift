import MartletSemantics
import TestSupport
import Testing

@testable import MartletSockets

/// The buffer of bytes that wait to be sent.
struct SendBufferTests {
  @Test func whatIsConsumedIsTheFrontOfWhatWasAppended() {
    var buffer = SendBuffer()
    buffer.append("hello ".utf8)
    buffer.append("world".utf8)
    buffer.consume(4)
    #expect(text(buffer) == "o world")
    buffer.append("!".utf8)
    #expect(text(buffer) == "o world!")
    #expect(buffer.count == 8)
  }

  @Test func consumedBytesOfALargeBufferAreRemoved() {
    var buffer = SendBuffer()
    let bytes = Array(Data.counting(1_000_000))
    buffer.append(bytes)
    for _ in 0..<999 { buffer.consume(1000) }
    #expect(buffer.count == 1000)
    #expect(buffer.withUnsafeBytes { Array($0) } == Array(bytes.suffix(1000)))
    buffer.consume(1000)
    #expect(buffer.isEmpty)
  }

  private func text(_ buffer: SendBuffer) -> String { buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
