import MartletEngine
import MartletSQLite
import MartletTesting

// The stores for the contracts: those in SQLite files, and the ones in memory.

extension CacheStoreTests {
  static let all = [
    Making(testDescription: "memory") { _ in MemoryCacheStore(capacity: 1_000_000, entryLimit: 500_000) },
    Making(testDescription: "SQLite") {
      try SQLiteCacheStore(at: $0.file("cache.sqlite"), capacity: 1_000_000, entryLimit: 500_000)
    },
  ]
}

extension CookieStoreTests {
  static let all = [
    Making(testDescription: "memory") { _ in MemoryCookieStore() },
    Making(testDescription: "SQLite") { try SQLiteCookieStore(at: $0.file("cookies.sqlite")) },
    Making(testDescription: "SQLite, persistent") {
      try SQLiteCookieStore(at: $0.file("cookies.sqlite"), sessionCookies: .persistent)
    },
  ]
}

extension KeyValueStoreTests {
  static let all = [
    Making(testDescription: "memory") { _ in MemoryKeyValueStore() },
    Making(testDescription: "SQLite") { try SQLiteKeyValueStore(at: $0.file("values.sqlite")) },
  ]
}
