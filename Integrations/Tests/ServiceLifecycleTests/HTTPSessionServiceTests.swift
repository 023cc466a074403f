import Logging
import Martlet
import MartletServiceLifecycle
import MartletTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

/// A session ends with the services that use it.
@Suite(.timeLimit(.minutes(5))) struct HTTPSessionServiceTests {
  private let clock = ManualClock()

  private func service(
    _ transport: any Transport, drainTime: Duration = .seconds(30)
  ) -> HTTPSessionService {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.cache = nil
    return HTTPSessionService(transport: transport, configuration: configuration, drainTime: drainTime)
  }

  /// Waits until a new call is refused.
  private func refusal(_ session: HTTPSession, _ url: URL) async throws -> HTTPError {
    while true {
      do { _ = try await session.data(for: HTTPRequest(.get, url)) } catch { return error }
      await Task.yield()
    }
  }

  @Test func callsInProgressEndAndNoOtherBegins() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      request.path == "/slow" ? .redirect(to: "/end").held(by: gate) : .text("done")
    }
    let service = service(SocketTransport())
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      async let slow = service.session.data(for: HTTPRequest(.get, server.url("/slow")))
      _ = try await server.request(1)

      trigger.triggerGracefulShutdown()
      let refused = try await refusal(service.session, server.url("/new"))
      gate.open()

      // its redirect is still followed
      #expect(try await slow.0 == Data("done".utf8))
      try await run
      #expect(refused.kind == .shutDown)
    }
    #expect(server.requests.last?.path == "/end")
  }

  @Test func whatHasNotEndedInTimeFailsAndItsConnectionIsClosed() async throws {
    let server = try LoopbackServer { request in
      request.path == "/never" ? .never : .data(Data(repeating: 1, count: 1000)).stalled(after: 500)
    }
    let service = service(SocketTransport(), drainTime: .seconds(5))
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      let (body, _) = try await service.session.bytes(for: HTTPRequest(.get, server.url("/body")))
      let never = Task { try await service.session.data(for: HTTPRequest(.get, server.url("/never"))) }
      _ = try await server.request(2)

      trigger.triggerGracefulShutdown()
      try await clock.sleepers(1)
      clock.advance(by: .seconds(5))

      let error = await #expect(throws: HTTPError.self) { _ = try await never.value }
      #expect(error?.kind == .shutDown)
      let bodyError = await #expect(throws: HTTPError.self) { _ = try await body.collect(upTo: 1000) }
      #expect(bodyError?.kind == .shutDown)
      try await run
    }
    #expect(try await server.end(ofConnection: 1) == .client)
    #expect(try await server.end(ofConnection: 2) == .client)
  }

  @Test func aCancelledServiceWaitsForNothing() async throws {
    let server = try LoopbackServer { _ in .never }
    let service = service(SocketTransport())
    let run = Task { try await service.run() }
    let call = Task { try await service.session.data(for: HTTPRequest(.get, server.url("/"))) }
    _ = try await server.request(1)
    run.cancel()

    await #expect(throws: CancellationError.self) { try await run.value }
    let error = await #expect(throws: HTTPError.self) { _ = try await call.value }
    #expect(error?.kind == .shutDown)
    _ = try await server.end(ofConnection: 1)
  }

  @Test func aGroupEndsItAfterTheServicesThatUseIt() async throws {
    /// Sends a request when the group shuts down.
    struct LastWord: Service {
      let session: HTTPSession
      let url: URL
      let isRunning: Gate

      func run() async throws {
        isRunning.open()
        try? await gracefulShutdown()
        _ = try await session.data(for: HTTPRequest(.get, url))
      }
    }
    let server = try LoopbackServer { _ in .text("ok") }
    let service = service(SocketTransport())
    let isRunning = Gate()
    let app = LastWord(session: service.session, url: server.url("/bye"), isRunning: isRunning)
    let group = ServiceGroup(services: [service, app], logger: Logger(label: "test"))
    let run = Task { try await group.run() }
    try await isRunning.wait()
    await group.triggerGracefulShutdown()
    try await run.value
    #expect(server.requests.map(\.path) == ["/bye"])
    _ = try await server.end(ofConnection: 1)
  }
}
