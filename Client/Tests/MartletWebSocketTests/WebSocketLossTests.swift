import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// WebSockets whose server falls silent, and connections that are lost.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketLossTests {
  private let bed = SocketBed()
  private var clock: ManualClock { bed.clock }

  // MARK: - Silence

  @Test func aSilentConnectionIsTestedByPings() async throws {
    let server = try bed.server { socket in while try socket.receive() != nil {} }
    let socket = try await bed.open(server) { $0.pingInterval = .seconds(30) }
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
    let server = try bed.server { socket in while try socket.receiveFrame() != nil {} }
    let socket = try await bed.open(server) { ($0.pingInterval, $0.pongTimeout) = (.seconds(20), .seconds(5)) }
    let received = Task { try await socket.receive() }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(20))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPError.self) { try await received.value }
    #expect(error?.kind == .idleTimeout)
    #expect(error?.isTimeout == true)
    #expect(await #expect(throws: HTTPError.self) { try await socket.sendPing() }?.kind == .idleTimeout)
    try await server.end(ofConnection: 1)
    await socket.close()
    #expect(socket.closeCode == .abnormalClosure)
  }

  @Test func aPingOfTheProgramEndsWithoutAnAnswer() async throws {
    let sent = Awaitable<[String]>([])
    let server = try bed.server { socket in
      while let frame = try socket.receiveFrame() {
        if frame.opcode == 1 { sent.update { $0.append(String(decoding: frame.payload, as: UTF8.self)) } }
      }
    }
    let socket = try await bed.open(server) { $0.pongTimeout = .seconds(5) }
    let pings = (1...2).map { _ in Task { try await socket.sendPing() } }
    try await clock.sleepers(2)
    clock.advance(by: .seconds(5))
    for ping in pings {
      let error = await #expect(throws: HTTPError.self) { try await ping.value }
      #expect(error?.kind == .idleTimeout)
      #expect(error?.message == "the server did not answer a ping within 5 s")
    }
    // the server may be busy with messages: only a silent connection is lost
    try await socket.send(.string("still open"))
    #expect(try await sent.wait { $0.isEmpty ? nil : $0 } == ["still open"])
    #expect(socket.closeCode == nil)
  }

  @Test func aProgramThatOnlySendsAnswersPings() async throws {
    let answered = Awaitable(0)
    let server = try bed.server { socket in
      for _ in 0..<3 {
        try socket.send(.data(Data(count: 256 << 10)))
        try socket.sendFrame(9, Data("?".utf8))
        while let frame = try socket.receiveFrame(), frame.opcode != 10 {}
        answered.update { $0 += 1 }
      }
      while try socket.receiveFrame() != nil {}
    }
    let socket = try await bed.open(server)
    #expect(try await answered.wait { $0 == 3 ? $0 : nil } == 3)
    try await socket.send(.string("a"))
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
      let socket = try await bed.open(server, "\(count)")
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
}

extension Result where Failure == any Error {
  fileprivate static func of(_ body: () async throws -> Success) async -> Result {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
