import MartletEngine
import MartletSQLite
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A process that writes to the stores of a test, which may kill it. It prints what it has done.
///
///     sqlite-writer pairs FILE          two cookies with the same number, for ever
///     sqlite-writer count FILE TIMES    adds one to the number in a cookie
///     sqlite-writer entries FILE        entries whose bodies have 300,000 bytes of the same value, for ever
///     sqlite-writer value FILE KEY TEXT one value
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
    default: return
    }
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
