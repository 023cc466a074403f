#if os(Linux)
@testable import MartletEngine
@testable import MartletSQLite
@testable import MartletSemantics
import MartletTesting

/// Foreign files, and files of the stores with changed bytes or cut off. The store opens, returns only stored values,
/// and keeps the values that are stored from then on. A file that does not begin as a database is left as it is.
enum SQLiteFiles {
  static func run(_ input: inout Input) throws {
    let kind = input.choice() % 3
    let isForeign = input.choice() % 8 == 7
    let content = isForeign ? Data(input.bytes) : changed(wholes[kind], by: input.bytes)
    let folder = Self.folder
    number += 1
    let file = folder.file("\(number).sqlite")
    try content.write(to: file)
    for _ in 0..<2 {
      do {
        switch kind {
        case 0: try checkValues(file, isForeign)
        case 1: try checkCookies(file, isForeign)
        default: try checkResponses(file, isForeign)
        }
      } catch let error as HTTPError where error.message.contains("is not a SQLite database") {
        check(!content.starts(with: "SQLite format 3\0".utf8), "a database is refused")
        let left = try Data(contentsOf: file)
        check(left == content, "a file that is no database was changed")
      }
    }
    for name in try folder.names() { try? FileManager.default.removeItem(at: folder.file(name)) }
  }

  // SAFETY: libFuzzer has one thread
  nonisolated(unsafe) private static var number = 0

  private static let folder: TemporaryFolder = {
    do { return try TemporaryFolder() } catch { fatalError("no folder: \(error)") }
  }()

  /// Each group of bytes is a position in three bytes, and its change in the next; 0 cuts the file off.
  private static func changed(_ content: Data, by edits: [UInt8]) -> Data {
    var content = content
    for start in stride(from: 0, to: edits.count - 3, by: 4) where !content.isEmpty {
      let place = edits[start..<start + 3].reduce(0) { $0 << 8 | Int($1) } % content.count
      if edits[start + 3] == 0 { content = content.prefix(place) } else { content[place] ^= edits[start + 3] }
    }
    return content
  }

  // MARK: - The stores

  private static let values = Dictionary(uniqueKeysWithValues: (0..<8).map { ("key \($0)", bytes(20 + $0 * 150)) })
  private static let site = "site.example"
  private static let cookies = (0..<16).map { number in
    Cookie(
      name: "name \(number)", value: String(repeating: "value ", count: 1 + number), domain: site,
      expires: .distantFuture, created: Date(timeIntervalSince1970: Double(1000 + number)))
  }
  private static let entries: [CacheEntry] = (0..<6).map { number in
    let head = ResponseHead(status: 200, fields: ["Content-Type": "text/plain", "ETag": "\"x\""])
    let time = Date(timeIntervalSince1970: 2000)
    return CacheEntry(
      key: CacheKey(partition: "", normalizedURL: "https://example.com/\(number)"),
      response: StoredResponse(head: head, requestTime: time, responseTime: time), length: Int64(200 + number * 900))
  }

  private static func bytes(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 9) }) }

  /// The files from the stores: values, cookies and responses.
  private static let wholes: [Data] = {
    do {
      return [
        try content(of: folder.file("values.sqlite")) { file in
          let store = try SQLiteKeyValueStore(at: file)
          for (key, value) in values { try await store.set(value, for: key) }
        },
        try content(of: folder.file("cookies.sqlite")) { file in
          try await SQLiteCookieStore(at: file).update(site) { $0 = cookies }
        },
        try content(of: folder.file("cache.sqlite")) { file in
          let store = try SQLiteCacheStore(at: file)
          for entry in entries { try await save(entry, to: store) }
        },
      ]
    } catch { fatalError("no files: \(error)") }
  }()

  /// The file is complete when its last connection is closed, after the store was released: then SQLite removes the
  /// log.
  private static func content(of file: URL, _ fill: @escaping @Sendable (URL) async throws -> Void) throws -> Data {
    try wait { try await fill(file) }
    let log = file.path + "-wal"
    try wait { while FileManager.default.fileExists(atPath: log) { try await Task.sleep(for: .milliseconds(5)) } }
    return try Data(contentsOf: file)
  }

  // MARK: - The checks

  private static func checkValues(_ file: URL, _ isForeign: Bool) throws {
    try wait {
      let store = try SQLiteKeyValueStore(at: file)
      for (key, value) in values where !isForeign {
        let found = try await store.value(for: key)
        check(found == value || found == nil, "another value of \(key)")
      }
      try await store.set(Data([1]), for: "new")
      let new = try await store.value(for: "new")
      check(new == Data([1]), "a new value is lost")
      let names = try await store.keys()
      check(names.contains("new"), "a new key is lost")
    }
  }

  private static func checkCookies(_ file: URL, _ isForeign: Bool) throws {
    try wait {
      let store = try SQLiteCookieStore(at: file)
      let found = try await store.cookies(in: site)
      check(isForeign || found.allSatisfy(cookies.contains), "another cookie")
      try await store.update(site) { $0 = cookies }
      let all = try await store.cookies(in: site)
      check(Set(all) == Set(cookies), "\(all.count) of \(cookies.count) cookies")
      let count = try await store.count()
      check(count > 0, "\(count) cookies")
    }
  }

  private static func checkResponses(_ file: URL, _ isForeign: Bool) throws {
    try wait {
      let store = try SQLiteCacheStore(at: file, capacity: 500_000)
      for entry in entries where !isForeign {
        for found in try await store.entries(for: entry.key) where found.id == entry.id {
          check(found == entry, "another entry")
          // A damaged body is an error, for which the cache removes the entry.
          let body = try? await body(of: found, in: store)
          check(body == nil || body == bytes(Int(entry.length ?? 0)), "another body")
        }
      }
      let new = CacheEntry(
        key: CacheKey(partition: "", normalizedURL: "https://example.com/new"), response: entries[0].response,
        length: 3000)
      try await save(new, to: store)
      let found = try await store.entries(for: new.key)
      check(found == [new], "a new entry is lost")
      let body = try await body(of: new, in: store)
      check(body == bytes(3000), "a new body is lost")
    }
  }

  private static func save(_ entry: CacheEntry, to store: SQLiteCacheStore) async throws {
    guard let writer = try await store.begin(entry) else { return check(false, "an entry is not wanted") }
    try await writer.append(bytes(Int(entry.length ?? 0)))
    try await writer.commit()
  }

  private static func body(of entry: CacheEntry, in store: SQLiteCacheStore) async throws -> Data? {
    guard let source = try await store.open(entry.id, range: 0..<(entry.length ?? 0)) else { return nil }
    var body = Data()
    while let chunk = try await source.next() { body += chunk }
    return body
  }
}
#endif
