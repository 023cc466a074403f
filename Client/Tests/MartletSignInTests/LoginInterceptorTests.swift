import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Logins that a response requires", .timeLimit(.minutes(5)))
struct LoginInterceptorTests {
  /// A server that requires a login with a field, and recognizes a session by the field `X-Session`.
  private final class LoginServer: Sendable {
    private let validSession = Mutex<String?>(nil)
    private let seen = Mutex<[String]>([])
    private let challenged = Counter()
    /// The number of requests without a session that are held until all of them have arrived.
    private let holds: Int
    private let gate = Gate()

    init(holds: Int = 0) { self.holds = holds }

    /// The paths and sessions of all requests.
    var requests: [String] { seen.withLock { $0 } }

    func accept(_ session: String) { validSession.withLock { $0 = session } }

    func respond(to request: MockRequest) async throws -> MockResponse {
      let session = request.fields["X-Session"]
      seen.withLock { $0.append("\(request.url.path) \(session ?? "-")") }
      _ = try await request.readBody()
      guard request.url.path != "/login" else { return .text("one") }
      guard session == nil || session != validSession.withLock({ $0 }) else { return .text("welcome") }
      if holds > 0 {
        if challenged.next() == holds { gate.open() }
        try await gate.wait()
      }
      return .text("").with("X-Login", "required")
    }

    /// Returns a session whose requests have the field `X-Session` after a login.
    func session(login: @escaping @Sendable (HTTPSession) async throws -> String) -> HTTPSession {
      let current = Mutex<String?>(nil)
      var configuration = SessionConfiguration()
      configuration.cache = nil  // because it sends only one of several equal requests
      configuration.interceptors = [
        TestInterceptor { request in
          var request = request
          request.fields["X-Session"] = current.withLock { $0 }
          return request
        },
        LoginInterceptor(isChallenge: { response, _ in response.head.fields["X-Login"] == "required" }) { call in
          let session = try await login(#require(call.session))
          current.withLock { $0 = session }
        },
      ]
      return HTTPSession(transport: MockTransport { [self] in try await respond(to: $0) }, configuration: configuration)
    }
  }

  private func text(_ session: HTTPSession, _ request: HTTPRequest = HTTPRequest(.get, origin)) async throws -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  @Test func oneLoginServesAllChallengedRequests() async throws {
    let server = LoginServer(holds: 20), logins = Counter()
    let session = server.session { _ in
      logins.next()
      server.accept("one")
      return "one"
    }

    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await text(session) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(texts == Array(repeating: "welcome", count: 20))
    #expect(logins.value == 1)
    #expect(server.requests.count == 40)
  }

  @Test func theLoginMayUseTheSameSession() async throws {
    let server = LoginServer()
    let session = server.session { session in
      let (data, _) = try await session.data(for: HTTPRequest(.post, url("http://a.example/login")))
      server.accept("one")
      return String(decoding: data, as: UTF8.self)
    }

    #expect(try await text(session) == "welcome")
    #expect(server.requests == ["/ -", "/login -", "/ one"])
  }

  @Test func aChallengeAfterTheLoginIsAnError() async throws {
    let server = LoginServer()
    let session = server.session { _ in "one" }

    let error = await #expect(throws: HTTPError.self) { try await text(session) }

    #expect(error?.kind == .authenticationFailed)
    #expect(server.requests == ["/ -", "/ one"])
  }

  @Test func anErrorOfTheLoginFailsTheRequestAndTheNextTriesAgain() async throws {
    struct Offline: Error {}
    let server = LoginServer(), logins = Counter()
    let session = server.session { _ in
      guard logins.next() > 1 else { throw Offline() }
      server.accept("one")
      return "one"
    }

    let error = await #expect(throws: HTTPError.self) { try await text(session) }

    #expect(error?.underlying is Offline)
    #expect(try await text(session) == "welcome")
    #expect(logins.value == 2)
  }

  @Test func aSingleUseBodyIsNotSentAgainAfterTheLogin() async throws {
    let server = LoginServer()
    let session = server.session { _ in
      server.accept("one")
      return "one"
    }
    let chunks = AsyncStream<Data> { $0.finish() }

    let error = await #expect(throws: HTTPError.self) {
      try await text(session, HTTPRequest(.put, origin, body: .singleUse(chunks)))
    }

    #expect(error?.kind == .bodyNotReplayable)
    #expect(server.requests == ["/ -"])
    #expect(try await text(session) == "welcome")
  }
}
