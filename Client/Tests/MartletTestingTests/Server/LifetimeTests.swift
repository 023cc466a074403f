import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LifetimeTests {
  @Test func aStoppedServerRefusesConnections() throws {
    let server = try LoopbackServer { _ in .text("x") }
    server.stop()
    server.stop()
    #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: server.port) }
  }

  @Test func thePortOfAStoppedServerStaysReserved() throws {
    let server = try LoopbackServer { _ in .text("x") }
    server.stop()
    #expect(!RawClient.isFree(server.port))
  }

  @Test func aServerStopsWithItsLastReference() throws {
    let client: RawClient
    do {
      let server = try LoopbackServer { _ in .never }
      client = try RawClient(port: server.port)
      try client.get("/")
    }
    #expect((try? client.rest()) ?? "" == "")
  }

  @Test func stoppingInTheMiddleOfALargeReplyEndsIt() async throws {
    let client = try ConnectedServer { _ in .repeating(Data("x".utf8), length: 256 << 20) }
    try client.get("/")
    _ = try client.head()

    client.server.stop()

    #expect(try client.countRest() < 1 << 30)
    #expect(try await client.server.end(ofConnection: 1) == .server)
  }

  @Test func waitingEndsWhenTheServerStops() async throws {
    let server = try LoopbackServer { _ in .text("x") }
    let request = Task { try await server.request(1) }
    let end = Task { try await server.end(ofConnection: 1) }
    server.stop()
    await #expect(throws: LoopbackServerError.self) { _ = try await request.value }
    await #expect(throws: LoopbackServerError.self) { _ = try await end.value }
  }

  @Test func waitingEndsWhenTheTaskIsCancelled() async throws {
    let server = try LoopbackServer { _ in .text("x") }
    let gate = Gate()
    let request = Task { try await server.request(1) }
    let wait = Task { try await gate.wait() }
    request.cancel()
    wait.cancel()
    await #expect(throws: CancellationError.self) { _ = try await request.value }
    await #expect(throws: CancellationError.self) { try await wait.value }
  }

  @Test func waitingForARequestReturnsIt() async throws {
    let server = try LoopbackServer { _ in .text("x") }
    async let second = server.request(2)
    let client = try RawClient(port: server.port)
    try client.get("/1")
    try client.get("/2")
    #expect(try await second.path == "/2")
  }

  @Test func aPortInUseIsAnErrorThatNamesIt() throws {
    let server = try LoopbackServer { _ in .text("x") }
    let failure = #expect(throws: LoopbackServerError.self) {
      _ = try LoopbackServer(port: server.port) { _ in .text("y") }
    }
    #expect(failure?.description.contains("127.0.0.1:\(server.port)") == true)
  }

  @Test func aPortIsFreeAgainAfterItsServerStopped() async throws {
    let first = try LoopbackServer { _ in .text("first") }
    let client = try RawClient(port: first.port)
    try client.get("/")
    _ = try client.response()
    first.stop()

    let second = try LoopbackServer(port: first.port) { _ in .text("second") }
    let another = try RawClient(port: second.port)
    try another.get("/")
    #expect(try another.response().body == "second")
  }

  @Test func aServerThatRecordsNothingHasNoRequests() async throws {
    let server = try LoopbackServer(recording: .nothing) { .text($0.text) }
    let client = try RawClient(port: server.port)
    try client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    #expect(try client.response().body == "abc")
    #expect(server.requests.isEmpty)
    await #expect(throws: LoopbackServerError.self) { _ = try await server.request(1) }
    let failure = await #expect(throws: LoopbackServerError.self) { _ = try await server.end(ofConnection: 1) }
    #expect(failure?.description.contains("`recording: .everything`") == true)
  }

  @Test(arguments: [-1, 65536])
  func anInvalidPortIsAnError(port: Int) {
    #expect(throws: LoopbackServerError.self) { _ = try LoopbackServer(port: port) { _ in .text("x") } }
  }
}
