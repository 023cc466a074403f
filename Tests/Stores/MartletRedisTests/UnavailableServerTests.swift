import MartletEngine
import MartletRedis
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

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
