import CallDoubles
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Renewals that use their own session. The clock does not advance by itself.
@Suite("No call waits for itself: tokens and passwords", .timeLimit(.minutes(5)))
struct CircularTokenTests {
  private let clock = ManualClock()

  /// The way in which a renewal requests its token.
  enum Way: String, CaseIterable, Sendable { case inTask, withContext, asTokenRequest, asAuthorization }

  private static let login = url("http://a.example/login")
  private static let grant = RequestBody.form([("grant_type", "refresh_token"), ("refresh_token", "r")])

  /// Makes a session that requests its own tokens.
  private func session(
    respond: @escaping @Sendable (MockRequest) async throws -> MockResponse = Self.respond,
    _ refresh: @escaping @Sendable (HTTPSession) async throws -> AccessToken?
  ) -> HTTPSession {
    let found = Mutex<HTTPSession?>(nil)
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.credentials = [
      TokenSource(for: .origin(of: origin)) { _ in
        guard let session = found.withLock({ $0 }) else { return nil }
        return try await refresh(session)
      }
    ]
    let session = HTTPSession(transport: MockTransport(clock: ManualClock(), respond), configuration: configuration)
    found.withLock { $0 = session }
    return session
  }

  private static let respond: @Sendable (MockRequest) async throws -> MockResponse = { request in
    if request.url.path == "/login" { return .text("t") }
    return .status(request.fields[.authorization] == "Bearer t" ? .ok : .unauthorized)
  }

  private static func token(_ data: Data) -> AccessToken { AccessToken(String(decoding: data, as: UTF8.self)) }

  @Test(arguments: Way.allCases)
  func aRenewalUsesItsOwnSession(_ way: Way) async throws {
    let session = session { session in
      switch way {
      case .inTask: return try await Self.token(session.data(for: HTTPRequest(.get, Self.login)).0)
      case .withContext:
        let context = CallContext.current
        return try await Task.detached {
          try await context.perform { try await Self.token(session.data(for: HTTPRequest(.get, Self.login)).0) }
        }.value
      case .asTokenRequest:
        return try await Task.detached {
          try await Self.token(session.data(for: HTTPRequest(.post, Self.login, body: Self.grant)).0)
        }.value
      case .asAuthorization:
        let request = HTTPRequest(.get, Self.login, fields: [.authorization: "Basic YTpi"])
        return try await Task.detached { try await Self.token(session.data(for: request).0) }.value
      }
    }

    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
  }

