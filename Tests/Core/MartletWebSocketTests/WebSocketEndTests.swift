import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// How WebSockets end: closed, lost, failed, silent, cancelled, released.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketEndTests {
  private let clock = ManualClock()
  private let session: HTTPSession

  init() {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    session = HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private func server(_ serve: @escaping @Sendable (LoopbackWebSocket) throws -> Void) throws -> LoopbackServer {
    try LoopbackServer { _ in .webSocket(serve) }
  }

  private func open(
    _ server: LoopbackServer, _ change: (inout WebSocket.Options) -> Void = { _ in }
  ) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.pingInterval = nil
    change(&options)
    return try await session.webSocket(for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/"), options: options)
  }

  // MARK: - Closed

  @Test(
    arguments: [
      (.normalClosure, "", 1000), (.goingAway, "späť", 1001), (.init(rawValue: 4321), "own", 4321),
      (.noStatusReceived, "unsent", 1005), (.abnormalClosure, "", 1000), (.init(rawValue: 7), "", 1000),
    ] as [(WebSocket.CloseCode, String, UInt16)])
  func closingTellsTheServerWhy(_ code: WebSocket.CloseCode, reason: String, expected: UInt16) async throws {
    let server = try server { socket in
      _ = try socket.receive()
      let close = socket.clientClose
      try socket.send(bytes: Data())
      guard close?.code.rawValue == expected, expected == 1005 || close?.reason == reason else {
        return socket.reset()
      }
    }
    let socket = try await open(server)
    await socket.close(code, reason: reason)
    #expect(socket.closeCode?.rawValue == expected)
    await socket.close(.goingAway)  // does nothing
    #expect(socket.closeCode?.rawValue == expected)
    let error = await #expect(throws: HTTPError.self) { try await socket.send(.string("a")) }
    #expect(error?.kind == .shutDown)
    #expect(await #expect(throws: HTTPError.self) { try await socket.receive() }?.kind == .shutDown)
    #expect(try await socket.next() == nil)
  }

  @Test func messagesThatArriveAfterCloseAreDropped() async throws {
    let gate = Gate()
    let server = try server { socket in
      for _ in 0..<100 { try socket.send(.data(Data(count: 64 << 10))) }
      try socket.close()
      gate.open()
    }
    let socket = try await open(server)
    await socket.close()
    try await gate.wait()
    #expect(socket.closeCode == .normalClosure)
  }

  @Test func aServerThatDoesNotCloseIsLeftAfterTheLimit() async throws {
    let server = try server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await open(server)
    async let closed: Void = socket.close()
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    await closed
    #expect(socket.closeCode == .abnormalClosure)
    try await server.end(ofConnection: 1)
  }

  @Test func cancellingACloseEndsTheConnection() async throws {
    let server = try server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await open(server)
    let closing = Task { await socket.close() }
    try await clock.sleepers(1)
    closing.cancel()
    await closing.value
    try await server.end(ofConnection: 1)
  }

  @Test(
    arguments: [
      (1000, true), (1001, true), (1008, false), (1011, false), (3000, false), (4999, false),
    ] as [(UInt16, Bool)])
  func aSequenceEndsInOrderOnlyAfterAnOrderlyCode(_ code: UInt16, isOrderly: Bool) async throws {
    let server = try server { try $0.close(.init(rawValue: code), reason: "r") }
    let socket = try await open(server)
    if isOrderly {
      #expect(try await socket.next() == nil)
    } else {
      let error = await #expect(throws: HTTPError.self) { try await socket.next() }
      #expect(error?.kind == .connectionLost)
      #expect(error?.message.contains("\(code)") == true)
    }
    #expect(socket.closeCode?.rawValue == code)
    #expect(socket.closeReason == "r")
  }

  @Test func aCloseWithinAMessageIsAnsweredWithItsOwnCode() async throws {
    let server = try server { socket in
      try socket.sendFrame(1, Data("abc".utf8), isFinal: false)
      try socket.close(.init(rawValue: 4001))
      if socket.clientClose?.code.rawValue != 4001 { socket.reset() }
    }
    let socket = try await open(server)
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.message.contains("4001") == true)
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  // MARK: - Violations

  @Test(
    arguments: [
      ("a reserved opcode", [0x83, 0], 1002), ("a reserved bit", [0x91, 0], 1002),
      ("a mask", [0x81, 0x80, 0, 0, 0, 0], 1002),
      ("RSV1 without compression", [0xC1, 0], 1002), ("text that is not UTF-8", [0x81, 2, 0xC0, 0x80], 1007),
      ("half a frame of wrong text", [0x81, 10, 0x61, 0xFF], 1007), ("a continuation of nothing", [0x80, 0], 1002),
      ("a close code that must not be sent", [0x88, 2, 0x03, 0xED], 1002), ("a close of one byte", [0x88, 1, 3], 1002),
      ("a reason that is not UTF-8", [0x88, 3, 0x03, 0xE8, 0xFF], 1007), ("a long ping", [0x89, 126, 0, 126], 1002),
    ] as [(String, [UInt8], UInt16)])
  func aViolationIsAnsweredWithItsCode(_ what: String, bytes: [UInt8], code: UInt16) async throws {
    let server = try server { socket in
      try socket.send(.string("before"))
      try socket.send(bytes: Data(bytes))
      while try socket.receive() != nil {}
      if socket.clientClose?.code.rawValue != code { socket.reset() }
    }
    let socket = try await open(server) { $0.compression = nil }
    #expect(try await socket.receive() == .string("before"))
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self, "\(what)") { try await socket.receive() }
      #expect(error?.kind == .protocolViolation)
    }
    #expect(try await server.end(ofConnection: 1) == .server)
    await socket.close()
    #expect(socket.closeCode == .abnormalClosure)
  }

  @Test func aMessageBeforeAViolationCanBeAnswered() async throws {
    let server = try server { socket in
      try socket.send(.string("before"))
      try socket.send(bytes: Data([0x83, 0]))
      guard try socket.receive() == .string("answer") else { return socket.reset() }
      while try socket.receive() != nil {}
    }
    let socket = try await open(server)
    #expect(try await socket.receive() == .string("before"))
    try await socket.send(.string("answer"))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
    await socket.close()
  }

  @Test func aViolationThatNobodyReceivesEndsTheWebSocketAfterTheLimit() async throws {
    let server = try server { socket in
      try socket.send(.string("unread"))
      try socket.send(bytes: Data([0x83, 0]))
      while try socket.receive() != nil {}
    }
    let socket = try await open(server)
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    try await server.end(ofConnection: 1)
    #expect(try await socket.receive() == .string("unread"))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
  }

  // MARK: - Limits

  @Test(arguments: [false, true]) func aMessageOverTheLimitClosesTheWebSocket(isFragmented: Bool) async throws {
    let server = try server { socket in
      try socket.send(.data(Data(count: 1000)))
      if isFragmented {
        try socket.sendFrame(2, Data(count: 600), isFinal: false)
        try socket.sendFrame(0, Data(count: 401), isFinal: true)
      } else {
        try socket.send(bytes: Data([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0, 0]))  // 4 GiB, of which one byte arrives
      }
      while try socket.receive() != nil {}
      if socket.clientClose?.code != .messageTooBig { socket.reset() }
    }
    let socket = try await open(server) { $0.maximumMessageSize = 1000 }
    #expect(try await socket.receive() == .data(Data(count: 1000)))
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
      #expect(error?.kind == .bodyTooLarge)
      #expect(error?.message.contains("maximumMessageSize") == true)
    }
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func aFastServerWaitsForASlowReceiver() async throws {
    let gate = Gate()
    let server = try server { socket in
      for _ in 0..<64 { try socket.send(.data(Data(count: 1 << 20))) }
      gate.open()
      try socket.close()
    }
    let socket = try await open(server)
    #expect(try await socket.receive() == .data(Data(count: 1 << 20)))
    let connection = try #require(socket.channel as? FramedConnection)
    while !connection.isFull { await Task.yield() }
    #expect(!gate.isOpen)
    for _ in 1..<64 { #expect(try await socket.receive() == .data(Data(count: 1 << 20))) }
    #expect(try await socket.next() == nil)
  }

  // MARK: - Silence

  @Test func aSilentConnectionIsTestedByPings() async throws {
    let server = try server { socket in while try socket.receive() != nil {} }
    let socket = try await open(server) { $0.pingInterval = .seconds(30) }
    for _ in 0..<3 {
      try await clock.sleepers(1)
      clock.advance(by: .seconds(30))  // a ping, whose pong arrives
      try await clock.sleepers(1)
      _ = try await socket.sendPing()  // and so has the pong
      clock.advance(by: .seconds(30))
    }
    #expect(socket.closeCode == nil)
    await socket.close()
  }

  @Test func aServerThatAnswersNoPingIsLost() async throws {
    let server = try server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await open(server) { ($0.pingInterval, $0.pongTimeout) = (.seconds(20), .seconds(5)) }
    let received = Task { try await socket.receive() }
    let ping = Task { try await socket.sendPing() }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(20))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPError.self) { try await received.value }
    #expect(error?.kind == .idleTimeout)
    #expect(error?.isTimeout == true)
    await #expect(throws: HTTPError.self) { try await ping.value }
    try await server.end(ofConnection: 1)
    await socket.close()
    #expect(socket.closeCode == .abnormalClosure)
  }

  // MARK: - Losses

  /// A conversation of every kind of frame, cut at every byte: by FIN and by RST, and stalled there.
  @Test(arguments: [Cut.end, .reset, .stall]) func aConversationMayBeCutAnywhere(_ cut: Cut) async throws {
    var script = LoopbackWebSocket.frame(1, Data("one".utf8))
    script += LoopbackWebSocket.frame(9, Data("?".utf8))
    script += LoopbackWebSocket.frame(2, Data(count: 130), isFinal: false)
    script += LoopbackWebSocket.frame(0, Data(count: 3))
    script += LoopbackWebSocket.frame(8, Data([0x03, 0xE8]))
    let bytes = script
    let server = try LoopbackServer { request in
      let count = Int(request.path.dropFirst()) ?? 0
      return .webSocket { socket in
        try socket.send(bytes: bytes.prefix(count))
        switch cut {
        case .end: break
        case .reset: socket.reset()
        case .stall: while let frame = try socket.receiveFrame(), frame.opcode != 8 {}
        }
      }
    }
    for count in 0...bytes.count {
      var options = WebSocket.Options()
      options.pingInterval = nil
      let socket = try await session.webSocket(
        for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/\(count)"), options: options)
      let isWhole = count == bytes.count && cut != .reset
      if cut == .stall, !isWhole {
        let receiver = Task { try await Self.receiveAll(socket) }
        for _ in 0..<20 { await Task.yield() }
        receiver.cancel()
        let error = await #expect(throws: HTTPError.self) { try await receiver.value }
        #expect(error?.kind == .cancelled)
      } else if isWhole {
        #expect(try await Self.receiveAll(socket) == [.string("one"), .data(Data(count: 133))])
      } else {
        let end = await Result.of { try await Self.receiveAll(socket) }
        // a reset may drop what arrived before it, but not after the Close frame was read
        if case .failure(let error) = end {
          #expect((error as? HTTPError)?.kind == .connectionLost)
        } else {
          #expect(count == bytes.count)
        }
      }
    }
  }

  enum Cut: Sendable { case end, reset, stall }

  private static func receiveAll(_ socket: WebSocket) async throws -> [WebSocket.Message] {
    var messages: [WebSocket.Message] = []
    for try await message in socket { messages.append(message) }
    return messages
  }

  // MARK: - Cancellation and release

  @Test func aCancelledReceiverLosesNothing() async throws {
    let gates = [Gate(), Gate()]
    let server = try server { socket in
      try socket.sendFrame(1, Data("a".utf8), isFinal: false)
      try socket.wait(for: gates[0])
      try socket.sendFrame(0, Data("b".utf8))
      try socket.wait(for: gates[1])
      try socket.close()
    }
    let socket = try await open(server)
    let first = Task { try await socket.receive() }
    for _ in 0..<100 { await Task.yield() }
    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    #expect(error?.kind == .cancelled)
    gates[0].open()
    #expect(try await socket.receive() == .string("ab"))
    gates[1].open()
    #expect(try await socket.next() == nil)
  }

  @Test func aCancelledSenderThatWaitsForTheNetworkClosesTheConnection() async throws {
    let gate = Gate()
    let server = try server { socket in
      try socket.wait(for: gate)
      while try socket.receiveFrame() != nil {}
    }
    let socket = try await open(server)
    let sender = Task { while true { try await socket.send(.data(Data(count: 1 << 20))) } }
    for _ in 0..<100 { await Task.yield() }
    sender.cancel()
    let error = await #expect(throws: HTTPError.self) { try await sender.value }
    #expect(error?.kind == .cancelled)
    gate.open()
    try await server.end(ofConnection: 1)
  }

  @Test func aSenderThatWasCancelledBeforeSendsNothing() async throws {
    let server = try server { socket in while let message = try socket.receive() { try socket.send(message) } }
    let socket = try await open(server)
    let sender = Task {
      while !Task.isCancelled { await Task.yield() }
      try await socket.send(.string("late"))
    }
    sender.cancel()
    let error = await #expect(throws: HTTPError.self) { try await sender.value }
    #expect(error?.kind == .cancelled)
    try await socket.send(.string("on time"))
    #expect(try await socket.receive() == .string("on time"))
    await socket.close()
  }

  @Test func aReleasedWebSocketSaysThatItLeaves() async throws {
    let codes = Awaited<WebSocket.CloseCode?>()
    let server = try server { socket in
      while try socket.receive() != nil {}
      codes.set(socket.clientClose?.code)
    }
    weak var connection: FramedConnection?
    do {
      let socket = try await open(server)
      connection = socket.channel as? FramedConnection
      #expect(connection != nil)
    }
    #expect(await codes.value == .goingAway)
    try await server.end(ofConnection: 1)
    while connection != nil { await Task.yield() }
  }
}

extension Result where Failure == any Error {
  fileprivate static func of(_ body: () async throws -> Success) async -> Result {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}

/// A value that another thread sets.
private struct Awaited<Value: Sendable>: Sendable {
  private let values = AsyncStream.makeStream(of: Value.self)

  func set(_ value: Value) { values.continuation.yield(value) }

  var value: Value? {
    get async {
      var iterator = values.stream.makeAsyncIterator()
      return await iterator.next()
    }
  }
}
