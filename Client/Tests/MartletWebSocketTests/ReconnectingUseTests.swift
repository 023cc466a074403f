import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletWebSocket

/// Messages, cancellations and decisions while connections come and go.
extension ReconnectingWebSocketTests {
  @Test func messagesOfALostConnectionAreReceivedFirst() async throws {
    let left = Awaitable(false)
    let room = socket {
      $0.backoff.base = .zero
    } _: { number in
      .webSocket { socket in
        try await socket.send(.string("\(number)"))
        if number == 2 { return _ = try await socket.receive() }
        _ = try await socket.receive()
        socket.close(.goingAway)
        left.update { $0 = true }
      }
    }
    try await room.send(.string("a question"))
    _ = try await left.wait { $0 ? true : nil }
    try await room.send(.string("on another connection"))
    #expect(try await room.receive() == .string("1"))
    #expect(try await room.receive() == .string("2"))
    await room.close()
  }

  @Test func aLossIsSeenWithoutAReceiverAndItsDelayBeginsAtOnce() async throws {
    let leaves = Gate()
    let room = socket { number in
      .webSocket { socket in
        if number == 2 { return try await socket.send(.string("again")) }
        try await leaves.wait()
        socket.lose()
      }
    }
    try await room.send(.string("it is open"))
    leaves.open()
    for await state in room.states { if case .idle = state { break } }
    clock.advance(by: .seconds(1))
    #expect(try await room.receive() == .string("again"))  // no other delay
    await room.close()
  }

  @Test func aSendThatIsCancelledIsNoFailureOfTheServer() async throws {
    let room = socket {
      ($0.failureLimit, $0.backoff.base) = (1, .seconds(3))
    } _: { number in
      .webSocket { socket in
        if number == 1 { return try await Gate().wait() }
        try await socket.send(.string("second"))
        _ = try await socket.receive()
      }
    }
    try await room.send(.string("first"))
    let sender = Task { while true { try await room.send(.data(Data(count: 20_000))) } }
    sender.cancel()
    await #expect(throws: HTTPError.self) { try await sender.value }
    async let second = room.receive()
    try await pass(.seconds(3))  // as between other connections
    #expect(try await second == .string("second"))
    await room.close()
  }

  @Test func aSendThatIsCancelledElsewhereDoesNotEndAReceiver() async throws {
    let room = socket {
      $0.backoff.base = .zero
    } _: { number in
      .webSocket { socket in
        if number == 1 { return try await Gate().wait() }
        try await socket.send(.string("second"))
        _ = try await socket.receive()
      }
    }
    try await room.send(.string("first"))  // it is open
    let receiver = Task { try await room.receive() }
    let sender = Task { while true { try await room.send(.data(Data(count: 20_000))) } }
    sender.cancel()
    #expect(try await receiver.value == .string("second"))
    await #expect(throws: HTTPError.self) { try await sender.value }
    await room.close()
  }

  @Test func theProgramsDecisionMayUseTheWebSocket() async throws {
    let used = Mutex<ReconnectingWebSocket?>(nil)
    let room = socket({ reconnection in
      reconnection.reconnects = { error, code in
        let room = used.withLock { $0 }
        return room?.closeCode != .policyViolation && Reconnection.isTemporary(error, code)
      }
    }) { number in
      .webSocket { socket in
        if number == 1 { return socket.close(.serviceRestart) }
        try await socket.send(.string("again"))
        _ = try await socket.receive()
      }
    }
    used.withLock { $0 = room }
    defer { used.withLock { $0 = nil } }

    async let message = room.receive()
    try await pass(.seconds(1))
    #expect(try await message == .string("again"))
  }

  @Test func aReceiveThatIsCancelledAtAnyMomentEnds() async throws {
    let room = socket { _ in
      .webSocket { socket in
        try await socket.send(.string("welcome"))
        _ = try await socket.receive()
      }
    }
    _ = try await room.receive()
    for _ in 0..<2000 {
      let task = Task { try await room.receive() }
      task.cancel()
      let error = await #expect(throws: HTTPError.self) { try await task.value }
      #expect(error?.isCancelled == true)
    }
  }

  /// The messages that were not received keep the client from noticing the reset while it reads.
  @Test func aProgramThatOnlySendsNoticesALostConnection() async throws {
    let heard = Awaitable<[Int]>([])
    let server = try LoopbackServer { request in
      let number = request.connection
      return .webSocket { socket in
        if number == 1 { for _ in 0..<100 { try socket.send(.data(Data(count: 4096))) } }
        _ = try socket.receive()
        heard.update { $0.append(number) }
        if number == 1 { socket.reset() } else { while try socket.receive() != nil {} }
      }
    }
    var reconnection = Reconnection()
    reconnection.backoff.base = .zero
    let room = HTTPSession(transport: SocketTransport()).reconnectingWebSocket(
      for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/"), reconnection: reconnection)
    while heard.value != [1, 2] { try? await room.send(.string("news")) }
    await room.close()
  }

  @Test func overSocketsAResetIsFollowedByAnotherConnection() async throws {
    let server = try LoopbackServer { request in
      let number = request.connection
      return .webSocket { socket in
        try socket.send(.string("\(number)"))
        if number == 1 { socket.reset() } else { _ = try socket.receive() }
      }
    }
    var reconnection = Reconnection()
    reconnection.backoff.base = .zero
    let room = HTTPSession(transport: SocketTransport()).reconnectingWebSocket(
      for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/"), reconnection: reconnection)
    var messages: [WebSocket.Message] = []
    for try await message in room {
      messages.append(message)
      if messages.count == 2 { break }
    }
    #expect(messages == [.string("1"), .string("2")])
    await room.close()
  }
}
