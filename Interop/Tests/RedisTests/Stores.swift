import Foundation
import MartletEngine
import MartletRedis

// The stores for the contracts: those on a Redis server, each with its own names.

extension CacheStoreTests {
  static let all = [
    making("Redis") { _ in },
    making("Redis, sealed") { $0.seal = try RedisSeal(key: Data(repeating: 7, count: 32)) },
    making("Redis, chunk by chunk") { $0.readAhead = 0 },
    making("Redis, with memory") { $0.memoryLife = .seconds(60) },
  ]

  private static func making(
    _ name: String, _ change: @escaping @Sendable (inout RedisCacheOptions) throws -> Void
  ) -> Making {
    Making(testDescription: name, hasCapacity: false) { _ in
      var options = RedisCacheOptions()
      options.entryLimit = 500_000
      try change(&options)
      return RedisCacheStore(try RedisServer.shared.get().client(), options: options)
    }
  }
}

extension CookieStoreTests {
  static let all = [
    Making(testDescription: "Redis") { _ in RedisCookieStore(try RedisServer.shared.get().client()) },
    Making(testDescription: "Redis, shared") { _ in
      RedisCookieStore(try RedisServer.shared.get().client(), sessionCookies: .shared)
    },
    Making(testDescription: "Redis, sealed") { _ in
      let seal = try RedisSeal(key: Data(repeating: 7, count: 32))
      return RedisCookieStore(try RedisServer.shared.get().client(), sessionCookies: .shared, seal: seal)
    },
  ]
}

extension KeyValueStoreTests {
  static let all = [
    making("Redis", seal: nil), making("Redis, sealed", seal: try? RedisSeal(key: Data(repeating: 7, count: 32))),
  ]

  private static func making(_ name: String, seal: RedisSeal?) -> Making {
    Making(testDescription: name) { _ in
      var store = RedisKeyValueStore(try RedisServer.shared.get().client(), seal: seal)
      store.waitLimit = .seconds(60)
      return store
    }
  }
}
