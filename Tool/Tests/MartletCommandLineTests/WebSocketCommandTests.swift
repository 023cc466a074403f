import Glibc
import MartletEngine
@testable import MartletCommandLine
import MartletSemantics
import MartletTesting
import MartletWebSocket
import Testing

@Suite("martlet ws", .timeLimit(.minutes(5)))
struct WebSocketCommandTests {
  private static let echo: @Sendable (LoopbackWebSocket) throws -> Void = { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }

  private func host(_ server: LoopbackServer) -> String { "127.0.0.1:\(server.port)/chat" }

  @Test(arguments: ["", "ws://", "http://"])
  func linesAreMessagesInBothDirections(_ scheme: String) async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let result = try await TestRun()("ws", scheme + host(server), "--count", "3", input: "one\r\ngrüß dich\n\nfour")
    #expect(result.text == "one\ngrüß dich\n\n")
    #expect(result.code == .success)
    #expect(result.errors.text == "")
  }

  @Test func aLineIsSentWhenItIsCompleteAndTheLastOneAtTheEnd() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let result = try await TestRun()("ws", host(server), "--count", "2", input: "a\nb")
    #expect(result.text == "a\nb\n")
  }

  /// Each line is written after the previous one has arrived, so that reads find the pipe empty.
  @Test func moreOfANonBlockingInputIsAwaited() async throws {
    var ends: [Int32] = [-1, -1]
    let isOpen = pipe(&ends) == 0
    try #require(isOpen)
    let (input, writer) = (ends[0], ends[1])
    defer { close(input) }
    #expect(fcntl(input, F_SETFL, O_NONBLOCK) == 0)
    let (arrived, inbox) = AsyncStream.makeStream(of: Data.self)
    let reader = Task {
      defer { inbox.finish() }
      for try await line in InputFiles(folder: URL(filePath: "/"), input: input).lines { inbox.yield(line) }
    }
    var lines = arrived.makeAsyncIterator()
    for number in 1...100 {
      let text = Array("\(number)\n".utf8)
      #expect(write(writer, text, text.count) == text.count)
      let line = await lines.next()
      #expect(line == Data("\(number)".utf8))
    }
    close(writer)
    try await reader.value
  }

  @Test func afterTheInputsEndTheAnswersAreShownUntilTheServerCloses() async throws {
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        _ = try socket.receive()
        for text in ["1", "2", "3"] { try socket.send(.string(text)) }
        try socket.close(.goingAway)
      }
    }
    let result = try await TestRun()("ws", host(server), input: "count")
    #expect(result.text == "1\n2\n3\n")
    #expect(result.code == .success)
  }

  @Test func filesAreSentFirst() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let run = try TestRun()
    try run.folder.write(Data("{\n}\n".utf8), to: "ask.json")
    try run.folder.write(Data([0xFF, 0]), to: "bytes")
    let result = try await run("ws", host(server), "@ask.json", "@bytes", "--json", "--count", "3", input: "line")
    #expect(
      result.text == """
        {"string": "{\\n}\\n"}
        {"data": "/wA="}
        {"string": "line"}

        """)
  }

  /// Control characters from U+0080 on, and characters that change the direction of a terminal's text.
  @Test func jsonHasNoCharactersThatControlATerminal() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let result = try await TestRun()("ws", host(server), "--json", "--count", "1", input: "a\u{9B}31m\u{7F}\u{202E}b ü")
    #expect(result.text == #"{"string": "a\u009b31m\u007f\u202eb ü"}"# + "\n")
  }

  @Test func aFileThatIsMissingIsNamedBeforeAnythingIsSent() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let result = try await TestRun()("ws", host(server), "@absent")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("there is no file 'absent'"))
    #expect(server.requests.isEmpty)
  }

  @Test func aFileHasALimit() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let run = try TestRun()
    let file = try run.folder.write(Data(), to: "large")
    #expect(truncate(file.path, off_t(InputFiles.textLimit) + 1) == 0)
    let result = try await run("ws", host(server), "@large", "-I")
    #expect(result.code == .failure)
    #expect(result.errors.text.hasPrefix("martlet: 'large' has more than 64 MiB: "))
  }

  @Test func bytesAreCountedOnATerminalAndUnchangedElsewhere() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    for (isTerminal, text) in [(true, "(3 bytes)\n"), (false, "abc")] {
      let result = try await TestRun()(
        "ws", host(server), "--binary", "--count", "1", "-q", input: "abc", isTerminal: isTerminal)
      #expect(result.text == "")
      let shown = try await TestRun()(
        "ws", host(server), "--binary", "--count", "1", input: "abc", isTerminal: isTerminal)
      #expect(shown.text == text)
    }
  }

  @Test func controlCharactersDoNotReachATerminal() async throws {
    let server = try LoopbackServer { _ in .webSocket { try $0.send(.string("\u{1B}[31mred")) } }
    let result = try await TestRun()("ws", host(server), "--count", "1", isTerminal: true)
    #expect(!result.text.contains("\u{1B}"))
    #expect(result.text.contains("[31mred"))
  }

  @Test func itemsOptionsAndSubprotocolsAreThoseOfTheHandshake() async throws {
    let server = try LoopbackServer { _ in .webSocket(subprotocol: "v2", Self.echo) }
    let result = try await TestRun()(
      "ws", host(server), "X-Trace:1", "room==7", "--subprotocol", "v2", "--subprotocol", "v1", "--auth", "ada:1815",
      "--count", "0", "-I", "--verbose")
    #expect(result.code == .success)
    let request = try #require(server.requests.first)
    #expect(request.fields["X-Trace"] == "1")
    #expect(request.target == "/chat?room=7")
    #expect(request.fields["Sec-WebSocket-Protocol"] == "v2, v1")
    #expect(request.fields[.authorization] == "Basic YWRhOjE4MTU=")
    #expect(result.errors.text.contains("101"))
    #expect(!result.errors.text.contains("YWRhOjE4MTU="))
  }

  @Test func aRefusalIsAnErrorWithItsBodysBeginning() async throws {
    let server = try LoopbackServer { _ in Reply(status: .forbidden, content: Data("members only".utf8)) }
    let result = try await TestRun()("ws", host(server))
    #expect(result.code == .clientError)
    #expect(result.errors.text.contains("unexpected status 403 Forbidden: no WebSocket was opened"))
  }

  @Test(arguments: [
    (1000, ExitCode.success), (1001, .success), (1002, .badResponse), (1003, .badResponse), (1007, .badResponse),
    (1008, .clientError), (1009, .badResponse), (1010, .badResponse), (1011, .serverError), (1012, .serverError),
    (1013, .serverError), (4000, .failure),
  ])
  func theCloseCodeDecidesTheExitCode(_ code: Int, _ expected: ExitCode) async throws {
    let server = try LoopbackServer { _ in
      .webSocket { try $0.close(WebSocket.CloseCode(rawValue: UInt16(code)), reason: "because") }
    }
    let result = try await TestRun()("ws", host(server), "-I")
    #expect(result.code == expected)
    #expect(result.errors.text.contains("\(code)") == (expected != .success))
    #expect(result.errors.text.contains("because") == (expected != .success))
  }

  @Test func otherCommandsNameTheOneForWebSockets() async throws {
    let result = try await TestRun()("get", "wss://example.com/")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("'martlet ws' opens one"))
  }

  @Test func aLostConnectionHasTheCodeOfConnections() async throws {
    let server = try LoopbackServer { _ in .webSocket { $0.reset() } }
    let result = try await TestRun()("ws", host(server), "-I")
    #expect(result.code == .connection)
  }

  @Test func aReaderThatClosesTheOutputEndsTheCommand() async throws {
    let server = try LoopbackServer { _ in .webSocket { socket in while true { try socket.send(.string("more")) } } }
    let result = try await TestRun()("ws", host(server), "-I", outputLimit: 20)
    #expect(result.code == .brokenPipe)
    #expect(result.errors.text == "")
  }
}
