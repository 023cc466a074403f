import HTTPTypes
import InMemoryLogging
import Logging
import Martlet
import MartletHTTPTypes
import MartletLogging
import MartletMetrics
import MartletOpenAPI
import MartletServiceLifecycle
import MartletTesting
import MartletTracing
import MetricsTestKit
import OpenAPIRuntime
import PetAPI
import ServiceLifecycle
import Testing
import UnixSignals

/// A service that uses a session: it sends a request when it starts.
private struct App: Service {
  let session: HTTPSession
  let hasSent = Gate()

  init(_ session: HTTPSession) { self.session = session }

  func run() async throws {
    _ = try await session.data(for: Martlet.HTTPRequest(.get, "hello"))
    hasSent.open()
    try await gracefulShutdown()
  }

  func end(_ group: ServiceGroup) async throws {
    try await hasSent.wait()
    await group.triggerGracefulShutdown()
  }
}

/// The code of the article about the bridges, and of their comments.
@Suite(.timeLimit(.minutes(5))) struct IntegrationsArticleTests {
  private let handler: InMemoryLogHandler
  private let logger: Logger

  init() {
    let handler = InMemoryLogHandler()
    self.handler = handler
    logger = Logger(label: "app") { _ in handler }
  }

  @Test func messagesOfHTTPTypes() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .text("ok") })

    let request = HTTPTypes.HTTPRequest(
      method: .get, scheme: "https", authority: "example.com", path: "/orders?page=2")
    let (data, response) = try await session.data(for: Martlet.HTTPRequest(request))
    let head = try HTTPTypes.HTTPResponse(response.head)

    #expect(head.status == .ok && data == Data("ok".utf8))
  }

  @Test func aClientOfAnAPI() async throws {
    let server = try LoopbackServer { _ in .json("[]") }
    let session = HTTPSession()
    let serverURL = server.url

    let client = Client(serverURL: serverURL, transport: SessionClientTransport(session))
    let pets = try await client.listPets().ok.body.json

    #expect(pets.isEmpty)
    #expect(server.requests.map(\.target) == ["/pets"])
  }

  @Test func aServiceThatIsSeen() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    var configuration = SessionConfiguration()
    configuration.baseURL = server.url

    configuration.listeners = [LogListener(to: LoggerSink(logger)), MetricsListener()]
    configuration.trace()

    let http = HTTPSessionService(configuration: configuration)
    let app = App(http.session)
    let group = ServiceGroup(services: [http, app], gracefulShutdownSignals: [.sigterm], logger: logger)

    async let end: Void = app.end(group)
    try await group.run()
    try await end
    #expect(handler.entries.contains { $0.metadata["http.response.status_code"] == .stringConvertible(200) })
  }

  @Test func aLoggerOfARequest() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .text("ok") })
    var request = Martlet.HTTPRequest(.get, "http://a.example/")
    let requestLogger = logger

    request.options.listeners.append(LogListener(to: LoggerSink(requestLogger)))

    _ = try await session.data(for: request)
    #expect(handler.entries.count == 1)
  }

  @Test func listenersOfASession() async throws {
    var configuration = SessionConfiguration()

    configuration.listeners = [LogListener(to: LoggerSink(Logger(label: "com.example.http")))]
    // info: #1 GET https://example.com/a?token=*** → 200 OK, 1.2 kB received, 34 ms, HTTP/2
    //   http.request.method=GET url.full=… http.response.status_code=200 duration=0.034 …

    let metrics = MetricsListener()
    configuration.listeners.append(metrics)

    configuration.trace()  // with the tracer of InstrumentationSystem.bootstrap(_:)

    #expect(configuration.listeners.count == 3 && configuration.interceptors.count == 1)
  }

  @Test func thePoolsOfATransport() async throws {
    let (factory, clock, transport) = (TestMetrics(), ManualClock(), SocketTransport())
    let metrics = MetricsListener(factory: factory)
    let server = try LoopbackServer { _ in .text("ok") }
    let session = HTTPSession(transport: transport)

    let pools = Task {
      while !Task.isCancelled {
        metrics.recordPools(await transport.statistics())
        try await clock.sleep(for: .seconds(10))
      }
    }

    try await clock.sleepers(1)
    _ = try await session.data(for: Martlet.HTTPRequest(.get, server.url))
    clock.advance(by: .seconds(10))
    try await clock.sleepers(1)
    let opened = [("server.address", "127.0.0.1"), ("server.port", "\(server.url.port ?? 0)"), ("url.scheme", "http")]
    #expect(try factory.expectCounter("martlet.pool.connections.opened", opened).totalValue == 1)
    pools.cancel()
    await #expect(throws: CancellationError.self) { try await pools.value }
  }
}