  @Test func aRenewalWithoutContextWaitsAsLongAsTheResponseTimeout() async throws {
    let session = session { session in
      try await Task.detached { try await Self.token(session.data(for: HTTPRequest(.get, Self.login)).0) }.value
    }

    async let answer = session.data(for: HTTPRequest(.get, origin))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))

    #expect(try await answer.1.status == .ok)
  }

  @Test func aRefusedRenewalWaitsFiveTimesAsLong() async throws {
    let session = session(respond: { _ in .status(.unauthorized) }) { session in
      let status = try await Task.detached { try await session.data(for: HTTPRequest(.get, Self.login)).1.status }.value
      #expect(status == .unauthorized)
      return nil
    }

    async let answer = session.data(for: HTTPRequest(.get, origin))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(300))

    #expect(try await answer.1.status == .unauthorized)
  }

  @Test func aRequestThatBeganBeforeTheRenewalWaitsWithoutLimit() async throws {
    let (renewing, go, began) = (Gate(), Gate(), Gate())
    let session = session { _ in
      renewing.open()
      try await go.wait()
      return AccessToken("t")
    }
    var early = HTTPRequest(.get, origin)
    early.options.interceptors = [
      TestInterceptor(prepare: { request in
        began.open()
        try await renewing.wait()
        return request
      })
    ]

    let request = early
    let executor = WatchedExecutor()
    let first = Task(executorPreference: executor) { try await session.data(for: request).1.status }
    try await began.wait()
    async let second = session.data(for: HTTPRequest(.get, origin)).1.status
    try await renewing.wait()
    try await executor.idle()
    // Only the wait of a call that begins now is limited, before its request and after the refusal.
    async let late = session.data(for: HTTPRequest(.get, origin)).1.status
    for limit in [60, 300] {
      try await clock.sleepers(1)
      #expect(clock.pendingWakeUps == [.seconds(limit)])
      clock.advance(by: .seconds(limit))
    }

    #expect(try await late == .unauthorized)
    go.open()
    #expect(try await first.value == .ok)
    #expect(try await second == .ok)
  }

  @Test func twoSourcesThatNeedEachOtherBothEnd() async throws {
    let (first, second) = (url("http://a.example/"), url("http://b.example/"))
    let (one, two) = (Gate(), Gate())
    let found = Mutex<HTTPSession?>(nil)
    @Sendable func refresh(at other: URL, _ mine: Gate, _ others: Gate) -> TokenSource.Refresh {
      { _ in
        mine.open()
        try await others.wait()
        let session = try #require(found.withLock { $0 })
        _ = try await session.data(for: HTTPRequest(.get, other))
        return AccessToken("t")
      }
    }
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.credentials = [
      TokenSource(for: .origin(of: first), refresh: refresh(at: second, one, two)),
      TokenSource(for: .origin(of: second), refresh: refresh(at: first, two, one)),
    ]
    let session = HTTPSession(
      transport: MockTransport(clock: ManualClock(), Self.respond), configuration: configuration)
    found.withLock { $0 = session }

    async let a = session.data(for: HTTPRequest(.get, first)).1.status
    async let b = session.data(for: HTTPRequest(.get, second)).1.status

    let statuses = try await [a, b]
    #expect(statuses == [.ok, .ok])
  }

  /// The renewal needs a document whose request needs the renewal.
  @Test func aRenewalAndACachedResponseThatNeedEachOtherBothEnd() async throws {
    let renewing = Gate()
    let document = url("http://b.example/settings")
    let found = Mutex<HTTPSession?>(nil)
    let hasAsked = Once()
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.credentials = [
      TokenSource(for: .origin(of: origin)) { _ in
        renewing.open()
        try await clock.sleepers(1)  // the review's call, which waits for this renewal
        let session = try #require(found.withLock { $0 })
        #expect(try await session.data(for: HTTPRequest(.get, document)).0 == Data("s".utf8))
        return AccessToken("t")
      }
    ]
    configuration.interceptors = [
      ReviewInterceptor { call in
        guard call.askedURL == document, hasAsked.first(), let session = call.session else { return }
        let status = try await session.data(for: HTTPRequest(.get, origin)).1.status
        #expect(status == .ok)
      }
    ]
    let session = HTTPSession(
      transport: MockTransport(clock: ManualClock()) { request in
        request.url.path == "/settings" ? .cacheable("s", "max-age=60") : try await Self.respond(request)
      }, configuration: configuration)
    found.withLock { $0 = session }

    async let first = session.data(for: HTTPRequest(.get, origin)).1.status
    try await renewing.wait()
    async let second = session.data(for: HTTPRequest(.get, document)).1.status

    #expect(try await first == .ok)
    #expect(try await second == .ok)
  }

  @Test(arguments: [Way.inTask, .withContext])
  func aPasswordSourceUsesItsOwnSession(_ way: Way) async throws {
    let found = Mutex<HTTPSession?>(nil)
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.credentials = [
      PasswordSource(for: .origin(of: origin)) { _ in
        let session = try #require(found.withLock { $0 })
        let context = CallContext.current
        let question = HTTPRequest(.get, Self.login)
        let status =
          way == .inTask
          ? try await session.data(for: question).1.status
          : try await Task.detached { try await context.perform { try await session.data(for: question).1.status } }
            .value
        #expect(status == .unauthorized)
        return Credential(user: "a", password: "b")
      }
    ]
    let session = HTTPSession(
      transport: MockTransport(clock: ManualClock()) { request in
        .status(
          request.fields.contains(.authorization) ? .ok : .unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
      }, configuration: configuration)
    found.withLock { $0 = session }

    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
  }
}
