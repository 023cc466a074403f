import MartletEngine
import MartletRedis
import MartletSemantics
import MartletTesting
import Testing

/// The code of the article about fleets, with a server that does not exist: no request fails because of that.
@Suite(.timeLimit(.minutes(5)))
struct ArticleTests {
  @Test func aSessionOfAFleetWorksWithoutItsServer() async throws {
    let folder = try TemporaryFolder()
    let (address, secret) = ("unix://\(folder.file("nobody").path)", Data(repeating: 1, count: 32))
    let api = try #require(URL(string: "https://api.example.com/"))

    let redis = RedisClient(try RedisConfiguration(address))
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: RedisCacheStore(redis))
    configuration.cookies = CookieJar(store: RedisCookieStore(redis, sessionCookies: .shared))
    var rate = RateLimit(100, per: .seconds(1), burst: 20)
    rate.store = RedisRateLimitStore(redis)
    configuration.limits.rate = rate

    let login = Login()
    let shared = RedisSharedToken(redis, name: "orders", seal: try RedisSeal(key: secret))
    let tokens = TokenSource(
      for: .origin(of: api), refresh: shared.refresh { old in try await login.refresh(old?.refreshToken) })
    configuration.credentials = [tokens]

    let transport = RecordingTransport(around: MockTransport { _ in MockResponse(content: Data("ok".utf8)) })
    let session = HTTPSession(transport: transport, configuration: configuration)
    #expect(try await session.data(for: HTTPRequest(.get, api)).0 == Data("ok".utf8))
    #expect(transport.records.first?.request.fields[.authorization] == "Bearer token")
  }

  private struct Login: Sendable {
    func refresh(_ token: String?) async throws -> AccessToken { AccessToken("token") }
  }
}
