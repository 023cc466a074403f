import Foundation
@_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing
@_spi(Toolkit) @_spi(Transports) @testable import MartletWebSocket

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

  /// The Close frame is one of the frames that are due.
  @Test func aRefusalDoesNotEndTheWaitForDueFrames() async throws {
    let stream = StalledStream()
    let writer = FrameWriter(stream, nil)
    let sender = Task {
      try await writer.begin()
      defer { writer.end() }
      try await writer.send(MessagePiece(isText: false, Data(count: 8), isFirst: true, isLast: true))
    }
    _ = try await stream.written.wait { $0.count == 1 ? true : nil }
    writer.post(.close, Data([3, 0xE8]))
    let flush = Task {
      await writer.flush()
      return stream.written.value.count
    }
    for _ in 0..<100 { await Task.yield() }  // the task waits
    writer.refuse(HTTPError(.shutDown, "closed"))
    for _ in 0..<100 { await Task.yield() }  // and goes on
    stream.gate.open()
    #expect(await flush.value == 2)
    try await sender.value
  }

  @Test func aMessageDoesNotWaitForAnotherAfterARefusal() async throws {
    let lock = AsyncLock()
    try await lock.acquire()
    let waiter = Task { try await lock.acquire() }
    let last = Task { try await lock.acquire(outlastsClosing: true) }
    for _ in 0..<100 { await Task.yield() }  // both wait
    lock.close(with: HTTPError(.shutDown, "closed"))
    await #expect(throws: HTTPError.self) { try await waiter.value }
    await #expect(throws: HTTPError.self) { try await lock.acquire() }
    lock.release()
    try await last.value
  }

  @Test func aWaitForAReceiverThatMayTakeNoTimeEnds() async throws {
    let queue = PieceQueue()
    #expect(await queue.push(MessagePiece(isText: true, Data("unread".utf8), isFirst: true, isLast: true)))
    await queue.waitUntilReceived(within: .zero, on: ContinuousClock())
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
