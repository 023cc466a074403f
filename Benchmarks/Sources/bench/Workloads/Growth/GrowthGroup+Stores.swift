import Foundation
import Martlet
import MartletImages
import MartletSQLite
import MeasuredClient

// What is stored: cookies, responses, values, pictures.
extension GrowthGroup {
  static let cookies: [GrowthGroup] = [
    GrowthGroup(
      "cookies", "cookies of other sites in memory",
      ["a Cookie line": .constant, "a cookie that changes": .constant, "a new cookie in a full jar": .constant]
    ) { size, _ in try await cookieOperations(MemoryCookieStore(), others: size) },
    GrowthGroup(
      "site-cookies", "cookies of other hosts of the site in memory", sizes: [1, 1_000, 10_000],
      ["a Cookie line": .constant, "a cookie that changes": .linear(nanoseconds: 250)]
    ) { size, _ in try await siteOperations(MemoryCookieStore(), others: size) },
    GrowthGroup(
      "cookies-sqlite", "cookies of other sites in SQLite",
      ["a Cookie line": .constant, "a cookie that changes": .logarithmic]
    ) { size, folder in
      let store = try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite"), sessionCookies: .persistent)
      return Array(try await cookieOperations(store, others: size).prefix(2))
    },
    GrowthGroup(
      "jar-sqlite", "cookies in a full jar in SQLite", sizes: [100, 1_000, 3_000],
      ["a new cookie in a full jar": .constant]
    ) { size, folder in
      let store = try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite"), sessionCookies: .persistent)
      return Array(try await cookieOperations(store, others: size).suffix(1))
    },
  ]

