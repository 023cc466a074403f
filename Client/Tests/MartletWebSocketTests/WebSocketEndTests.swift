import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// How WebSockets end: closed, failed, over a limit, cancelled, released.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketEndTests {
  private let bed = SocketBed()
  private var clock: ManualClock { bed.clock }

  // MARK: - Closed

  @Test(
    arguments: [
      (.normalClosure, "", 1000), (.goingAway, "späť", 1001), (.init(rawValue: 4321), "own", 4321),
      (.noStatusReceived, "unsent", 1005), (.abnormalClosure, "", 1000), (.init(rawValue: 7), "", 1000),
    ] as [(WebSocket.CloseCode, String, UInt16)])
  func closingTellsTheServerWhy(_ code: WebSocket.CloseCode, reason: String, expected: UInt16) async throws {
    let server = try bed.server { socket in
      _ = try socket.receive()
      let close = socket.clientClose
      try socket.send(bytes: Data())
      guard close?.code.rawValue == expected, expected == 1005 || close?.reason == reason else {
        return socket.reset()
      }
    }
    let socket = try await bed.open(server)
    await socket.close(code, reason: reason)
    #expect(socket.closeCode?.rawValue == expected)
    await socket.close(.goingAway)  // does nothing
    #expect(socket.closeCode?.rawValue == expected)
    let error = await #expect(throws: HTTPError.self) { try await socket.send(.string("a")) }
    #expect(error?.kind == .shutDown)
    #expect(await #expect(throws: HTTPError.self) { try await socket.receive() }?.kind == .shutDown)
    #expect(try await socket.next() == nil)
  }

  /// RFC 6455 §7.1.1 expects the server to end the connection, but it may keep it open.
  @Test(arguments: [true, false]) func afterBothCloseFramesTheServerGetsASecond(byServer: Bool) async throws {
    let server = try bed.server { socket in
      if byServer { try socket.sendFrame(8, Data([0x03, 0xE8])) }
      while let frame = try socket.receiveFrame(), frame.opcode != 8 {}
      if !byServer { try socket.sendFrame(8, Data([0x03, 0xE8])) }
      while try socket.receiveFrame() != nil {}
    }
    let socket = try await bed.open(server)
    async let closed: Void = socket.close()
    try await until { clock.pendingWakeUps == [.seconds(1)] }
    clock.advance(by: .seconds(1))
    await closed
    #expect(socket.closeCode == .normalClosure)
    try await server.end(ofConnection: 1)
  }

  /// The server closes at the moment at which the program does: the limit of the whole closing must not replace the
  /// shorter one, which counts once both Close frames were sent.
  @Test func bothSidesMayCloseAtTheSameMoment() async throws {
    let server = try bed.server { socket in
      try socket.sendFrame(8, Data([0x03, 0xE8]))
      while try socket.receiveFrame() != nil {}
    }
    for round in 1...200 {
      let socket = try await bed.open(server)
      async let closed: Void = socket.close()
      try await until { clock.pendingWakeUps == [.seconds(1)] }
      clock.advance(by: .seconds(1))
      await closed
      try await server.end(ofConnection: round)
    }
  }

  @Test func aSequenceThatWaitsEndsWhenTheProgramClosesTheWebSocket() async throws {
    let server = try bed.server { socket in
      try socket.send(.string("first"))
      while try socket.receive() != nil {}
    }
    for _ in 0..<20 {
      let socket = try await bed.open(server)
      let (received, first) = AsyncStream.makeStream(of: Void.self)
      let reader = Task { for try await _ in socket { first.yield() } }
      for await _ in received { break }
      for _ in 0..<100 { await Task.yield() }  // the reader waits for the next one
      await socket.close()
      try await reader.value
    }
  }

  @Test func messagesThatArriveAfterCloseAreDropped() async throws {
    let gate = Gate()
    let server = try bed.server { socket in
      for _ in 0..<100 { try socket.send(.data(Data(count: 64 << 10))) }
      try socket.close()
      gate.open()
    }
    let socket = try await bed.open(server)
    await socket.close()
    try await gate.wait()
    #expect(socket.closeCode == .normalClosure)
  }

  @Test func aServerThatDoesNotCloseIsLeftAfterTheLimit() async throws {
    let server = try bed.server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await bed.open(server)
    async let closed: Void = socket.close()
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    await closed
    #expect(socket.closeCode == .abnormalClosure)
    try await server.end(ofConnection: 1)
  }

  @Test func cancellingACloseEndsTheConnection() async throws {
    let server = try bed.server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await bed.open(server)
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
    let server = try bed.server { try $0.close(.init(rawValue: code), reason: "r") }
    let socket = try await bed.open(server)
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
    let server = try bed.server { socket in
      try socket.sendFrame(1, Data("abc".utf8), isFinal: false)
      try socket.close(.init(rawValue: 4001))
      if socket.clientClose?.code.rawValue != 4001 { socket.reset() }
    }
    let socket = try await bed.open(server)
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
    let server = try bed.server { socket in
      try socket.send(.string("before"))
      try socket.send(bytes: Data(bytes))
      while try socket.receive() != nil {}
      if socket.clientClose?.code.rawValue != code { socket.reset() }
    }
    let socket = try await bed.open(server) { $0.compression = nil }
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
    let server = try bed.server { socket in
      try socket.send(.string("before"))
      try socket.send(bytes: Data([0x83, 0]))
      guard try socket.receive() == .string("answer") else { return socket.reset() }
      while try socket.receive() != nil {}
    }
    let socket = try await bed.open(server)
    #expect(try await socket.receive() == .string("before"))
    try await socket.send(.string("answer"))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
    await socket.close()
  }

  @Test func aViolationThatNobodyReceivesEndsTheWebSocketAfterTheLimit() async throws {
    let server = try bed.server { socket in
      try socket.send(.string("unread"))
      try socket.send(bytes: Data([0x83, 0]))
      while try socket.receive() != nil {}
    }
    let socket = try await bed.open(server)
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    try await server.end(ofConnection: 1)
    #expect(try await socket.receive() == .string("unread"))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
  }

  // MARK: - Limits

  @Test(arguments: [false, true]) func aMessageOverTheLimitClosesTheWebSocket(isFragmented: Bool) async throws {
    let server = try bed.server { socket in
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
    let socket = try await bed.open(server) { $0.messageLimit = 1000 }
    #expect(try await socket.receive() == .data(Data(count: 1000)))
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
      #expect(error?.kind == .bodyTooLarge)
      #expect(error?.message.contains("messageLimit") == true)
    }
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  @Test func aFastServerWaitsForASlowReceiver() async throws {
    let gate = Gate()
    let server = try bed.server { socket in
      for _ in 0..<64 { try socket.send(.data(Data(count: 1 << 20))) }
      gate.open()
      try socket.close()
    }
    let socket = try await bed.open(server)
    #expect(try await socket.receive() == .data(Data(count: 1 << 20)))
    let connection = try #require(socket.channel as? FramedConnection)
    try await until { connection.isFull }
    #expect(!gate.isOpen)
    for _ in 1..<64 { #expect(try await socket.receive() == .data(Data(count: 1 << 20))) }
    #expect(try await socket.next() == nil)
  }

  // MARK: - Cancellation and release

  @Test func aCancelledReceiverLosesNothing() async throws {
    let gates = [Gate(), Gate()]
    let server = try bed.server { socket in
      try socket.sendFrame(1, Data("a".utf8), isFinal: false)
      try socket.wait(for: gates[0])
      try socket.sendFrame(0, Data("b".utf8))
      try socket.wait(for: gates[1])
      try socket.close()
    }
    let socket = try await bed.open(server)
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
    let server = try bed.server { socket in
      try socket.wait(for: gate)
      while try socket.receiveFrame() != nil {}
    }
    let socket = try await bed.open(server)
    let sender = Task { while true { try await socket.send(.data(Data(count: 1 << 20))) } }
    for _ in 0..<100 { await Task.yield() }
    sender.cancel()
    let error = await #expect(throws: HTTPError.self) { try await sender.value }
    #expect(error?.kind == .cancelled)
    gate.open()
    try await server.end(ofConnection: 1)
  }

  @Test func aSenderThatWasCancelledBeforeSendsNothing() async throws {
    let server = try bed.server { socket in while let message = try socket.receive() { try socket.send(message) } }
    let socket = try await bed.open(server)
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
    let server = try bed.server { socket in
      while try socket.receive() != nil {}
      codes.set(socket.clientClose?.code)
    }
    weak var connection: FramedConnection?
    do {
      let socket = try await bed.open(server)
      connection = socket.channel as? FramedConnection
      #expect(connection != nil)
    }
    #expect(await codes.value == .goingAway)
    try await server.end(ofConnection: 1)
    try await until { connection == nil }
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
