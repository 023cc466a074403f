import Martlet
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import MartletWebSocket
import Testing

/// WebSockets of a ``Recording``.
@Suite(.timeLimit(.minutes(5)))
struct RecordedWebSocketTests {
  private let folder: TemporaryFolder
  private var file: URL { folder.url.appending(path: "chat.har") }

  init() throws { folder = try TemporaryFolder() }

  /// Sends messages and returns the answers, until the server closes.
  private func conversation(_ session: HTTPSession, _ url: String, _ messages: [WebSocket.Message]) async throws
    -> (answers: [WebSocket.Message], WebSocket)
  {
    let socket = try await session.webSocket(for: HTTPRequest(.get, url), protocols: ["chat"])
    var answers: [WebSocket.Message] = []
    for message in messages {
      try await socket.send(message)
      answers.append(try await socket.receive())
    }
    return (answers, socket)
  }

  private static let messages: [WebSocket.Message] = [
    .string(#"{"room": "tea", "token": "secret"}"#), .data(Data([0, 255])), .string("bye"),
  ]

  /// Records a conversation, at whose end the server closes with 4001. Returns its URL.
  private func record() async throws -> String {
    let server = try LoopbackServer { _ in
      .webSocket(subprotocol: "chat") { socket in
        while let message = try socket.receive() {
          try socket.send(message)
          if message == .string("bye") { return try socket.close(.init(rawValue: 4001), reason: "so long") }
        }
      }
    }
    let url = "ws://127.0.0.1:\(server.port)/room"
    let recording = try Recording(file: file, mode: .record, around: DefaultTransport())
    let (answers, socket) = try await conversation(HTTPSession(transport: recording), url, Self.messages)
    #expect(answers == Self.messages)
    await #expect(throws: HTTPError.self) { try await socket.receive() }
    await socket.close()
    try recording.save()
    return url
  }

  private func replay() throws -> HTTPSession {
    HTTPSession(transport: try Recording(file: file, mode: .replay, around: ScriptedTransport()))
  }

  @Test func aConversationIsReplayedWithItsEnd() async throws {
    let url = try await record()
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(!text.contains("secret"))
    // another token is no other message
    var messages = Self.messages
    messages[0] = .string(#"{"token":"other","room":"tea"}"#)
    let (answers, socket) = try await conversation(replay(), url, messages)
    #expect(answers == [.string(#"{"room": "tea", "token": "***"}"#), .data(Data([0, 255])), .string("bye")])
    #expect(socket.negotiatedProtocol == "chat")
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .connectionLost)
    #expect(socket.closeCode?.rawValue == 4001 && socket.closeReason == "so long")
  }

  @Test func anotherMessageIsAnErrorThatNamesItAndTheRemedy() async throws {
    let url = try await record()
    let socket = try await replay().webSocket(for: HTTPRequest(.get, url), protocols: ["chat"])
    try await socket.send(.string("something else"))
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .other)
    #expect(error?.message.contains("message 1") == true && error?.message.contains("MARTLET_RECORD=1") == true)
  }

  @Test func anArchiveOfABrowserIsReplayed() async throws {
    let har = try HAR(
      json: Data(
        #"""
        {"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"}, "entries": [{
          "_resourceType": "websocket", "startedDateTime": "2026-11-01T10:00:00.000Z", "time": 5,
          "request": {"method": "GET", "url": "wss://chat.example/room", "httpVersion": "HTTP/1.1", "headers": []},
          "response": {"status": 101, "statusText": "Switching Protocols", "headers": [
            {"name": "Upgrade", "value": "websocket"}, {"name": "Sec-WebSocket-Accept", "value": "abc="}]},
          "_webSocketMessages": [
            {"type": "send", "time": 1762000000.1, "opcode": 1, "data": "hi"},
            {"type": "receive", "time": 1762000000.2, "opcode": 2, "data": "AP8="}]}]}}
        """#.utf8))
    let session = HTTPSession(transport: ReplayTransport(har))
    let socket = try await session.webSocket(for: HTTPRequest(.get, "wss://chat.example/room"))
    try await socket.send(.string("hi"))
    #expect(try await socket.receive() == .data(Data([0, 255])))
    try await socket.send(.string("more"))
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.message.contains("it ends before the program's text of 4 bytes") == true, "\(error?.message ?? "")")
  }

  @Test func anErrorFollowsTheLastMessageThatTheRecorderKept() async throws {
    let har = try HAR(
      json: Data(
        #"""
        {"log": {"version": "1.2", "creator": {"name": "Martlet", "version": "1"}, "entries": [{
          "startedDateTime": "2026-11-01T10:00:00.000Z", "request": {"method": "GET", "url": "wss://chat.example/room"},
          "response": {"status": 101, "headers": [
            {"name": "Upgrade", "value": "websocket"}, {"name": "Sec-WebSocket-Accept", "value": "abc="}]},
          "_webSocketMessages": [{"type": "receive", "time": 1762000000, "opcode": 1, "data": "first"}],
          "_omittedWebSocketMessages": 2}]}}
        """#.utf8))
    let session = HTTPSession(transport: ReplayTransport(har))
    let socket = try await session.webSocket(for: HTTPRequest(.get, "wss://chat.example/room"))
    #expect(try await socket.receive() == .string("first"))
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
    #expect(error?.kind == .other)
    #expect(error?.message.contains("(2 after message 1): record again") == true, "\(error?.message ?? "")")
  }
}