  private static func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }

  private typealias Operations = [(String, Int, @Sendable () async throws -> Void)]

  /// A jar with a hundred cookies of each of its sites, which is full with one more than `others`.
  private static func cookieOperations(_ store: any CookieStore, others: Int) async throws -> Operations {
    let jar = CookieJar(store: store, limits: Cookie.Limits(perDomain: 180, total: others + 1))
    let lines = (0..<others).map { "site\($0 / 100).example\tFALSE\t/\tFALSE\t4000000000\tn\($0)\tv" }
    _ = try await jar.importNetscape(lines.joined(separator: "\n"))
    let urls = [url("http://own.test/a"), url("http://own.test/b/")]
    let numbers = Numbers()
    try await jar.store(setCookie: ["id=0; Path=/; Max-Age=86400"], for: urls[0])
    return [
      ("a Cookie line", 2_000, { for index in 0..<2_000 { _ = try await jar.cookieHeader(for: urls[index % 2]) } }),
      (
        "a cookie that changes", 500,
        {
          for _ in 0..<500 {
            let line = "id=\(numbers.next()); Path=/; Max-Age=86400"
            guard try await jar.store(setCookie: [line], for: urls[0]).isEmpty else { throw BenchError("refused") }
            _ = try await jar.cookieHeader(for: urls[0])
          }
        }
      ),
      (
        // As many as the jar removes a few times.
        "a new cookie in a full jar", max(500, others / 4),
        {
          for _ in 0..<max(500, others / 4) {
            let address = url("http://new\(numbers.next()).test/")
            guard try await jar.store(setCookie: ["id=1; Path=/; Max-Age=86400"], for: address).isEmpty else {
              throw BenchError("refused")
            }
          }
        }
      ),
    ]
  }

  private static func siteOperations(_ store: any CookieStore, others: Int) async throws -> Operations {
    let jar = CookieJar(store: store, limits: Cookie.Limits(perDomain: 180, total: others + 1000))
    let lines = (0..<others).map { "h\($0 / 100).example.org\tFALSE\t/\tFALSE\t4000000000\tn\($0)\tv" }
    _ = try await jar.importNetscape(lines.joined(separator: "\n"))
    let urls = [url("http://own.example.org/a"), url("http://own.example.org/b/")]
    let numbers = Numbers()
    try await jar.store(setCookie: ["id=0; Path=/; Max-Age=86400"], for: urls[0])
    let changes = others > 1_000 ? 50 : 500
    return [
      ("a Cookie line", 2_000, { for index in 0..<2_000 { _ = try await jar.cookieHeader(for: urls[index % 2]) } }),
      (
        "a cookie that changes", changes,
        {
          for _ in 0..<changes {
            _ = try await jar.store(setCookie: ["id=\(numbers.next()); Path=/; Max-Age=86400"], for: urls[0])
          }
        }
      ),
    ]
  }

  static let caches: [GrowthGroup] = [
    GrowthGroup(
      "cache", "responses in memory",
      ["a response from the cache": .constant, "a new response": .constant, "a POST that removes one": .constant]
    ) { size, _ in try await cacheOperations(MemoryCacheStore(capacity: 4 << 30), entries: size) },
    GrowthGroup(
      "full-cache", "responses in memory, which is full", ["a new response": .constant]
    ) { size, _ in
      let store = MemoryCacheStore(capacity: Int64(size + 1) * 2_000, entryLimit: 4_096)
      return [try await cacheOperations(store, entries: size)[1]]
    },
    GrowthGroup(
      "cache-sqlite", "responses in SQLite",
      [
        "a response from the cache": .logarithmic, "a new response": .logarithmic,
        "a POST that removes one": .logarithmic,
      ]
    ) { size, folder in
      let store = try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"), capacity: 4 << 30)
      return try await cacheOperations(store, entries: size)
    },
    GrowthGroup(
      "values-sqlite", "values in SQLite", ["a value that is read": .logarithmic, "a value that changes": .logarithmic]
    ) { size, folder in
      let store = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
      for index in 0..<size { try await store.set(Data(count: 100), for: "key \(index)") }
      let numbers = Numbers()
      return [
        (
          "a value that is read", 500,
          { for index in 0..<500 { _ = try await store.value(for: "key \(index &* 7919 % size)") } }
        ),
        (
          "a value that changes", 200,
          {
            for index in 0..<200 {
              try await store.set(Data("\(numbers.next())".utf8), for: "key \(index &* 7919 % size)")
            }
          }
        ),
      ]
    },
    GrowthGroup(
      "pictures", "pictures in memory",
      ["a picture from memory": .constant, "a new picture in a full cache": .constant]
    ) { size, _ in
      let cache = ImageCache(byteLimit: 4 * size)
      let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [0, 0, 0, 0])
      let numbers = Numbers()
      for index in 0..<size { cache[url("http://pictures.test/\(index)")] = LoadedImage(bitmap) }
      return [
        (
          "a picture from memory", 2_000,
          { for index in 0..<2_000 { _ = cache[url("http://pictures.test/\(size - 1 - index % size)")] } }
        ),
        (
          "a new picture in a full cache", 2_000,
          { for _ in 0..<2_000 { cache[url("http://new.test/\(numbers.next())")] = LoadedImage(bitmap) } }
        ),
      ]
    },
  ]

  /// Answers everything with 1 KiB that is fresh for an hour.
  private static func cacheOperations(_ store: any CacheStore, entries: Int) async throws -> Operations {
    var settings = SessionConfiguration()
    settings.cache = HTTPCache(store: store)
    settings.cookies = nil
    let session = HTTPSession(transport: InstantTransport(lifetime: 3600), configuration: settings)
    for index in 0..<entries { _ = try await session.data(for: HTTPRequest(.get, url("http://stored.test/\(index)"))) }
    let numbers = Numbers()
    return [
      (
        "a response from the cache", 500,
        {
          for index in 0..<500 {
            let address = url("http://stored.test/\(entries - 1 - index &* 7919 % entries)")
            _ = try await session.data(for: HTTPRequest(.get, address))
          }
        }
      ),
      (
        "a new response", 500,
        {
          for _ in 0..<500 {
            _ = try await session.data(for: HTTPRequest(.get, url("http://new.test/\(numbers.next())")))
          }
        }
      ),
      (
        "a POST that removes one", 200,
        { for _ in 0..<200 { _ = try await session.data(for: HTTPRequest(.post, url("http://post.test/"))) } }
      ),
    ]
  }
}
