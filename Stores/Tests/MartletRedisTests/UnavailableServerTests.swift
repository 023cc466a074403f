@_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletRedis

/// A server that does not exist: the only possible result is an error.
@Suite(.timeLimit(.minutes(5)))
struct UnavailableServerTests {
  private let folder: TemporaryFolder
  private let redis: RedisClient

  init() throws {
    folder = try TemporaryFolder()
    var configuration = try RedisConfiguration("unix://\(folder.file("nobody").path)")
    configuration.waitLimit = .seconds(60)
    configuration.rest = .seconds(3_600)
    configuration.restLimit = .seconds(3_600)
    redis = RedisClient(configuration)
  }

  @Test func aCallFailsAndTheServerIsLeftAlone() async throws {
    #expect(redis.isAvailable)
    let first = await #expect(throws: RedisError.self) { try await redis.ping() }
    #expect(first?.kind == .unavailable)
    #expect(!redis.isAvailable)
    let second = await #expect(throws: RedisError.self) { try await redis.ping() }
    #expect(second?.message.contains("left alone") == true)
  }

  @Test func noRequestFailsForIt() async throws {
    let transport = MockTransport { _ in
      MockResponse(fields: ["Cache-Control": "max-age=60"], content: Data("hello".utf8))
    }
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: RedisCacheStore(redis))
    configuration.cookies = CookieJar(store: RedisCookieStore(redis))
    var rate = RateLimit(1_000_000, per: .seconds(1))
    rate.store = RedisRateLimitStore(redis)
    configuration.limits.rate = rate
    let session = HTTPSession(transport: transport, configuration: configuration)
    for _ in 0..<3 {
      let (data, response) = try await session.data(
        for: HTTPRequest(.get, try #require(URL(string: "https://example.com/"))))
      #expect(data == Data("hello".utf8))
      #expect(response.source == .network)
    }
    #expect(configuration.cache?.statistics.storeFailures ?? 0 > 0)
  }

  /// It is a refusal, which the cache does not count as a failure of the store, and no command is sent for it.
  @Test func aBodyThatTurnsOutTooLargeIsRefusedByTheStore() async throws {
    var options = RedisCacheOptions()
    options.entryLimit = 10
    let response = StoredResponse(
      head: ResponseHead(status: 200, fields: [:]), requestTime: .distantPast, responseTime: .distantPast)
    let entry = CacheEntry(key: CacheKey(partition: "", normalizedURL: "https://example.com/"), response: response)
    let writer = try #require(try await RedisCacheStore(redis, options: options).begin(entry))

    await #expect(throws: CacheEntry.Refusal.self) { try await writer.append(Data(count: 11)) }
    await #expect(throws: CacheEntry.Refusal.self) { try await writer.commit() }
    #expect(redis.isAvailable)
  }

  @Test func aTokenIsRenewedAloneUnlessThatIsForbidden() async throws {
    var shared = RedisSharedToken(redis, name: "api")
    shared.waitLimit = .milliseconds(1)
    #expect(try await shared.refresh { _ in AccessToken("new") }(nil)?.value == "new")
    shared = RedisSharedToken(redis, name: "api")
    (shared.waitLimit, shared.whenUnavailable) = (.milliseconds(1), .fail)
    let refresh = shared.refresh { _ in AccessToken("new") }
    let error = await #expect(throws: RedisError.self) { try await refresh(nil) }
    #expect(error?.kind == .unavailable || error?.kind == .timeout)
  }

  @Test func aRefreshTokenIsNotUsedByAProcessAlone() async throws {
    var shared = RedisSharedToken(redis, name: "api")
    shared.waitLimit = .milliseconds(1)
    let old = AccessToken("old", refreshToken: "once")
    let refresh = shared.refresh { _ in
      Issue.record("another process may use it too")
      return nil
    }
    let error = await #expect(throws: RedisError.self) { try await refresh(old) }
    #expect(error?.kind == .unavailable || error?.kind == .timeout)
    shared.whenUnavailable = .renewAlone
    #expect(try await shared.refresh { _ in AccessToken("new") }(old)?.value == "new")
  }

  @Test func aProcessThatHasRenewedAloneGoesOnWithTheNewToken() async throws {
    var shared = RedisSharedToken(redis, name: "api")
    shared.waitLimit = .milliseconds(1)
    shared.whenUnavailable = .renewAlone
    let used = Mutex<[String?]>([])
    let refresh = shared.refresh { old in
      let count = used.withLock { used in
        used.append(old?.refreshToken)
        return used.count
      }
      return AccessToken("t\(count)", refreshToken: "r\(count)")
    }
    let old = AccessToken("t0", refreshToken: "r0")
    #expect(try await refresh(old)?.value == "t1")
    #expect(try await refresh(old)?.value == "t1", "whoever still has the old one gets the new one")
    #expect(try await refresh(AccessToken("t1", refreshToken: "r1"))?.value == "t2")
    #expect(used.withLock { $0 } == ["r0", "r1"])
  }

  @Test func aValueThatCouldNotBeReadAgainIsNotStored() async throws {
    let value = Data(count: 64 << 20)
    let error = await #expect(throws: RedisError.self) { try await RedisKeyValueStore(redis).set(value, for: "a") }
    #expect(error?.kind == .notStored)
    #expect(error?.message.contains("\(64 << 20)") == true)
  }

  @Test func aClosedClientFailsAtOnce() async throws {
    redis.close()
    #expect(!redis.isAvailable)
    let error = await #expect(throws: RedisError.self) { try await redis.ping() }
    #expect(error?.kind == .closed)
  }
}

/// A server that fails after it was used, and the state that a process keeps.
@Suite(.timeLimit(.minutes(5)))
struct FailingServerTests {
  /// A server whose shared token was removed. While it fails, it refuses all commands.
  private struct SignedOut {
    let server: FakeServer
    let shared: RedisSharedToken
    private let state: State

