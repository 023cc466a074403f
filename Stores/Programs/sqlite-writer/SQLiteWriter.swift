import CallDoubles
import MartletEngine
@_spi(Stores) import MartletSQLite
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A process that writes to the stores of a test, which may kill it. It prints its actions.
///
///     sqlite-writer pairs FILE          two cookies with the same number, for ever
///     sqlite-writer count FILE TIMES    adds one to the number in a cookie
///     sqlite-writer entries FILE        entries whose bodies have 300,000 bytes of the same value, for ever
///     sqlite-writer value FILE KEY TEXT one value
///     sqlite-writer full FOLDER         opens the folder's stores while no file can grow, then while files can
///     sqlite-writer descriptors FOLDER  uses new and existing stores without a descriptor that is free
///     sqlite-writer fill FILE BYTES     stores more responses than fit into files of this size
@main
struct SQLiteWriter {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 2 else { return }
    let file = URL(filePath: arguments[2])
    switch arguments[1] {
    case "pairs": try await writePairs(SQLiteCookieStore(at: file))
    case "count": try await count(SQLiteCookieStore(at: file), times: Int(arguments[3]) ?? 0)
    case "entries": try await writeEntries(SQLiteCacheStore(at: file))
    case "value": try await SQLiteKeyValueStore(at: file).set(Data(arguments[4].utf8), for: arguments[3])
    case "full": try await useFullDisk(file)
    #if os(Linux)
    case "descriptors": await useSpareDescriptors(file)
    #endif
    case "fill": try await fill(file, limit: UInt64(arguments[3]) ?? 0)
    default: return
    }
  }

  private static func useFullDisk(_ folder: URL) async throws {
    limitFiles(to: 0)
    let values = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
    let cookies = try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite"))
    let cache = try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"))
    let new = try SQLiteKeyValueStore(at: folder.appending(path: "new/values.sqlite"))
    let entry = CacheEntry(
      key: CacheKey(partition: "", normalizedURL: "https://example.com/"),
      response: StoredResponse(head: ResponseHead(status: 200), requestTime: .now, responseTime: .now))
    let expiring = Cookie(name: "b", value: "2", domain: "example.com", expires: .distantFuture)

    for isFull in [true, false] {
      if !isFull { limitFiles(to: .max) }
      await report("value") { try await values.value(for: "a").map { String(decoding: $0, as: UTF8.self) } ?? "none" }
      await report("set") { try await values.set(Data("2".utf8), for: "b") }
      await report("blockingSet") { try values.blockingSet(Data("3".utf8), for: "c") }
      await report("cookies") { try await cookies.cookies(in: "example.com").map(\.value).sorted() }
      await report("update") { try await cookies.update("example.com") { $0.append(expiring) } }
      await report("responses") { try await cache.entries(for: entry.key).count }
      await report("store") { try await store(Data(count: 300_000), entry, in: cache) }
      await report("new") { try await new.set(Data("1".utf8), for: "a") }
    }
  }

  #if os(Linux)
  private static func useSpareDescriptors(_ folder: URL) async {
    let keeper = DescriptorKeeper(step: 3)
    for name in ["first", "second"] {
      keeper.takeAll()
      await report(name) {
        let values = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
        let old = try await values.value(for: "a").map { String(decoding: $0, as: UTF8.self) } ?? "none"
        keeper.takeAll()
        try await values.set(Data(name.utf8), for: "a")
        return old
      }
    }
  }
  #endif

  private static func fill(_ file: URL, limit: UInt64) async throws {
    limitFiles(to: limit)
    let cache = try SQLiteCacheStore(at: file)
    var stored = 0
    for number in 0..<100 {
      let key = CacheKey(partition: "", normalizedURL: "https://example.com/\(number)")
      let response = StoredResponse(head: ResponseHead(status: 200), requestTime: .now, responseTime: .now)
      let size = number.isMultiple(of: 2) ? 100_000 : 200_000
      try? await store(Data(repeating: 65, count: size), CacheEntry(key: key, response: response), in: cache)
      if try await cache.entries(for: key).count == 1 { stored += 1 }
    }
    print("stored", stored)
    await report("remove") { try await cache.remove(.all) }
    await report("usage") { try await cache.usage().bytes }
  }

  private static func store(_ body: Data, _ entry: CacheEntry, in cache: SQLiteCacheStore) async throws {
    guard let writer = try await cache.begin(entry) else { return }
    try await writer.append(body)
    try await writer.commit()
  }

  /// Sets the maximum size of the files of this process, like a full disk or a quota.
  private static func limitFiles(to size: UInt64) {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    getrlimit(fileSize, &limit)
    limit.rlim_cur = min(rlim_t(size), limit.rlim_max)
    setrlimit(fileSize, &limit)
  }

  #if canImport(Glibc)
  private static let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
  private static let fileSize = RLIMIT_FSIZE
  #endif

  /// Prints the result or the error of the work.
  private static func report<R>(_ name: String, _ work: () async throws -> R) async {
    do { print(name, try await work()) } catch { print(name, "failed:", (error as? HTTPError)?.message ?? "\(error)") }
  }

  private static func writePairs(_ store: SQLiteCookieStore) async throws {
    for number in 1... {
      try await store.update("example.com") { cookies in
        cookies = ["first", "second"].map {
          Cookie(name: $0, value: String(number), domain: "example.com", expires: .distantFuture)
        }
      }
      say(number)
    }
  }

  private static func count(_ store: SQLiteCookieStore, times: Int) async throws {
    for _ in 0..<times {
      try await store.update("example.com") { cookies in
        let number = cookies.first.flatMap { Int($0.value) } ?? 0
        cookies = [Cookie(name: "count", value: String(number + 1), domain: "example.com", expires: .distantFuture)]
      }
    }
    say(times)
  }

  private static func writeEntries(_ store: SQLiteCacheStore) async throws {
    guard let url = URL(string: "https://example.com/") else { return }
    for number in 1... {
      let key = CacheKey(url.appending(path: String(number % 10)))
      let response = StoredResponse(head: ResponseHead(status: 200), requestTime: .now, responseTime: .now)
      guard let writer = try await store.begin(CacheEntry(key: key, response: response)) else { return }
      for _ in 0..<30 {
        try await writer.append(Data(repeating: UInt8(truncatingIfNeeded: number), count: 10_000))
      }
      try await writer.commit()
      say(number)
    }
  }

  private static func say(_ number: Int) {
    let line = "\(number)\n"
    _ = write(STDOUT_FILENO, line, line.utf8.count)
  }
}
