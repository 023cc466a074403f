@_spi(Credentials) @_spi(Toolkit) @testable import MartletEngine
import CallDoubles
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TokenSourceTests {
  private static let scope = CredentialScope.origin(of: origin)

  /// A server that accepts one token, and records the tokens of all requests.
  private final class TokenServer: Sendable {
    private let accepted = Mutex("new")
    private let seen = Mutex<[String]>([])
    private let renewed = Mutex(0)
    /// The number of requests with the old token that are held until all of them have arrived.
    let holds: Int
    private let gate = Gate()

    init(holds: Int = 0) { self.holds = holds }

    var tokens: [String] { seen.withLock { $0 } }

    /// The number of renewals.
    var renewals: Int { renewed.withLock { $0 } }

    /// Returns a source with an old token. Its renewals are counted.
    func source(
      _ token: AccessToken? = AccessToken("old"),
      renew: @escaping @Sendable () async throws -> AccessToken? = { AccessToken("new") }
    ) -> TokenSource {
      TokenSource(token, for: TokenSourceTests.scope) { [self] _ in
        renewed.withLock { $0 += 1 }
        return try await renew()
      }
    }

    func accept(_ token: String) { accepted.withLock { $0 = token } }

    func session(_ source: TokenSource) -> HTTPSession {
      var configuration = SessionConfiguration()
      configuration.cache = nil  // because it sends only one of several equal requests
      configuration.credentials = [source]
      return HTTPSession(transport: MockTransport { [self] in try await respond(to: $0) }, configuration: configuration)
    }

    private func respond(to request: MockRequest) async throws -> MockResponse {
      let token = request.fields[.authorization]?.split(separator: " ").last.map(String.init) ?? "-"
      let old = seen.withLock { seen in
        seen.append(token)
        return seen.count { $0 == "old" }
      }
      if request.url.path == "/token" { return .text("new") }
      guard token != accepted.withLock({ $0 }) else { return .text("welcome") }
      if token == "old", holds > 0 {
        if old == holds { gate.open() }
        try await gate.wait()
      }
      return .status(.unauthorized, fields: [.wwwAuthenticate: #"Bearer realm="r", error="invalid_token""#])
    }
  }

  private func status(_ session: HTTPSession, _ text: String = "http://a.example/x") async throws -> HTTPStatus {
    try await session.data(for: HTTPRequest(.get, url(text))).1.status
  }

  /// A source of another kind.
  private struct OtherSource: CredentialSource {
    var scope: CredentialScope { .any }

    func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest { request }
  }

  /// A token is renewed some time before it expires.
  @Test func renewalThatFailsTooEarlyFailsNoRequest() async throws {
    let server = TokenServer()
    let start = Date(timeIntervalSince1970: 1_000_000_000)
    let time = Awaitable(start)
    let old = AccessToken("old", expires: start.addingTimeInterval(100))
    let session = server.session(
      TokenSource(old, for: Self.scope, now: { time.value }) { _ in throw HTTPError(.connectionLost, "lost") })
    server.accept("old")

    time.update { $0 += 80 }
    #expect(try await status(session) == .ok)

    server.accept("new")
    #expect(await #expect(throws: HTTPError.self) { try await status(session) }?.kind == .connectionLost)
    server.accept("old")
    time.update { $0 += 20 }
    #expect(await #expect(throws: HTTPError.self) { try await status(session) }?.kind == .connectionLost)
    #expect(server.tokens == ["old", "old"])
  }

  @Test func aTokenThatIsThereIsAddedWithoutAnAwait() async throws {
    let token = TokenSource(AccessToken("abc"), for: .origin(of: origin))
    let interceptor = AuthenticationInterceptor([token])
    let call = Call()
    var request = HTTPRequest(.get, origin)

    #expect(interceptor.prepareImmediately(&request, in: call) == nil)

    #expect(request.fields[.authorization] == "Bearer abc")
    let attempt = Attempt(number: 1, request: HTTPRequest(.get, origin), sent: request, history: [])
    #expect(
      interceptor.reviewImmediately(.success(HTTPResponse(status: .ok, url: origin)), of: attempt, in: call) == nil)
    let refused = HTTPResponse(status: .unauthorized, url: origin)
    #expect(interceptor.reviewImmediately(.success(refused), of: attempt, in: call) != nil)
    var foreign = HTTPRequest(.get, url("http://b.example/"))
    #expect(interceptor.prepareImmediately(&foreign, in: call) == nil)
    #expect(!foreign.fields.contains(.authorization))
  }

  @Test func aTokenThatIsNotThereIsAwaited() async throws {
    let present = TokenSource(AccessToken("abc"), for: .any)
    let cases: [(sources: [any CredentialSource], sent: String)] = [
      ([TokenSource(for: .any) { _ in AccessToken("new") }], "Bearer new"),
      ([OtherSource(), present], "Bearer abc"),
      ([TokenSource(for: .any) { _ in AccessToken("new") }, present], "Bearer new"),
      ([TokenSource(for: .any) { _ in nil }, present], "Bearer abc"),
    ]
    for (sources, sent) in cases {
      var request = HTTPRequest(.get, origin)
      let work = try #require(AuthenticationInterceptor(sources).prepareImmediately(&request, in: Call()))
      guard case .send(let prepared) = try await work() else {
        Issue.record("a source responds")
        continue
      }
      #expect(prepared.fields[values: .authorization] == [sent])
    }
  }

  @Test func theTokenIsSentToItsOriginsOnly() async throws {
    let server = TokenServer()
    let session = server.session(TokenSource(AccessToken("new"), for: Self.scope))

    #expect(try await status(session) == .ok)
    #expect(try await status(session, "http://b.example/") == .unauthorized)
    #expect(server.tokens == ["new", "-"])
  }

  @Test func withoutRefreshA401IsTheCallers() async throws {
    let server = TokenServer()
    #expect(try await status(server.session(TokenSource(AccessToken("old"), for: Self.scope))) == .unauthorized)
    #expect(server.tokens == ["old"])
  }

  @Test func aThousandRequestsWithAnExpiredTokenCauseOneRefresh() async throws {
    let server = TokenServer(holds: 1000)
    let refreshes = Mutex<[String?]>([])
    let source = TokenSource(AccessToken("old", refreshToken: "r1"), for: Self.scope) { old in
      refreshes.withLock { $0.append(old?.refreshToken) }
      return AccessToken("new", refreshToken: "r2")
    }
    let session = server.session(source)

    let accepted = try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<1000 { group.addTask { try await status(session) } }
      return try await group.reduce(into: 0) { $0 += $1 == .ok ? 1 : 0 }
    }

    #expect(accepted == 1000)
    #expect(refreshes.withLock { $0 } == ["r1"])
    #expect(server.tokens.count { $0 == "old" } == 1000)
    #expect(server.tokens.count { $0 == "new" } == 1000)
  }

  @Test func aThousandRequestsWithoutATokenWaitForTheFirst() async throws {
    let server = TokenServer()
    let session = server.session(server.source(nil))

    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<1000 { group.addTask { try await status(session) } }
      for try await status in group { #expect(status == .ok) }
    }
    #expect(server.renewals == 1)
    #expect(server.tokens == Array(repeating: "new", count: 1000))
  }

  @Test func aTokenIsRenewedBeforeItExpires() async throws {
    let server = TokenServer()
    let now = Mutex(Date(timeIntervalSince1970: 1000))
    let issued = Mutex(0)
    let source = TokenSource(for: Self.scope, now: { now.withLock { $0 } }) { _ in
      issued.withLock { $0 += 1 }
      return AccessToken("new", expires: now.withLock { $0 }.addingTimeInterval(3600))
    }
    let session = server.session(source)

    for (seconds, count) in [(0.0, 1), (3500, 1), (3569, 1), (3570, 2), (3571, 2)] {
      now.withLock { $0 = Date(timeIntervalSince1970: 1000 + seconds) }
      #expect(try await status(session) == .ok)
      #expect(issued.withLock { $0 } == count, "after \(seconds) s")
    }
  }

  // RFC 6749 §5.1: expires_in may be short.
  @Test(
    arguments: [
      (3600.0, 3569.0, true), (3600, 3571, false), (40, 29, true), (40, 31, false), (nil, 1e9, true), (0, 0, false),
      (-10, 0, false),
    ] as [(Double?, Double, Bool)])
  func freshnessHasAMargin(_ life: Double?, _ age: Double, expected: Bool) {
    let received = Date(timeIntervalSince1970: 1000)
    let token = AccessToken("x", expires: life.map { received.addingTimeInterval($0) })
    #expect(token.isFresh(at: received.addingTimeInterval(age), received: received) == expected)
  }

  @Test func theRefreshMayUseTheSameSession() async throws {
    let server = TokenServer()
    let found = Mutex<HTTPSession?>(nil)
    let source = TokenSource(AccessToken("old"), for: Self.scope) { _ in
      let session = try #require(found.withLock { $0 })
      let (data, _) = try await session.data(for: HTTPRequest(.post, url("http://a.example/token")))
      return AccessToken(String(decoding: data, as: UTF8.self))
    }
    let session = server.session(source)
    found.withLock { $0 = session }

    #expect(try await status(session) == .ok)
    #expect(server.tokens == ["old", "-", "new"])
    found.withLock { $0 = nil }
  }

  @Test func aLateRefusalOfTheOldTokenUsesTheNewOne() async throws {
    let server = TokenServer()
    let late = Gate(), arrived = Gate()
    var configuration = SessionConfiguration()
    configuration.credentials = [server.source()]
    configuration.cache = nil  // because it sends only one of several equal requests
    let session = HTTPSession(
      transport: MockTransport { request in
        guard request.fields[.authorization] == "Bearer old" else { return .text("welcome") }
        if request.url.path == "/late" {
          arrived.open()
          try await late.wait()
        }
        return .status(.unauthorized)
      }, configuration: configuration)

    async let slow = status(session, "http://a.example/late")
    try await arrived.wait()
    #expect(try await status(session) == .ok)
    late.open()
    #expect(try await slow == .ok)
    #expect(server.renewals == 1)
  }

  @Test func aRefusedNewTokenIsNotRenewedAgainForTheSameRequest() async throws {
    let server = TokenServer(holds: 20)
    let session = server.session(server.source { AccessToken("refused as well") })

    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<20 { group.addTask { try await status(session) } }
      for try await status in group { #expect(status == .unauthorized) }
    }
    #expect(server.renewals == 1)
    #expect(server.tokens.count == 40)
  }

  @Test func aFailedRefreshFailsAllWaitersAndTheNextRequestTriesAgain() async throws {
    struct Down: Error, CustomStringConvertible { let description = "token r1 was not accepted" }
    let server = TokenServer(holds: 20)
    let refreshes = Mutex(0)
    let source = TokenSource(AccessToken("old", refreshToken: "r1"), for: Self.scope) { old in
      let count = refreshes.withLock { count in
        count += 1
        return count
      }
      if count == 1 { throw Down() }
      #expect(old?.refreshToken == "r1")
      return AccessToken("new")
    }
    let session = server.session(source)

    let errors = await withTaskGroup(of: HTTPError?.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do {
            _ = try await status(session)
            return nil
          } catch { return error as? HTTPError }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    // One refresh for all twenty requests, or only for requests that were refused before it failed.
    #expect(errors.count { $0?.kind == .authenticationFailed && $0?.underlying is Down } >= 1)
    #expect(errors.allSatisfy { $0.map { !"\($0)".contains("r1") } ?? true })
    #expect(try await status(session) == .ok)
    #expect(server.tokens.last == "new")
    #expect(refreshes.withLock { $0 } == 2)
  }

  @Test func cancellingTheFirstWaiterDoesNotCancelTheRefresh() async throws {
    let server = TokenServer()
    let started = Gate(), go = Gate()
    let source = server.source {
      started.open()
      try await go.wait()
      try Task.checkCancellation()
      return AccessToken("new")
    }
    let session = server.session(source)

    let first = Task { try await status(session) }
    try await started.wait()
    let second = Task { try await status(session) }
    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    #expect(error?.kind == .cancelled)
    go.open()
    #expect(try await second.value == .ok)
    #expect(server.renewals == 1)
  }

  @Test func theResultOfARefreshWithoutWaitersIsKept() async throws {
    let server = TokenServer()
    let started = Gate(), go = Gate()
    let source = server.source {
      started.open()
      try await go.wait()
      return AccessToken("new")
    }
    let session = server.session(source)
    let only = Task { try await status(session) }
    try await started.wait()
    only.cancel()
    await #expect(throws: HTTPError.self) { try await only.value }

    go.open()
    #expect(try await status(session) == .ok)
    #expect(server.renewals == 1)
  }

  @Test func withoutATokenRequestsHaveNoAuthorization() async throws {
    let server = TokenServer()
    #expect(try await status(server.session(TokenSource(for: Self.scope) { _ in nil })) == .unauthorized)
    #expect(server.tokens == ["-"])
  }

  @Test func aReplacedTokenIsUsedAtOnce() async throws {
    let server = TokenServer()
    let source = TokenSource(AccessToken("old"), for: Self.scope)
    let session = server.session(source)

    source.use(AccessToken("new", type: "bearer"))
    #expect(try await status(session) == .ok)
    source.use(nil)
    #expect(try await status(session) == .unauthorized)
    #expect(server.tokens == ["new", "-"])
  }

  @Test(arguments: ["insufficient_scope", "invalid_request"])
  func errorsThatANewTokenCannotSolveCauseNoRefresh(_ code: String) async throws {
    let server = TokenServer()
    var configuration = SessionConfiguration()
    configuration.credentials = [server.source()]
    let session = HTTPSession(
      transport: MockTransport { _ in
        .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer error=\"\(code)\""])
      }, configuration: configuration)

    #expect(try await status(session) == .unauthorized)
    #expect(server.renewals == 0)
  }

  @Test func descriptionsOfTokensContainNoSecrets() {
    let token = AccessToken("hidden", refreshToken: "hidden")
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!"\(token) \(dumped) \(String(reflecting: token))".contains("hidden"))
  }

  @Test func aTokenRenewedForTheRequestIsNotRenewedAgainWhenItIsRefused() async throws {
    let server = TokenServer()
    let expired = AccessToken("old", expires: Date(timeIntervalSince1970: 1000))
    let session = server.session(server.source(expired) { AccessToken("refused") })

    #expect(try await status(session) == .unauthorized)
    #expect(server.renewals == 1)
  }
}
