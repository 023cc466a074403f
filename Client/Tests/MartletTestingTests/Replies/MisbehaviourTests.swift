import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MisbehaviourTests {
  @Test func aStalledBodyContinuesWhenTheGateOpens() async throws {
    let gate = Gate()
    let client = try ConnectedServer { _ in .text("hello").stalled(after: 2, until: gate) }
    try client.get("/")
    #expect(try client.head().contains("Content-Length: 5\r\n"))
    #expect(try client.receive(2) == "he")

    gate.open()

    #expect(try client.receive(3) == "llo")
    #expect(gate.isOpen)
  }

  @Test func aStalledBodyEndsWhenTheClientDisconnects() async throws {
    let client = try ConnectedServer { _ in .text("hello").stalled(after: 2) }
    try client.get("/")
    _ = try client.head()
    #expect(try client.receive(2) == "he")

    client.client.close()

    #expect(try await client.server.end(ofConnection: 1) == .client)
  }

  @Test func aStalledBodyEndsWhenTheServerStops() async throws {
    let client = try ConnectedServer { _ in .text("hello").stalled(after: 2) }
    try client.get("/")
    _ = try client.head()

    client.server.stop()

    #expect(try client.rest() == "he")
    #expect(try await client.server.end(ofConnection: 1) == .server)
  }

  @Test func aHeldReplyIsSilentUntilTheGateOpens() async throws {
    let gate = Gate()
    let client = try ConnectedServer { _ in .text("hello").preceded(by: .earlyHints).held(by: gate) }
    try client.get("/")
    #expect(try client.head().hasPrefix("HTTP/1.1 103"))
    _ = try await client.server.request(1)

    gate.open()

    #expect(try client.response().body == "hello")
  }

  @Test func aResponderMayWaitForAGate() async throws {
    let gate = Gate()
    let client = try ConnectedServer { request in
      try request.wait(for: gate)
      return .text("\(gate.isOpen)")
    }
    try client.get("/")
    _ = try await client.server.request(1)
    gate.open()
    #expect(try client.response().body == "true")
  }

  @Test func aResponderThatWaitsEndsWhenTheServerStops() async throws {
    let client = try ConnectedServer { request in
      try request.wait(for: Gate())
      return .text("never")
    }
    try client.get("/")
    _ = try await client.server.request(1)
    client.server.stop()
    #expect(try client.rest().isEmpty)
  }

  @Test func aDrippedBodyIsSentWithPauses() throws {
    let client = try ConnectedServer { _ in .text("hello").dripped(2, every: .milliseconds(20)) }
    let start = ContinuousClock.now
    try client.get("/")
    #expect(try client.response().body == "hello")
    #expect(ContinuousClock.now - start >= .milliseconds(40))
  }

  @Test(arguments: [
    Reply.text("hello").delayed(by: .seconds(Int64.max)), Reply.text("hello").dripped(2, every: .seconds(Int64.max)),
  ])
  func aPauseWithoutEndIsOverWhenTheClientDisconnects(reply: Reply) async throws {
    let client = try ConnectedServer { _ in reply }
    try client.get("/")
    _ = try await client.server.request(1)

    client.client.close()

    #expect(try await client.server.end(ofConnection: 1) == .client)
  }

  @Test func aTruncatedBodyEndsBeforeItsLength() async throws {
    let client = try ConnectedServer { _ in .text("hello").truncated(after: 3) }
    try client.get("/")
    let reply = try client.rest()
    #expect(reply.contains("Content-Length: 5\r\n"))
    #expect(reply.hasSuffix("\r\n\r\nhel"))
    #expect(try await client.server.end(ofConnection: 1) == .server)
  }

  @Test func aTruncatedChunkedBodyHasNoLastChunk() throws {
    let client = try ConnectedServer { _ in .text("hello").chunked().truncated(after: 3) }
    try client.get("/")
    #expect(try client.rest().hasSuffix("\r\n\r\n3\r\nhel\r\n"))
  }

  @Test func aResetBodyEndsWithAReset() throws {
    let client = try ConnectedServer { _ in .text("hello").reset(after: 2) }
    try client.get("/")
    let failure = #expect(throws: RawClient.Failure.self) { try client.rest() }
    #expect(failure?.description == "reset")
  }

  @Test func chunkSizesCanBeWrong() throws {
    let client = try ConnectedServer { _ in .text("hello").chunked(sizeLine: "zz").closing() }
    try client.get("/")
    #expect(try client.rest().hasSuffix("\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"))
  }

  @Test func neverKeepsTheConnectionOpenWithoutAResponse() async throws {
    let client = try ConnectedServer { _ in .never }
    try client.get("/")
    _ = try await client.server.request(1)
    client.server.stop()
    #expect(try client.rest().isEmpty)
  }

  @Test func hangingUpSendsNothing() throws {
    let client = try ConnectedServer { _ in .hangUp }
    try client.get("/")
    #expect(try client.rest().isEmpty)
  }

  @Test func resettingSendsNothing() throws {
    let client = try ConnectedServer { _ in .reset }
    try client.get("/")
    #expect(throws: RawClient.Failure.self) { try client.rest() }
  }

  @Test func aPooledConnectionCanBeStale() async throws {
    let client = try ConnectedServer { _ in .text("hello").closingSilently() }
    try client.get("/")

    let (head, body) = try client.response()

    #expect(body == "hello")
    #expect(!head.contains("Connection"))
    #expect(try await client.server.end(ofConnection: 1) == .server)
    #expect(try client.rest().isEmpty)
  }

  @Test func connectionsCanBeRefusedAfterTheyWereAccepted() async throws {
    let server = try LoopbackServer(
      accept: { $0 == 1 ? .close : $0 == 2 ? .reset : .serve }, respond: { _ in .text("x") })

    let closed = try RawClient(port: server.port)
    #expect(try closed.rest().isEmpty)
    let reset = try RawClient(port: server.port)
    #expect(throws: RawClient.Failure.self) { try reset.rest() }
    let served = try RawClient(port: server.port)
    try served.get("/")

    #expect(try served.response().body == "x")
    #expect(server.requests.map(\.connection) == [3])
  }

  @Test func misbehaviourComposes() async throws {
    let gate = Gate()
    let client = try ConnectedServer { _ in
      .repeating(Data("ab".utf8), length: 100).chunked(size: 4)
        .dripped(4, every: .milliseconds(1)).stalled(after: 6, until: gate).truncated(after: 9)
    }
    try client.get("/")
    _ = try client.head()
    #expect(try client.receive(16) == "4\r\nabab\r\n2\r\nab\r\n")
    gate.open()
    #expect(try client.rest() == "2\r\nab\r\n1\r\na\r\n")
  }
}