    private final class State: Sendable {
      let isFailing = Mutex(false)
      let stored = Mutex<[String]>([])
    }

    init() throws {
      let state = State()
      server = try FakeServer { words, _ in
        if state.isFailing.withLock({ $0 }) { return "-ERR out of order\r\n" }
        switch words.first {
        case "HMGET": return "*2\r\n$1\r\n4\r\n$-1\r\n"
        case "EVAL", "EVALSHA":
          if words.count == 6, words[3] == "martlet:t:{api}" { state.stored.withLock { $0.append(words[5]) } }
          return ":1\r\n"
        default: return FakeServer.usual(words)
        }
      }
      var shared = RedisSharedToken(try server.client(), name: "api")
      shared.waitLimit = .seconds(60)
      (self.shared, self.state) = (shared, state)
    }

    func fail(_ isFailing: Bool) { state.isFailing.withLock { $0 = isFailing } }

    /// The stored values; a removal is an empty one.
    var stored: [String] { state.stored.withLock { $0 } }

    /// The shared token with a short wait for the server.
    var alone: RedisSharedToken {
      var alone = shared
      (alone.waitLimit, alone.whenUnavailable) = (.milliseconds(1), .renewAlone)
      return alone
    }
  }

  @Test(arguments: ["this process", "another process"])
  func anOlderTokenIsNotRenewedAfterASignOut(by process: String) async throws {
    let fleet = try SignedOut()
    if process == "this process" {
      try await fleet.shared.use(nil)
    } else {
      #expect(try await fleet.shared.token() == nil)
    }
    let old = AccessToken("old", refreshToken: "older")
    let used = Mutex<[AccessToken?]>([])
    let refresh = fleet.alone.refresh { old in
      used.withLock { $0.append(old) }
      return AccessToken("new")
    }

    fleet.fail(true)
    #expect(try await refresh(old)?.value == "new")
    #expect(used.withLock { $0 } == [nil])

    fleet.fail(false)
    #expect(try await fleet.shared.refresh { _ in nil }(old) == nil)
    #expect(fleet.stored.allSatisfy { $0.isEmpty }, "the fleet stays signed out")
  }

  @Test func aSignOutDuringARenewalDiscardsItsResult() async throws {
    let fleet = try SignedOut()
    let shared = fleet.shared
    try await shared.use(AccessToken("old"))
    fleet.fail(true)
    let refresh = fleet.alone.refresh { _ in
      await #expect(throws: RedisError.self) { try await shared.use(nil) }
      return AccessToken("new")
    }
    #expect(try await refresh(AccessToken("old")) == nil)
  }

  @Test func anAnsweredRequestIsNotKept() async throws {
    let server = try FakeServer { words, _ in FakeServer.usual(words) }
    let redis = try server.client()
    weak var kept: RedisRequest?
    do {
      let request = RedisRequest([RedisCommand("GET", "a")], within: .seconds(Int64.max))
      kept = request
      redis.submit(request)
      #expect(try await request.answers.wait().count == 1)
      #expect(request.takeBytes().isEmpty, "they were written")
    }
    try await until { kept == nil }
    withExtendedLifetime((server, redis)) {}
  }

  /// The client tests an unused connection at once, and once only. The first connection does not answer the test, the
  /// second one breaks: a third failure would make the client avoid the server.
  @Test func anUnansweredTestOfAConnectionIsOneFailure() async throws {
    let pings = Mutex(0)
    let server = try FakeServer { words, connection in
      switch (words.first, connection) {
      case ("PING", 0):
        let count = pings.withLock { pings in
          pings += 1
          return pings
        }
        return count == 1 ? "+PONG\r\n" : ""  // The first one belongs to the sign-in.
      case ("GET", 1): return "%1\r\n"
      default: return FakeServer.usual(words)
      }
    }
    // The time of the test that is not answered; others are answered within it, even by a busy machine.
    var configuration = try RedisConfiguration("redis://127.0.0.1:\(server.port)")
    (configuration.waitLimit, configuration.connectTimeout) = (.seconds(60), .seconds(8))
    configuration.pingInterval = .zero
    let redis = RedisClient(configuration)

    #expect(try await redis.send(RedisCommand("GET", "a")).bytes != nil)
    try await server.end(of: 0)
    #expect(pings.withLock { $0 } == 2)

    let error = await #expect(throws: RedisError.self) { try await redis.send(RedisCommand("GET", "b")) }
    #expect(error?.kind == .unexpectedForm)
    #expect(try await redis.send(RedisCommand("GET", "c")).bytes != nil)
  }
}
