import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// The number of concurrent requests to an origin.
@Suite(.timeLimit(.minutes(5)))
struct ConcurrencyLimitTests {
  private let log = EventLog()
  private let clock = ManualClock()

  private func session(_ limit: ConcurrencyLimit, _ transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.limits.concurrency = limit
    configuration.listeners = [log]
    configuration.cache = nil
    configuration.clock = clock
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// A transport that holds every request to `/held` until the gate opens.
  private func holding(_ gate: Gate, _ order: Log<String> = Log()) -> TestTransport {
    TestTransport { request in
      order.append(request.url.path())
      if request.url.path() == "/held" { try await gate.wait() }
      return .text("ok")
    }
  }

  /// Waits until this number of requests have been queued.
  private func queued(_ count: Int) async throws {
    try await until { log.lines.count { $0.contains("limit: http://a.example: waits for one") } >= count }
  }

  private func get(_ session: HTTPSession, _ path: String) async throws -> HTTPResponse {
    try await session.data(for: HTTPRequest(.get, url("http://a.example\(path)"))).1
  }

  @Test func furtherRequestsWaitInTheirOrder() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    var waiting: [Task<HTTPResponse, any Error>] = []
    for number in 1...4 {
      waiting.append(Task { try await get(session, "/\(number)") })
      try await queued(number)
    }
    #expect(order.entries == ["/held"])
    gate.open()
    _ = try await held
    for task in waiting { _ = try await task.value }
    #expect(order.entries == ["/held", "/1", "/2", "/3", "/4"])
    #expect(log.lines.contains { $0.hasSuffix("behind 3 others") })
  }

  /// Random schedules of requests that wait and that are in progress.
  @Test(arguments: 0..<10 as Range<UInt64>) func thoseThatGiveUpLeaveNoPlaceTaken(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let gate = Gate(), again = Gate(), order = Log<String>()
    let transport = TestTransport { request in
      order.append(request.url.path())
      try await (request.url.path() == "/again" ? again : gate).wait()
      return .text("ok")
    }
    let session = session(ConcurrencyLimit(3), transport)
    let tasks = (0..<20).map { _ in Task { try await get(session, "/held").status } }
    try await queued(17)
    let givenUp = Set(tasks.indices.filter { _ in Bool.random(using: &random) })
    for index in givenUp.sorted().shuffled(using: &random) {
      tasks[index].cancel()
      if Bool.random(using: &random) { _ = await tasks[index].result }
    }

    gate.open()

    for index in tasks.indices where !givenUp.contains(index) { #expect(try await tasks[index].value == .ok) }
    for index in givenUp { _ = await tasks[index].result }
    // all places are free: three requests are in progress at the same time
    let next = (0..<3).map { _ in Task { try await get(session, "/again").status } }
    try await until { order.entries.count(where: { $0 == "/again" }) >= 3 }
    again.open()
    for task in next { #expect(try await task.value == .ok) }
  }

  @Test func anotherOriginDoesNotWait() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    #expect(try await session.data(for: HTTPRequest(.get, url("http://b.example/"))).1.status == .ok)
    gate.open()
    _ = try await held
  }

  /// The response that is refused holds the slot until its body is dropped, which is after the other request.
  @Test func aRequestThatAnotherOneNeedsDoesNotWait() async throws {
    struct Helper: Interceptor {
      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation { .send(request) }

      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        guard attempt.request.url.path() == "/order", attempt.number == 1 else { return .accept }
        _ = try await call.session?.data(for: HTTPRequest(.get, url("http://a.example/token")))
        return .resend(attempt.request, after: .zero, reason: "a token is there")
      }
    }
    let order = Log<String>()
    var configuration = SessionConfiguration()
    configuration.limits.concurrency = ConcurrencyLimit(1, waitLimit: nil)
    configuration.interceptors = [Helper()]
    configuration.cache = nil
    let session = HTTPSession(transport: holding(Gate(), order), configuration: configuration)

    #expect(try await get(session, "/order").status == .ok)
    #expect(try await get(session, "/next").status == .ok, "the limit is as it was")

    #expect(order.entries == ["/order", "/token", "/order", "/next"])
  }

