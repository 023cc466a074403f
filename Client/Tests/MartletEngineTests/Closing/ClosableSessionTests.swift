import CallDoubles
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

@testable import MartletEngine

/// A closed session lets calls in progress end, and starts no other.
@Suite(.timeLimit(.minutes(5))) struct ClosableSessionTests {
  private let clock = ManualClock()

  private func session(interceptors: [any Interceptor] = []) -> ClosableSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.interceptors = interceptors
    configuration.cache = nil
    return ClosableSession(transport: SocketTransport(), configuration: configuration)
  }

  @Test func callsInProgressEndAndNoOtherBegins() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      request.path == "/slow" ? .redirect(to: "/end").held(by: gate) : .text("done")
    }
    let http = session()
    async let slow = http.session.data(for: HTTPRequest(.get, server.url("/slow")))
    _ = try await server.request(1)

    async let closed: Void = http.close()
    try await clock.sleepers(1)
    let refused = await #expect(throws: HTTPError.self) {
      _ = try await http.session.data(for: HTTPRequest(.get, server.url("/new")))
    }
    #expect(refused?.kind == .shutDown)
    gate.open()

    #expect(try await slow.0 == Data("done".utf8))  // its redirect is still followed
    await closed
    #expect(server.requests.map(\.path) == ["/slow", "/end"])
    _ = try await server.end(ofConnection: 1)
  }

  @Test func aCallInProgressMayStillNeedAnother() async throws {
    /// Requests a token over the session of the call, when a server requires one.
    struct Login: Interceptor {
      let url: URL
      let hasAsked = CallLocal(false)

      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        guard case .success(let response) = outcome, response.status == .unauthorized, !call[hasAsked],
          let session = call.session
        else { return .accept }
        call[hasAsked] = true
        let (token, _) = try await session.data(for: HTTPRequest(.get, url))
        var request = attempt.request
        request.fields["X-Token"] = String(decoding: token, as: UTF8.self)
        return .resend(request, reason: "a token")
      }
    }
    let gate = Gate()
    let server = try LoopbackServer { request in
      if request.path == "/token" { return .text("secret") }
      return request.fields.contains("X-Token") ? .text("done") : .status(.unauthorized).held(by: gate)
    }
    let http = session(interceptors: [Login(url: server.url("/token"))])
    async let slow = http.session.data(for: HTTPRequest(.get, server.url("/slow")))
    _ = try await server.request(1)
    async let closed: Void = http.close()
    try await clock.sleepers(1)
    gate.open()

    #expect(try await slow.0 == Data("done".utf8))
    await closed
    #expect(server.requests.map(\.path) == ["/slow", "/token", "/slow"])
  }

  /// A deadline abandons it, so it may begin after the end of its call.
  @Test func aPreparationAfterTheEndOfItsCallIsRefusedAndNotWaitedFor() async throws {
    let gate = CallGate()
    let (call, request) = (Call(), HTTPRequest(.get, "http://a.example/"))
    gate.receive(.started(request), in: call)
    gate.receive(.finished(nil), in: call)
    let error = await #expect(throws: HTTPError.self) { _ = try await gate.prepare(request, in: call) }
    #expect(error?.kind == .shutDown)

    gate.drain()
    await gate.waitUntilEmpty()
  }

  @Test func whatHasNotEndedInTimeFailsAndItsConnectionIsClosed() async throws {
    let server = try LoopbackServer { request in
      request.path == "/never" ? .never : .data(Data(repeating: 1, count: 1000)).stalled(after: 500)
    }
    let http = session()
    let (body, _) = try await http.session.bytes(for: HTTPRequest(.get, server.url("/body")))
    let never = Task { try await http.session.data(for: HTTPRequest(.get, server.url("/never"))) }
    _ = try await server.request(2)

    async let closed: Void = http.close(within: .seconds(5))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))

    let error = await #expect(throws: HTTPError.self) { _ = try await never.value }
    #expect(error?.kind == .shutDown)
    let bodyError = await #expect(throws: HTTPError.self) { _ = try await body.collect(upTo: 1000) }
    #expect(bodyError?.kind == .shutDown)
    await closed
    #expect(try await server.end(ofConnection: 1) == .client)
    #expect(try await server.end(ofConnection: 2) == .client)
  }

  @Test func withoutTimeNothingIsWaitedFor() async throws {
    let server = try LoopbackServer { _ in .never }
    let http = session()
    let call = Task { try await http.session.data(for: HTTPRequest(.get, server.url("/"))) }
    _ = try await server.request(1)

    await http.close(within: .zero)
    let error = await #expect(throws: HTTPError.self) { _ = try await call.value }
    #expect(error?.kind == .shutDown)
    _ = try await server.end(ofConnection: 1)
  }

  @Test func aCancelledCloseWaitsForNothing() async throws {
    let server = try LoopbackServer { _ in .never }
    let http = session()
    let call = Task { try await http.session.data(for: HTTPRequest(.get, server.url("/"))) }
    _ = try await server.request(1)
    let close = Task { await http.close() }
    try await clock.sleepers(1)
    close.cancel()

    await close.value
    let error = await #expect(throws: HTTPError.self) { _ = try await call.value }
    #expect(error?.kind == .shutDown)
  }

  @Test func aClosedSessionCanBeClosedAgain() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let http = session()
    _ = try await http.session.data(for: HTTPRequest(.get, server.url("/")))
    async let first: Void = http.close()
    async let second: Void = http.close()
    _ = await (first, second)
    await http.close()
    let error = await #expect(throws: HTTPError.self) {
      _ = try await http.session.data(for: HTTPRequest(.get, server.url("/")))
    }
    #expect(error?.kind == .shutDown)
  }
}
