import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// The requests that are sent to a failing origin.
@Suite(.timeLimit(.minutes(5)))
struct CircuitBreakerTests {
  private let log = EventLog()
  private let clock = ManualClock()

  private func session(
    _ transport: any Transport, change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var breaker = CircuitBreaker()
    breaker.minimumCount = 3
    breaker.openTime = .seconds(5)
    var configuration = SessionConfiguration()
    configuration.limits.circuitBreaker = breaker
    configuration.listeners = [log]
    configuration.cache = nil
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private var changes: [String] { log.lines.filter { $0.contains("the circuit is") } }

  private func get(_ session: HTTPSession) async throws -> HTTPStatus {
    try await session.data(for: HTTPRequest(.get, origin)).1.status
  }

  private func refusal(_ session: HTTPSession) async -> HTTPError? {
    let error = await #expect(throws: HTTPError.self) { try await get(session) }
    #expect(error?.kind == .circuitOpen, "\(error?.description ?? "")")
    return error
  }

  @Test func itOpensAndClosesWithTheOriginsHealth() async throws {
    let bad = MockResponse.status(.badGateway)
    let transport = ScriptedTransport(bad, bad, bad, .text("ok"), .text("ok"))
    let session = session(transport)
    for _ in 0..<3 { #expect(try await get(session) == .badGateway) }
    let error = await refusal(session)
    #expect(
      error?.message.hasPrefix(
        "http://a.example: too many requests failed, so no requests will be sent for another 5 s") == true)
    #expect(error?.isUnsent == true)
    #expect(transport.requests.count == 3)
    clock.advance(by: .seconds(5))
    for _ in 0..<2 { #expect(try await get(session) == .ok) }
    #expect(changes.map { $0.split(separator: " ").last } == ["open", "half-open", "closed"])
  }

  @Test func failuresWithoutAResponseCount() async throws {
    let lost = MockResponse.failure(HTTPError(.connectionLost, "gone", phase: .waiting))
    let session = session(ScriptedTransport(lost, lost, lost))
    for _ in 0..<3 { await #expect(throws: HTTPError.self) { try await get(session) } }
    _ = await refusal(session)
  }

  @Test func whatSaysNothingAboutTheOriginDoesNotCount() async throws {
    let errors: [any Error] = [
      CancellationError(), HTTPError(.invalidRequest, "wrong", phase: .preparing), HTTPError(.cancelled, "cancelled"),
      HTTPError(.concurrencyLimit, "full", phase: .queued),
    ]
    let failures = (errors + errors).map { MockResponse.failure($0) }
    let session = session(ScriptedTransport(failures + [.status(.notFound)]))
    for _ in 0..<8 { await #expect(throws: HTTPError.self) { try await get(session) } }
    #expect(try await get(session) == .notFound)
    #expect(changes.isEmpty)
  }

  @Test func onlyOneRequestIsSentToFindOutWhetherItWorks() async throws {
    let gate = Gate(), sent = Counter()
    let session = session(
      TestTransport { _ in
        guard sent.next() > 3 else { return .text("", status: .serviceUnavailable) }
        try await gate.wait()
        return .text("ok")
      })
    for _ in 0..<3 { _ = try await get(session) }
    clock.advance(by: .seconds(5))
    async let probe = get(session)
    try await until { sent.value >= 4 }
    #expect(await refusal(session)?.message.contains("until those in progress have succeeded") == true)
    gate.open()
    #expect(try await probe == .ok)
    #expect(try await get(session) == .ok)
  }

  @Test func aRetryIsRefusedWhileItIsOpen() async throws {
    let transport = ScriptedTransport(Array(repeating: MockResponse.status(.serviceUnavailable), count: 3))
    let session = session(transport) {
      $0.options.retryPolicy = RetryPolicy(limit: 5)
      $0.options.retryPolicy.random = { 0 }
    }
    let error = await refusal(session)
    #expect(error?.history.count == 3)
    #expect(transport.requests.count == 3)
  }

  @Test func whatIsAFailureCanBeChosen() async throws {
    let session = session(ScriptedTransport(Array(repeating: MockResponse.status(.notFound), count: 3))) {
      $0.limits.circuitBreaker?.isFailure = { outcome in (try? outcome.get().status) == .notFound }
    }
    for _ in 0..<3 { #expect(try await get(session) == .notFound) }
    _ = await refusal(session)
  }

  @Test func aStoredResponseIsUsedWhileItIsOpen() async throws {
    let stored = MockResponse(
      status: .ok, fields: ["Cache-Control": "max-age=0, stale-if-error=1000"], content: Data("stored".utf8))
    let bad = MockResponse.status(.badGateway)
    let transport = ScriptedTransport(stored, bad, bad)
    let session = session(transport) { $0.cache = HTTPCache() }
    _ = try await get(session)
    let other = url("http://a.example/other")
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, other)) }
    let (data, response) = try await session.data(for: HTTPRequest(.get, origin))
    #expect(data == Data("stored".utf8) && response.source == .stale)
    #expect(transport.remaining == 0)
  }
}
