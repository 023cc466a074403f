import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// The frames of a client.
@Suite(.timeLimit(.minutes(5)))
struct FrameWriterTests {
  /// A stream whose first write waits until the gate is open.
  private final class StalledStream: DuplexStream {
    let gate = Gate()
    let written = Awaitable<[Data]>([])

    func read(missing: Int) async throws -> Data? { nil }

    func write(_ bytes: Data) async throws {
      written.update { $0.append(bytes) }
      try await gate.wait()
    }

    func finish() {}
    func close() {}
    var executor: (any TaskExecutor)? { nil }
  }

  @Test func ofTooManyPongsTheNewestAreSent() async throws {
    let stream = StalledStream()
    let writer = FrameWriter(stream, nil)
    writer.post(.pong, Data("0".utf8))
    _ = try await stream.written.wait { $0.count == 1 ? true : nil }
    for number in 1...100 { writer.post(.pong, Data("\(number)".utf8)) }
    stream.gate.open()
    let frames = try await stream.written.wait { $0.count == 65 ? $0 : nil }
    let pongs = try frames.map(Self.payload)
    #expect(pongs == ["0"] + (37...100).map { "\($0)" })
  }

  @Test func eachFrameHasAMaskOfItsOwn() async throws {
    let stream = StalledStream()
    stream.gate.open()
    let writer = FrameWriter(stream, nil)
    for _ in 0..<200 {
      try await writer.begin()
      try await writer.send(MessagePiece(isText: false, Data(count: 8), isFirst: true, isLast: true))
      writer.end()
    }
    let masks = try stream.written.value.map { frame in
      try #require(
        try frame.withUnsafeBytes { bytes throws(WebSocketFault) in
          try WebSocketFrameHeader.read(bytes, from: .client, allowsCompression: false)
        }?.header.mask)
    }
    #expect(masks.count == 200 && Set(masks).count == 200 && !masks.contains(0))
  }

  private static func payload(_ frame: Data) throws -> String {
    try frame.withUnsafeBytes { bytes in
      let (header, size) = try #require(
        try WebSocketFrameHeader.read(bytes, from: .client, allowsCompression: false))
      let payload = UnsafeMutableRawBufferPointer.allocate(byteCount: header.length, alignment: 8)
      defer { payload.deallocate() }
      let masked = UnsafeRawBufferPointer(rebasing: bytes[size...])
      WebSocketMask.apply(try #require(header.mask), to: masked, into: payload)
      return String(decoding: payload, as: UTF8.self)
    }
  }
}
