#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// Proxies that require a token with each request, or close the connection after their challenge.
@Suite(.timeLimit(.minutes(5)))
struct TokenProxyTests {
  private struct NoTicket: Error {}

  /// Never has a token.
  private final class SilentTokens: ProxyTokens {
    let scheme = "Negotiate"
    let cancelled = Gate()

    func token(for host: String) async throws -> String {
      let never = AsyncStream<Void>.makeStream()
      await withTaskCancellationHandler {
        for await _ in never.stream {}
      } onCancel: {
        cancelled.open()
      }
      throw CancellationError()
    }
  }

  /// Has tokens once its gate is open.
  private final class LateTokens: ProxyTokens {
    let scheme = "Negotiate"
    let gate = Gate()

    func token(for host: String) async throws -> String {
      try await gate.wait()
      return "late"
    }
  }

  /// Requires a token, and answers requests that have one.
  private func proxy(_ answer: HTTPStatus = .ok) throws -> LoopbackServer {
    try LoopbackServer { request in
      request.fields[.proxyAuthorization]?.hasPrefix("Negotiate ") == true
        ? .text("through \(request.target)", status: answer)
        : .text("who?", status: .proxyAuthenticationRequired).with(.proxyAuthenticate, "Negotiate")
    }
  }

  private func session(_ server: LoopbackServer, _ tokens: any ProxyTokens, within limit: Duration? = nil)
    -> HTTPSession
  {
    var connection = ConnectionConfiguration(), configuration = SessionConfiguration()
    connection.proxy = .http("127.0.0.1", port: server.port).authenticated(by: tokens)
    connection.connectTimeout = limit
    configuration.cache = nil
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func failure(of session: HTTPSession, _ text: String, within limit: Duration? = nil) async throws -> HTTPError
  {
    var request = HTTPRequest(.get, url(text))
    request.options.deadline = limit
    return try #require(await #expect(throws: HTTPError.self) { try await session.data(for: request) })
  }

  @Test func eachForwardedRequestHasItsOwnTokenAfterTheFirstChallenge() async throws {
    let server = try proxy(), tokens = TestTokens()
    let session = session(server, tokens)

    for _ in 0..<3 {
      let data = try await session.data(for: HTTPRequest(.post, url("http://a.example/x"), body: .text("hello"))).0
      #expect(String(decoding: data, as: UTF8.self) == "through http://a.example/x")
    }

    #expect(
      server.requests.map { $0.fields[.proxyAuthorization] } == [nil, "Negotiate t1", "Negotiate t2", "Negotiate t3"])
    #expect(tokens.hosts == ["127.0.0.1", "127.0.0.1", "127.0.0.1"])
  }

  @Test func theAnswerToAChallengeIsNotedAndTheAttemptIsMeasuredOnce() async throws {
    let server = try proxy(), notes = Log<String>(), measured = Counter()
    var request = HTTPRequest(.post, url("http://a.example/x"), body: .text("hello"))
    request.options.listeners = [
      EventHandler([.note, .metrics]) { event, _ in
        if case .note(let note) = event { notes.append(note) } else { _ = measured.next() }
      }
    ]

    _ = try await session(server, TestTokens()).data(for: request)

    #expect(notes.entries == ["sent again: the proxy requires authentication (407)"])
    #expect(measured.value == 1 && server.requests.count == 2)
  }

  @Test func theTokenFollowsTheChallengeOnTheSameConnection() async throws {
    let server = try proxy(.forbidden), tokens = TestTokens()
    let session = session(server, tokens)

    for _ in 0..<2 {
      let error = try await failure(of: session, "https://a.example/")
      #expect(error.kind == .proxyFailed)
      #expect(error.message.contains("it refused the tunnel with status 403"))
    }

    #expect(server.requests.map(\.target) == Array(repeating: "a.example:443", count: 3))
    #expect(server.requests.map { $0.fields[.proxyAuthorization] } == [nil, "Negotiate t1", "Negotiate t2"])
    #expect(server.requests[0].connection == server.requests[1].connection)
    #expect(server.requests.map { $0.fields[.userAgent] } == Array(repeating: "Martlet", count: 3))
  }

