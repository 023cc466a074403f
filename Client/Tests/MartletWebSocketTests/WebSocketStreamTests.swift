import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// Messages in pieces, both ways.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketStreamTests {
  private let session = HTTPSession(transport: SocketTransport())

  private func open(
    _ options: WebSocket.Options = .init(), fields: HTTPFields = [:],
    _ serve: @escaping @Sendable (LoopbackWebSocket) throws -> Void
  ) async throws -> (WebSocket, LoopbackServer) {
    let server = try LoopbackServer { _ in
      var reply = Reply.webSocket(serve)
      for (name, value) in fields { reply.fields[name] = value }
      return reply
    }
    let request = HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/")
    return (try await session.webSocket(for: request, options: options), server)
  }

  private static func pieces(_ sizes: [Int]) -> AsyncStream<Data> {
    AsyncStream { stream in
      for (index, size) in sizes.enumerated() { stream.yield(Data(repeating: UInt8(index), count: size)) }
      stream.finish()
    }
  }

  @Test func piecesAreTheFramesOfOneMessage() async throws {
    let (socket, server) = try await open { socket in
      var frames: [String] = []
      while let frame = try socket.receiveFrame(), frame.opcode != 8 {
        frames.append("\(frame.opcode) \(frame.payload.count) \(frame.isFinal)")
      }
      try socket.send(.string(frames.joined(separator: ", ")))
    }
    defer { withExtendedLifetime(server) {} }
    try await socket.send(.data, from: Self.pieces([3, 0, 5]))
    try await socket.send(.string, from: Self.pieces([]))
    async let closed: Void = socket.close()
    await closed
    #expect(server.requests.count == 1)
  }

  /// An `AsyncStream` ends in order if its task is cancelled.
  @Test func aCancelledSendOfAStreamThatEndsQuietlyCompletesNoMessage() async throws {
    let (arrived, seen) = (Gate(), Awaitable<[String]?>(nil))
    let (socket, server) = try await open { socket in
      var frames: [String] = []
      while let frame = try socket.receiveFrame(), frame.opcode != 8 {
        frames.append("\(frame.opcode) \(frame.isFinal)")
        if frames.count == 2 { arrived.open() }
      }
      let all = frames
      seen.update { $0 = all }
    }
    let (stream, continuation) = AsyncStream<Data>.makeStream()
    for text in ["a", "b"] { continuation.yield(Data(text.utf8)) }
    let sender = Task { try await socket.send(.data, from: stream) }
    try await arrived.wait()
    sender.cancel()
    let error = await #expect(throws: HTTPError.self) { try await sender.value }
    #expect(error?.isCancelled == true)
    #expect(try await seen.wait { $0 } == ["2 false", "0 false"])
    withExtendedLifetime(server) {}
  }

  @Test func aSentStreamArrivesAsOneMessage() async throws {
    let (socket, server) = try await open { socket in
      while let message = try socket.receive() { try socket.send(message) }
    }
    defer { withExtendedLifetime(server) {} }
    try await socket.send(.data, from: Self.pieces([3, 0, 5]))
    #expect(try await socket.receive() == .data(Data([0, 0, 0, 2, 2, 2, 2, 2])))
    try await socket.send(.string, from: Self.pieces([]))
    #expect(try await socket.receive() == .string(""))
    await socket.close()
  }

  @Test func aLargeMessageIsNeitherCollectedHereNorThere() async throws {
    let (socket, server) = try await open { socket in
      var count = 0
      while let frame = try socket.receiveFrame(), frame.opcode != 8 {
        count += frame.payload.count
        if frame.isFinal { break }
      }
      for block in 0..<64 as Range<UInt8> {
        try socket.sendFrame(block == 0 ? 2 : 0, Data(repeating: block, count: 1 << 20), isFinal: block == 63)
      }
      try socket.send(.string("\(count)"))
      try socket.close()
    }
    defer { withExtendedLifetime(server) {} }
    try await socket.send(.data, from: Self.pieces([Int](repeating: 1 << 20, count: 64)))
    let message = try await socket.receiveStream()
    #expect(message.type == .data)
    var count = 0
    for try await bytes in message {
      let isOfOneBlock = bytes == Data(repeating: UInt8(count >> 20), count: bytes.count)
      #expect(isOfOneBlock || bytes.count > 1 << 20 - count & 0xFFFFF)
      count += bytes.count
    }
    #expect(count == 64 << 20)
    #expect(try await socket.receive() == .string("\(64 << 20)"))
    #expect(try await socket.next() == nil)
  }

  @Test func aStreamThatIsNotReadToItsEndIsSkipped() async throws {
    let (socket, server) = try await open { socket in
      for letter in ["a", "b", "c"] {
        try socket.sendFrame(1, Data(letter.utf8), isFinal: false)
        try socket.sendFrame(0, Data(count: 100_000), isFinal: false)
        try socket.sendFrame(0, Data(letter.utf8))
      }
      try socket.close()
    }
    defer { withExtendedLifetime(server) {} }
    let first = try await socket.receiveStream()
    var pieces = first.makeAsyncIterator()
    #expect(try await pieces.next() == Data("a".utf8))
    let second = try await socket.receiveStream()
    let error = await #expect(throws: HTTPError.self) { try await pieces.next() }
    #expect(error?.kind == .bodyAlreadyRead)
    _ = second
    guard case .string(let text) = try await socket.receive() else { return }
    #expect(text.first == "c" && text.last == "c" && text.utf8.count == 100_002)
  }

  @Test func aStreamThatEndsWithTheConnectionThrows() async throws {
    let (socket, server) = try await open { try $0.sendFrame(2, Data(count: 10), isFinal: false) }
    defer { withExtendedLifetime(server) {} }
    var pieces = try await socket.receiveStream().makeAsyncIterator()
    #expect(try await pieces.next() == Data(count: 10))
    let error = await #expect(throws: HTTPError.self) { try await pieces.next() }
    #expect(error?.kind == .connectionLost)
  }

  @Test func anErrorOfTheSequenceClosesTheWebSocket() async throws {
    struct Failure: Error {}
    let (socket, server) = try await open { socket in
      while try socket.receive() != nil {}
      if socket.clientClose?.code != .goingAway { socket.reset() }
    }
    let broken = AsyncThrowingStream<Data, any Error> { stream in
      stream.yield(Data([1]))
      stream.finish(throwing: Failure())
    }
    let error = await #expect(throws: HTTPError.self) { try await socket.send(.data, from: broken) }
    #expect(error?.underlying is Failure)
    #expect(try await server.end(ofConnection: 1) == .server)
    await #expect(throws: HTTPError.self) { try await socket.send(.string("a")) }
  }

  @Test func pingsAreAnsweredBetweenThePiecesOfAMessage() async throws {
    let (socket, server) = try await open { socket in
      guard try socket.receiveFrame()?.isFinal == false else { return }
      try socket.sendFrame(9, Data([7]))
      guard try socket.receiveFrame()?.payload == Data([7]) else { return }
      try socket.send(.string("pong"))
      guard try socket.receiveFrame()?.isFinal == true else { return }
      try socket.close()
    }
    defer { withExtendedLifetime(server) {} }
    let (pieces, source) = AsyncStream.makeStream(of: Data.self)
    source.yield(Data([1]))
    async let sent: Void = socket.send(.data, from: pieces)
    #expect(try await socket.receive() == .string("pong"))
    source.finish()
    try await sent
    #expect(try await socket.next() == nil)
  }

  // MARK: - Compression

  private static let agreed: HTTPFields = ["Sec-WebSocket-Extensions": "permessage-deflate"]

  /// Serves with the compressor of the client's side, whose window and context are the same.
  private static func echoCompressed(resets: Bool) -> @Sendable (LoopbackWebSocket) throws -> Void {
    { socket in
      guard let deflater = MessageDeflater(windowBits: 15, resets: resets) else { return }
      let inflater = try MessageInflater(windowBits: 15, resets: resets)
      var (opcode, received) = (UInt8(0), Data())
      while let frame = try socket.receiveFrame(), frame.opcode != 8 {
        if frame.opcode != 0 { opcode = frame.opcode }
        received += frame.payload
        guard frame.isFinal else { continue }
        let plain = try inflater.message(received)
        received = Data()
        let packed = Data(plain.withUnsafeBytes { deflater.compress($0, isLast: true) })
        try socket.sendFrame(opcode, packed.prefix(2), isFinal: false, isCompressed: true)
        try socket.sendFrame(0, packed.dropFirst(2))
      }
    }
  }

  @Test(arguments: [false, true]) func messagesAreCompressedBothWays(resets: Bool) async throws {
    var fields = Self.agreed
    if resets {
      fields["Sec-WebSocket-Extensions"] =
        "permessage-deflate; client_no_context_takeover; server_no_context_takeover"
    }
    let (socket, server) = try await open(fields: fields, Self.echoCompressed(resets: resets))
    #expect(server.requests[0].fields["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
    let long = String(repeating: "grüß dich ", count: 10_000)
    for text in ["", "a", "a", long, long, "", "x"] {
      try await socket.send(.string(text))
      #expect(try await socket.receive() == .string(text))
    }
    try await socket.send(.data, from: Self.piecesOf(Data(long.utf8)))
    #expect(try await socket.receive() == .data(Data(long.utf8)))
    await socket.close()
  }

  private static func piecesOf(_ data: Data) -> AsyncStream<Data> {
    AsyncStream { stream in
      for start in stride(from: 0, to: data.count, by: 1000) {
        stream.yield(data[start..<min(data.count, start + 1000)])
      }
      stream.finish()
    }
  }

  @Test func aBombStopsAtTheLimit() async throws {
    var options = WebSocket.Options()
    options.messageLimit = 1 << 20
    let (socket, server) = try await open(options, fields: Self.agreed) { socket in
      guard let deflater = MessageDeflater(windowBits: 15, resets: true) else { return }
      let packed = Data(Data(count: 64 << 20).withUnsafeBytes { deflater.compress($0, isLast: true) })
      try socket.sendFrame(2, packed, isCompressed: true)
      while try socket.receive() != nil {}
      if socket.clientClose?.code != .messageTooBig { socket.reset() }
    }
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .bodyTooLarge)
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func aRatioOverTheLimitClosesTheWebSocket() async throws {
    let server = try LoopbackServer { _ in
      Reply.webSocket { socket in
        guard let deflater = MessageDeflater(windowBits: 15, resets: true) else { return }
        let packed = Data(Data(count: 64 << 20).withUnsafeBytes { deflater.compress($0, isLast: true) })
        try socket.sendFrame(2, packed, isCompressed: true)
        while try socket.receive() != nil {}
        if socket.clientClose?.code != .messageTooBig { socket.reset() }
      }.with("Sec-WebSocket-Extensions", "permessage-deflate")
    }
    var request = HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/")
    request.options.decompressionRatioLimit = 100
    let socket = try await session.webSocket(for: request)
    var count = 0
    let error = await #expect(throws: HTTPError.self) {
      for try await bytes in try await socket.receiveStream() { count += bytes.count }
    }
    #expect(error?.kind == .bodyTooLarge)
    #expect(count <= 10 << 20 + 64 << 10)
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func damagedCompressionClosesTheWebSocket() async throws {
    let (socket, server) = try await open(fields: Self.agreed) { socket in
      try socket.sendFrame(2, Data([0xFF, 0xFF, 0xFF, 0xFF]), isCompressed: true)
      while try socket.receive() != nil {}
      if socket.clientClose?.code != .invalidFramePayloadData { socket.reset() }
    }
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .protocolViolation)
    #expect(try await server.end(ofConnection: 1) == .server)
  }
}
