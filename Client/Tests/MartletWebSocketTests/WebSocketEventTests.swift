import Foundation
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletWebSocket

/// What listeners see of a WebSocket: its messages, and that its call ends with it.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketEventTests {
  /// Records the messages and the end of calls.
  private final class Ears: EventListener {
    let lines = Awaitable<[String]>([])
    let events: Event.Kinds = [.message, .finished]

    func receive(_ event: Event, in call: Call) {
      let line: String? =
        switch event {
        case .message(let message): "\(message): \(String(decoding: message.payload.prefix(20), as: UTF8.self))"
        case .finished(let error): error.map { "finished: \($0.kind)" } ?? "finished"
        default: nil
        }
      if let line { lines.update { $0.append(line) } }
    }

    /// The lines of a call that has ended.
    func all() async throws -> [String] {
      try await lines.wait { $0.last?.hasPrefix("finished") == true ? $0 : nil }
    }
  }

  private let ears = Ears()
  private let clock = ManualClock()

  private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.listeners = [ears]
    change(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private static let echo = Reply.webSocket { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }

  private func request(_ server: LoopbackServer) -> HTTPRequest { HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/") }

  // MARK: - Events

  @Test func messagesOfBothDirectionsAreEventsAndTheCallEndsWithTheWebSocket() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let socket = try await session().webSocket(for: request(server))
    try await socket.send(.string("hello"))
    #expect(try await socket.receive() == .string("hello"))
    try await socket.send(.data(Data([65, 66])))
    #expect(try await socket.receive() == .data(Data([65, 66])))
    #expect(ears.lines.value.count == 4)
    await socket.close(.goingAway, reason: "home")
    #expect(
      ears.lines.value == [
        "sent text of 5 bytes: hello", "received text of 5 bytes: hello", "sent data of 2 bytes: AB",
        "received data of 2 bytes: AB", "sent a close frame with code 1001: home",
        "received a close frame with code 1001: home", "finished",
      ])
  }

  @Test func aServerThatClosesInOrderEndsTheCallWithoutAnError() async throws {
    let server = try LoopbackServer { _ in .webSocket { try $0.close(.normalClosure, reason: "done") } }
    let socket = try await session().webSocket(for: request(server))
    for try await _ in socket {}
    #expect(try await ears.all() == ["received a close frame with code 1000: done", "finished"])
  }

  @Test(arguments: [4001, 1011] as [UInt16]) func aServerThatComplainsFailsTheCall(_ code: UInt16) async throws {
    let server = try LoopbackServer { _ in .webSocket { try $0.close(.init(rawValue: code)) } }
    let socket = try await session().webSocket(for: request(server))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(try await ears.all() == ["received a close frame with code \(code): ", "finished: connectionLost"])
  }

  @Test func aLostConnectionFailsTheCall() async throws {
    let server = try LoopbackServer { _ in .webSocket { $0.reset() } }
    let socket = try await session().webSocket(for: request(server))
    await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(try await ears.all() == ["finished: connectionLost"])
  }

  @Test func aReleasedWebSocketEndsItsCall() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    _ = try await session().webSocket(for: request(server))
    #expect(
      try await ears.all() == [
        "sent a close frame with code 1001: ", "received a close frame with code 1001: ", "finished",
      ])
  }

  @Test func aRefusalEndsTheCallOnce() async throws {
    let server = try LoopbackServer { _ in .text("no", status: .forbidden) }
    await #expect(throws: HTTPError.self) { try await session().webSocket(for: request(server)) }
    let wrong = try LoopbackServer { _ in Self.echo.with("Sec-WebSocket-Accept", "bm9wZQ==") }
    await #expect(throws: HTTPError.self) { try await session().webSocket(for: request(wrong)) }
    #expect(try await ears.all() == ["finished: unexpectedResponse", "finished: protocolViolation"])
  }

  @Test func aMessageInPiecesIsOneEventWithItsBeginning() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let log = Mutex<[Event.Message]>([])
    let listener = EventHandler(.message) { event, _ in
      if case .message(let message) = event { log.withLock { $0.append(message) } }
    }
    let socket = try await session { $0.listeners = [listener] }.webSocket(for: request(server))
    let piece = Data(repeating: 7, count: 300_000)
    try await socket.send(
      .data,
      from: AsyncStream { continuation in
        for _ in 0..<5 { continuation.yield(piece) }
        continuation.finish()
      })
    var count = 0
    for try await bytes in try await socket.receiveStream() { count += bytes.count }
    #expect(count == 1_500_000)
    for (message, direction) in zip(log.withLock { $0 }, [.sent, .received] as [Event.Progress.Direction]) {
      #expect(message.direction == direction && message.kind == .data && message.count == 1_500_000)
      #expect(message.payload.count == Event.Message.payloadLimit)
    }
    await socket.close()
  }

  @Test func theDeadlineOfTheRequestDoesNotEndAnOpenWebSocket() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    var request = request(server)
    request.options.deadline = .seconds(5)
    request.options.idleTimeout = .seconds(5)
    var options = WebSocket.Options()
    options.pingInterval = nil
    let socket = try await session().webSocket(for: request, options: options)
    clock.advance(by: .seconds(3600))
    try await socket.send(.string("still here"))
    #expect(try await socket.receive() == .string("still here"))
    #expect(ears.lines.value.count == 2)
    await socket.close()
  }

  @Test func aCallCountsUntilItsWebSocketIsClosed() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let counter = TaskCounter()
    let socket = try await session { $0.listeners.append(counter) }.webSocket(for: request(server))
    #expect(counter.running == 1)
    await socket.close()
    #expect(counter.running == 0)
  }

  // MARK: - Log, metrics, archives

  @Test func theLogHasTheMessagesAndOneLineForTheCall() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let sink = Lines()
    let session = session { $0.listeners.append(LogListener(to: sink, clock: ManualClock())) }
    let socket = try await session.webSocket(for: request(server))
    try await socket.send(.string(#"{"token": "secret", "room": "tea"}"#))
    _ = try await socket.receive()
    await socket.close()
    _ = try await ears.all()
    let messages = sink.lines.filter { $0.hasPrefix("trace") && $0.contains("text of 34 bytes") }
    #expect(messages.count == 2)
    #expect(messages.allSatisfy { $0.contains(#""room": "tea""#) && $0.contains("***") })
    #expect(!sink.lines.contains { $0.contains("secret") })
    let line = try #require(sink.lines.last { $0.hasPrefix("info") })
    #expect(line.contains("101 Switching Protocols, 2 messages, 34 B sent, 34 B received"), "\(line)")
  }

  @Test func metricsCountMessagesAndTheCall() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let metrics = CallMetrics()
    let session = session { $0.listeners.insert(metrics, at: 0) }
    let socket = try await session.webSocket(for: request(server))
    for _ in 0..<3 { try await socket.send(.string("a")) }
    for _ in 0..<3 { _ = try await socket.receive() }
    #expect(metrics.snapshot()["martlet_calls_active"]?.sum() == 1)
    await socket.close()
    _ = try await ears.all()
    let snapshot = metrics.snapshot()
    #expect(snapshot["martlet_calls_active"]?.sum() == 0)
    #expect(snapshot["martlet_calls_total"]?.sum(where: ["result": "success"]) == 1)
    #expect(snapshot["martlet_websocket_messages_total"]?.sum(where: ["direction": "sent"]) == 3)
    #expect(snapshot["martlet_websocket_messages_total"]?.sum(where: ["direction": "received"]) == 3)
  }

  @Test func anArchiveHasTheMessagesAsBrowsersWriteThem() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let recorder = HARRecorder(now: { Date(timeIntervalSince1970: 1_700_000_000) }, clock: ManualClock())
    let session = session { $0.listeners.insert(recorder, at: 0) }
    let socket = try await session.webSocket(for: request(server))
    try await socket.send(.string(#"{"password": "secret"}"#))
    _ = try await socket.receive()
    try await socket.send(.data(Data([0, 255])))
    _ = try await socket.receive()
    #expect(recorder.har.log.entries.isEmpty)
    await socket.close(.init(rawValue: 4000), reason: "bye")
    _ = try await ears.all()
    let json = String(decoding: try recorder.har.json(), as: UTF8.self)
    #expect(!json.contains("secret"))
    let har = try HAR(json: Data(json.utf8))
    let entry = try #require(har.log.entries.first)
    #expect(har.log.entries.count == 1 && entry.response.status == 101 && entry.resourceType == "websocket")
    let messages = try #require(entry.webSocketMessages)
    #expect(messages.map(\.type) == ["send", "receive", "send", "receive", "send", "receive"])
    #expect(messages.map(\.opcode) == [1, 1, 2, 2, 8, 8])
    #expect(messages[0].data.contains("***") && messages[2].data == "AP8=" && messages[4].data == "4000 bye")
    #expect(messages.allSatisfy { $0.time == 1_700_000_000 })
    #expect(json.contains(#""_webSocketMessages""#) && json.contains(#""_resourceType" : "websocket""#))
  }

  @Test func anArchiveKeepsOnlySoManyBytesOfMessages() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    var limits = HARRecorder.Limits()
    limits.bodyBytes = 1000
    let recorder = HARRecorder(limits: limits)
    let socket = try await session { $0.listeners.insert(recorder, at: 0) }.webSocket(for: request(server))
    for _ in 0..<20 {
      try await socket.send(.data(Data(count: 400)))
      _ = try await socket.receive()
    }
    await socket.close()
    _ = try await ears.all()
    let entry = try #require(recorder.har.log.entries.first)
    let messages = try #require(entry.webSocketMessages)
    #expect(messages.count == 3)
    #expect(messages[2].comment == "cut off after 72 of 400 bytes")
    #expect(entry.comment?.contains("39 later messages were left out") == true, "\(entry.comment ?? "")")
    #expect(entry.omittedWebSocketMessages == 39)
    #expect(try HAR(json: recorder.har.json()).log.entries.first?.omittedWebSocketMessages == 39)
  }

  // MARK: - Closing the session

  @Test func aSessionThatIsClosedLeavesItsWebSocketsWith1001AndWaits() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        try socket.send(.string("last words"))
        while try socket.receive() != nil {}
        #expect(socket.clientClose?.code == .goingAway)
        gate.open()
      }
    }
    let closable = closable()
    let socket = try await closable.session.webSocket(for: request(server))
    #expect(try await socket.receive() == .string("last words"))
    await closable.close(within: .seconds(30))
    #expect(ears.lines.value.last == "finished")
    try await gate.wait()
    var rest = 0
    for try await _ in socket { rest += 1 }
    #expect(rest == 0 && socket.closeCode == .goingAway)
    let error = await #expect(throws: HTTPError.self) { try await socket.send(.string("more")) }
    #expect(error?.kind == .shutDown)
  }

  @Test func messagesThatArrivedBeforeTheSessionWasClosedAreDelivered() async throws {
    let answered = Gate()
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        for number in 1...3 { try socket.send(.string("\(number)")) }
        try socket.sendFrame(9, Data("ping".utf8))
        _ = try socket.receiveFrame()  // the pong: the messages before the ping are in the client's queue
        answered.open()
        while try socket.receive() != nil {}
      }
    }
    let closable = closable()
    let socket = try await closable.session.webSocket(for: request(server))
    try await answered.wait()
    await closable.close(within: .seconds(30))
    var messages: [WebSocket.Message] = []
    for try await message in socket { messages.append(message) }
    #expect(messages == [.string("1"), .string("2"), .string("3")])
  }

  @Test func aServerThatDoesNotAnswerTheCloseIsCutOffAfterTheTime() async throws {
    let server = try LoopbackServer { _ in .webSocket { socket in try socket.wait(for: Gate()) } }
    let closable = closable()
    var options = WebSocket.Options()
    options.closeTimeout = .seconds(600)
    options.pingInterval = nil
    let socket = try await closable.session.webSocket(for: request(server), options: options)
    async let closed: Void = closable.close(within: .seconds(30))
    try await clock.sleepers(1, within: .seconds(30))
    clock.advance(by: .seconds(30))
    await closed
    _ = try await server.end(ofConnection: 1)
    try await socket.waitUntilClosed()
  }

  private func closable() -> ClosableSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.listeners = [ears]
    return ClosableSession(transport: SocketTransport(), configuration: configuration)
  }
}

/// A sink that keeps its lines.
private final class Lines: LogSink {
  private let kept = Mutex<[String]>([])
  var lines: [String] { kept.withLock { $0 } }

  func isEnabled(_ level: LogLevel) -> Bool { true }

  func write(_ line: String, at level: LogLevel) { kept.withLock { $0.append("\(level) \(line)") } }
}
