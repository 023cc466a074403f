#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// Requests that end while they wait for a connection.
@Suite(.timeLimit(.minutes(5)))
struct UnsentRequestTests {
  private let gate = Gate()
  private let clock = ManualClock()
  private let throttled = Counter()
  private let server: LoopbackServer
  private let transport: SocketTransport
  private let session: HTTPSession

  /// A session that may use one connection, and send two requests at once and two more every 15 seconds. The server
  /// answers the first request when the gate opens.
  init() throws {
    server = try LoopbackServer { [gate] request in
      request.path == "/slow" ? .text("hello").held(by: gate) : .text("hello")
    }
    var settings = ConnectionConfiguration()
    settings.connectionLimitPerHost = 1
    transport = SocketTransport(settings)
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.clock = clock
    configuration.listeners = [
      EventHandler(.limit) { [throttled] event, _ in
        if case .limit(.throttled) = event { throttled.next() }
      }
    ]
    configuration.limits.rate = RateLimit(2, per: .seconds(15))
    session = HTTPSession(transport: transport, configuration: configuration)
  }

  private func get(_ path: String, deadline: Duration? = nil) -> Task<HTTPStatus, any Error> {
    var request = HTTPRequest(.get, server.url(path))
    request.options.deadline = deadline
    return Task { [session, request] in try await session.data(for: request).1.status }
  }

  private func waits(_ count: Int) async throws {
    try await until { await transport.statistics().values.first?.queued == count || throttled.value > 0 }
  }

  @Test(arguments: [false, true])
  func aRequestThatEndsBeforeItHasAConnectionGivesItsPlaceBack(byDeadline: Bool) async throws {
    let first = get("/slow")
    try await until { server.requests.count == 1 }
    let second = get("/", deadline: byDeadline ? .seconds(2) : nil)
    try await waits(1)
    if byDeadline { clock.advance(by: .seconds(2)) } else { second.cancel() }
    let error = await #expect(throws: HTTPError.self) { try await second.value }
    #expect(error?.kind == (byDeadline ? .deadlineExceeded : .cancelled))
    #expect(error?.phase == .queued)
    #expect(error?.isUnsent == true)

    try await until { await transport.statistics().values.first?.queued == 0 }
    let third = get("/third")
    try await waits(1)
    #expect(throttled.value == 0)
    gate.open()
    if throttled.value > 0 { clock.advance(by: .seconds(15)) }

    #expect(try await [first.value, third.value] == [.ok, .ok])
    #expect(server.requests.map(\.path) == ["/slow", "/third"])
  }

  @Test func aRequestThatWasSentKeepsItsPlace() async throws {
    let first = get("/slow")
    try await until { server.requests.count == 1 }
    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    #expect(error?.phase == nil)
    #expect(error?.isUnsent == false)
    gate.open()
  }

  @Test func aCallThatIsCancelledBeforeItsFirstAttemptIsUnsent() async throws {
    let error = await Task { [session, server] in
      withUnsafeCurrentTask { $0?.cancel() }
      return await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url("/"))) }
    }.value
    #expect(error?.isCancelled == true)
    #expect(error?.isUnsent == true)
  }
}
#endif