  /// It says nothing about the origin's health.
  @Test func aDeadlineThatPassesInTheQueueDoesNotOpenTheCircuit() async throws {
    let gate = Gate(), order = Log<String>()
    var configuration = SessionConfiguration()
    configuration.limits.concurrency = ConcurrencyLimit(1)
    configuration.limits.circuitBreaker = CircuitBreaker()
    configuration.listeners = [log]
    configuration.cache = nil
    configuration.clock = clock
    let session = HTTPSession(transport: holding(gate, order), configuration: configuration)
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    let late = (0..<30).map { _ in
      Task {
        var request = HTTPRequest(.get, url("http://a.example/"))
        request.options.deadline = .seconds(1)
        return try await session.data(for: request)
      }
    }
    try await queued(30)
    clock.advance(by: .seconds(1))
    for task in late {
      let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
      #expect(error?.kind == .deadlineExceeded)
    }
    gate.open()
    _ = try await held
    #expect(try await get(session, "/next").status == .ok)
  }

  @Test func aRequestThatWaitsTooLongFailsUnsent() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1, waitLimit: .seconds(2)), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    let waiting = Task { try await get(session, "/late") }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(2))
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.kind == .concurrencyLimit && error?.isUnsent == true)
    #expect(
      error?.message
        == "http://a.example: at most one request at a time may be sent, and this one's turn did not come within 2 s: "
        + "send fewer, or raise limits.concurrency")
    gate.open()
    _ = try await held
    #expect(order.entries == ["/held"])
    _ = try await get(session, "/next")  // the place of the one that gave up is free
  }

  @Test func aFullQueueRefusesAtOnce() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1, queue: 1), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    async let waiting = get(session, "/waiting")
    try await queued(1)
    let error = await #expect(throws: HTTPError.self) { try await get(session, "/third") }
    #expect(error?.message.contains("and the queue, which holds 1, is full: ") == true)
    gate.open()
    _ = try await (held, waiting)
  }

  @Test func aCancelledRequestLeavesTheQueue() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1, queue: 1), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    let cancelled = Task { try await get(session, "/cancelled") }
    try await queued(1)
    cancelled.cancel()
    let error = await #expect(throws: HTTPError.self) { try await cancelled.value }
    #expect(error?.isCancelled == true)
    async let next = get(session, "/next")
    try await queued(2)
    gate.open()
    _ = try await (held, next)
    #expect(order.entries == ["/held", "/next"])
  }

  @Test func theDeadlineOfACallEndsItsWait() async throws {
    let gate = Gate(), order = Log<String>()
    let session = session(ConcurrencyLimit(1, waitLimit: nil), holding(gate, order))
    async let held = get(session, "/held")
    try await until { !order.entries.isEmpty }
    var request = HTTPRequest(.get, url("http://a.example/late"))
    request.options.deadline = .seconds(1)
    let waiting = Task { [request] in try await session.data(for: request) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.kind == .deadlineExceeded)
    gate.open()
    _ = try await held
  }

  @Test func aResponseCountsUntilItsBodyIsReadOrDropped() async throws {
    let server = try LoopbackServer { _ in .text(String(repeating: "a", count: 100_000)) }
    let session = session(ConcurrencyLimit(1, queue: 0), SocketTransport())
    let request = HTTPRequest(.get, server.url)
    for end in 0..<3 {
      let (body, _) = try await session.bytes(for: request)
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
      #expect(error?.kind == .concurrencyLimit)
      switch end {
      case 0: for try await _ in body {}
      case 1: body.cancel()
      default: #expect(body.length == 100_000)  // it is released after its last use
      }
    }
    #expect(try await session.data(for: request).0.count == 100_000)
    // a response without a body does not wait for a reader
    let (_, response) = try await session.bytes(for: HTTPRequest(.head, server.url))
    #expect(response.status == .ok)
    #expect(try await session.data(for: request).1.status == .ok)
  }

  @Test func aRequestThatFailsReleasesItsPlace() async throws {
    let transport = ScriptedTransport(.failure(HTTPError(.connectionLost, "gone")), .text("ok"))
    let session = session(ConcurrencyLimit(1, queue: 0), transport)
    await #expect(throws: HTTPError.self) { try await get(session, "/") }
    #expect(try await get(session, "/").status == .ok)
  }
}