  /// Challenges, closes the connection without having announced that, and refuses the tunnel over the next one.
  private func closingProxy(_ challenge: String) throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.fields[.proxyAuthorization] == nil else { return .text("no", status: .forbidden) }
      return .raw("HTTP/1.1 407 Who?\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n")
    }
  }

  /// Waits for the refusal of a closing proxy, over its second connection.
  private func expectRefusal(_ call: Task<HTTPStatus, any Error>, by server: LoopbackServer, of authorization: String)
    async throws
  {
    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.message.contains("it refused the tunnel with status 403") == true, "\(error?.message ?? "")")
    #expect(server.requests.map(\.connection) == [1, 2])
    #expect(server.requests.last?.fields[.proxyAuthorization] == authorization)
  }

  @Test func theTokenIsSentOverAnotherConnectionIfTheProxyClosesTheFirst() async throws {
    let server = try closingProxy("Negotiate"), tokens = LateTokens()
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: server.port).authenticated(by: tokens)
    let transport = SocketTransport(connection)
    let call = Task { try await transport.send(HTTPRequest(.get, url("https://a.example/")), in: Call()).status }
    try await server.end(ofConnection: 1)
    for _ in 0..<2 { _ = await transport.statistics() }  // The loop receives the end in these turns.
    tokens.gate.open()

    try await expectRefusal(call, by: server, of: "Negotiate late")
  }

  @Test func thePasswordIsSentOverAnotherConnectionIfTheProxyClosesTheFirst() async throws {
    let server = try closingProxy("Basic realm=\"x\"")
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: server.port).authenticated(user: "anna", password: "secret")
    let transport = SocketTransport(connection)
    let call = Task { try await transport.send(HTTPRequest(.get, url("https://a.example/")), in: Call()).status }

    try await expectRefusal(call, by: server, of: "Basic YW5uYTpzZWNyZXQ=")
  }

  @Test func aRefusedTokenIsFinal() async throws {
    let server = try LoopbackServer { _ in
      .text("who?", status: .proxyAuthenticationRequired).with(.proxyAuthenticate, "Negotiate")
    }
    let session = session(server, TestTokens())

    let status = try await session.data(for: HTTPRequest(.get, url("http://a.example/"))).1.status
    let error = try await failure(of: session, "https://a.example/")

    #expect(status == .proxyAuthenticationRequired)
    #expect(error.message.hasSuffix("status 407: it does not accept the token"))
    #expect(server.requests.map { $0.fields[.proxyAuthorization] != nil } == [false, true, false, true])
  }

  @Test(arguments: ["http://a.example/", "https://a.example/"])
  func withoutATokenTheErrorNamesTheProxy(url: String) async throws {
    let cause = HTTPError(.authenticationFailed, "run kinit", phase: .preparing)
    for (failure, words) in [(cause, "run kinit"), (NoTicket(), "there is no token for it")] as [(any Error, String)] {
      let server = try proxy()
      let error = try await self.failure(of: session(server, TestTokens(failingWith: failure)), url)

      #expect(error.kind == .authenticationFailed)
      #expect(
        error.message.hasSuffix(
          "the proxy 127.0.0.1 port \(server.port) (named by the connection's settings): \(words)"))
      #expect(server.requests.count == 1)
    }
  }

  @Test(arguments: ["http://a.example/", "https://a.example/"])
  func aTokenAddsNoField(url: String) async throws {
    final class Injecting: ProxyTokens {
      let scheme = "Negotiate"
      func token(for host: String) async throws -> String { "abc\r\nX-Other: 1" }
    }
    let server = try proxy()

    let error = try await failure(of: session(server, Injecting()), url)

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.hasSuffix("its token contains a control character"))
    #expect(server.requests.count == 1)
  }

  @Test func aTunnelWaitsForItsTokenUntilTheConnectTimeout() async throws {
    let server = try proxy(), tokens = SilentTokens()

    let error = try await failure(of: session(server, tokens, within: .seconds(3)), "https://a.example/")

    #expect(error.kind == .connectTimeout)
    #expect(error.message.hasSuffix("because there was no token for its proxy"))
    try await tokens.cancelled.wait()
  }

  @Test func aForwardedRequestWaitsForItsTokenUntilItsDeadline() async throws {
    let server = try proxy(), tokens = SilentTokens()

    let error = try await failure(of: session(server, tokens), "http://a.example/", within: .milliseconds(500))

    #expect(error.kind == .deadlineExceeded)
    try await tokens.cancelled.wait()
  }
}
#endif
