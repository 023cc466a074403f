import MartletEngine
import MartletRedis
import MartletSemantics
import TestSupport
import Testing

@Suite struct SecretValueTests {
  private static func values() throws -> [(name: String, value: Any)] {
    let configuration = try RedisConfiguration("redis://hidden:hidden@127.0.0.1:1/0")
    let redis = RedisClient(configuration)
    let seal = try RedisSeal(key: Data("hiddenhiddenhiddenhiddenhiddenhi".utf8))
    return [
      ("RedisConfiguration", configuration), ("RedisClient", redis), ("RedisSeal", seal),
      ("RedisCacheOptions", RedisCacheOptions.sealed(with: seal)),
      ("RedisCacheStore", RedisCacheStore(redis, options: .sealed(with: seal))),
      ("RedisCookieStore", RedisCookieStore(redis, seal: seal)),
      ("RedisKeyValueStore", RedisKeyValueStore(redis, seal: seal)),
      ("RedisRateLimitStore", RedisRateLimitStore(redis)),
      ("RedisSharedToken", RedisSharedToken(redis, name: "token", seal: seal)),
    ]
  }

  @Test func publicValuesShowNoSecrets() throws {
    for (name, value) in try Self.values() { #expect(!showsSecret(value), "\(name)") }
  }
}
