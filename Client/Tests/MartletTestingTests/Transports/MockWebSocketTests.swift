import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import MartletWebSocket
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MockWebSocketTests {
  private func open(
    protocols: [String] = [], subprotocol: String? = nil,
    _ serve: @escaping @Sendable (MockWebSocket) async throws -> Void
  ) async throws -> WebSocket {
    let transport = MockTransport { _ in .webSocket(subprotocol: subprotocol, serve) }
    return try await HTTPSession(transport: transport).webSocket(
      for: HTTPRequest(.get, "wss://a.example/"), protocols: protocols)
  }

  @Test func messagesGoToAndFro() async throws {
    let socket = try await open(protocols: ["chat"], subprotocol: "chat") { socket in
      while let message = try await socket.receive() { try await socket.send(message) }
    }
    #expect(socket.negotiatedProtocol == "chat" && socket.response.status == .switchingProtocols)
    for message in [.string("grüß dich"), .data(Data([0, 255])), .string("")] as [WebSocket.Message] {
      try await socket.send(message)
      #expect(try await socket.receive() == message)
    }
    #expect(try await socket.sendPing() == .zero)
    await socket.close(.init(rawValue: 4000))
    #expect(socket.closeCode?.rawValue == 4000)
  }

  @Test func anOfferThatTheClientDidNotMakeIsRefusedAsOverANetwork() async throws {
    let error = await #expect(throws: HTTPError.self) { _ = try await open(subprotocol: "other") { _ in } }
    #expect(error?.kind == .protocolViolation)
  }

  @Test func theServerSeesHowTheClientCloses() async throws {
    let close = Awaitable<String?>(nil)
    let socket = try await open { socket in
      let end = try await socket.receive()
      #expect(end == nil)
      let seen = socket.clientClose.map { "\($0.code.rawValue) \($0.reason)" }
      close.update { $0 = seen }
    }
    await socket.close(.goingAway, reason: "home")
    #expect(try await close.wait { $0 } == "1001 home")
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .shutDown)
  }

  @Test func theClientSeesHowTheServerCloses() async throws {
    let socket = try await open { socket in
      try await socket.send(.string("last"))
      socket.close(.init(rawValue: 4001), reason: "enough")
    }
    #expect(try await socket.receive() == .string("last"))
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .connectionLost && error?.message.contains("4001: enough") == true)
    #expect(socket.closeCode?.rawValue == 4001 && socket.closeReason == "enough")
  }

  @Test func aClosureThatReturnsClosesInOrder() async throws {
    let socket = try await open { try await $0.send(.string("only")) }
    var messages: [WebSocket.Message] = []
    for try await message in socket { messages.append(message) }
    #expect(messages == [.string("only")] && socket.closeCode == .normalClosure)
  }

  @Test(arguments: [true, false]) func anErrorIsALostConnection(isThrown: Bool) async throws {
    let socket = try await open { socket in
      if isThrown { throw HTTPError(.other, "broken") }
      socket.lose(with: HTTPError(.connectionLost, "broken"))
    }
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .connectionLost && error?.message.contains("broken") == true)
    #expect(socket.closeCode == .abnormalClosure)
  }

  @Test(arguments: [nil, "other"]) func eventsHaveTheOrderOfANetworks(subprotocol: String?) async throws {
    let kinds = Awaitable<[Event.Kinds]>([])
    var configuration = SessionConfiguration()
    configuration.listeners = [
      EventHandler([.response, .message, .finished]) { event, _ in
        let kind: Event.Kinds =
          switch event {
          case .response: .response
          case .message: .message
          default: .finished
          }
        kinds.update { $0.append(kind) }
      }
    ]
    let transport = MockTransport { _ in .webSocket(subprotocol: subprotocol) { try await $0.send(.string("a")) } }
    let session = HTTPSession(transport: transport, configuration: configuration)
    let socket = try? await session.webSocket(for: HTTPRequest(.get, "ws://a.example/"))
    try await socket?.waitUntilClosed()
    let expected: [Event.Kinds] =
      subprotocol == nil ? [.response, .message, .message, .finished] : [.response, .finished]
    #expect(kinds.value == expected)
  }

  @Test func aServerWaitsWhileTheClientDoesNotReceive() async throws {
    let sent = Awaitable(0)
    let socket = try await open { socket in
      for _ in 0..<10 {
        try await socket.send(.data(Data(count: 20_000)))
        sent.update { $0 += 1 }
      }
    }
    _ = try await sent.wait { $0 >= 1 ? true : nil }
    #expect(sent.value < 10)
    var count = 0
    for try await _ in socket { count += 1 }
    #expect(count == 10)
  }

  @Test func aCancelledSendEndsTheWebSocket() async throws {
    let gate = Gate()
    let socket = try await open { _ in try await gate.wait() }
    let task = Task { while true { try await socket.send(.data(Data(count: 20_000))) } }
    task.cancel()
    await #expect(throws: HTTPError.self) { try await task.value }
    gate.open()
  }

  @Test func aSessionThatIsClosedLeavesWith1001() async throws {
    let code = Awaitable<WebSocket.CloseCode?>(nil)
    let transport = MockTransport { _ in
      .webSocket { socket in
        while try await socket.receive() != nil {}
        code.update { $0 = socket.clientClose?.code }
      }
    }
    let closable = ClosableSession(transport: transport)
    let socket = try await closable.session.webSocket(for: HTTPRequest(.get, "ws://a.example/"))
    await closable.close(within: .seconds(30))
    #expect(try await code.wait { $0 } == .goingAway)
    #expect(socket.closeCode == .goingAway)
  }
}
