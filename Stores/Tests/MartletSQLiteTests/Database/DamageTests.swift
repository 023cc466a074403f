import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// A byte that changed on disk, at any position, only affects the data to which it belongs. The store can be used, and
/// returns only stored data.
@Suite(.timeLimit(.minutes(5)))
struct DamageTests {
  private let folder: TemporaryFolder
  private static let count = 100

  init() throws { folder = try TemporaryFolder() }

  @Test func aChangedByteNeverChangesAValue() async throws {
    var values: [String: Data] = [:]
    for number in 0..<12 { values["key \(number)"] = bytes(20 + number * 150, UInt8(number)) }
    let whole = try await content { file in
      let store = try SQLiteKeyValueStore(at: file)
      for (key, value) in values { try await store.set(value, for: key) }
    }
    var kept = 0
    for index in 0..<Self.count {
      let file = try damaged(whole, index)
      for opening in 1...2 {
        let store = try SQLiteKeyValueStore(at: file)
        for (key, value) in values {
          let found = try await store.value(for: key)
          #expect([value, nil].contains(found), "\(index) \(key)")
          if opening == 1, found != nil { kept += 1 }
        }
        #expect(Set(try await store.keys()).isSubset(of: Set(values.keys).union(["new"])), "\(index)")
        for key in values.keys { try await store.set(values[key] ?? Data(), for: key) }
        try await store.set(Data([1]), for: "new")
        #expect(try await store.value(for: "new") == Data([1]), "\(index)")
      }
      let store = try SQLiteKeyValueStore(at: file)
      for (key, value) in values { #expect(try await store.value(for: key) == value, "\(index)") }
    }
    // A quarter of the bytes belong to one value, and a twentieth to all. A store that loses all values for each of
    // these bytes keeps two thirds.
    #expect(kept > Self.count * values.count * 3 / 4)
  }

  @Test func aStoreWithAnyChangedByteInItsHeaderCanBeUsed() async throws {
    let whole = try await content { file in
      let store = try SQLiteKeyValueStore(at: file)
      for number in 0..<5 { try await store.set(bytes(100 + number), for: "\(number)") }
    }
    var kept = 0
    for offset in 0..<100 {
      var content = whole
      content[offset] ^= offset.isMultiple(of: 2) ? 0x81 : 0xFF
      let file = folder.file("\(offset).sqlite")
      try content.write(to: file)
      for opening in 1...2 {
        let store = try SQLiteKeyValueStore(at: file)
        for number in 0..<5 {
          let found = try await store.value(for: "\(number)")
          #expect([bytes(100 + number), nil].contains(found), "\(offset)")
          if opening == 1, found != nil { kept += 1 }
        }
        try await store.set(Data([1]), for: "new")
        #expect(try await store.value(for: "new") == Data([1]), "\(offset)")
      }
    }
    // Reserved bytes, counters and hints are more than a third of the header. The data does not depend on them.
    #expect(kept > 30 * 5)
  }

  @Test func aChangedByteNeverChangesACookie() async throws {
    let sites = (0..<3).map { "site\($0).example" }
    let all = Set(sites.flatMap { site in (0..<20).map { Self.cookie($0, site) } })
    let whole = try await content { file in
      let store = try SQLiteCookieStore(at: file)
      for site in sites { try await store.update(site) { $0 = (0..<20).map { Self.cookie($0, site) } } }
    }
    var kept = 0
    for index in 0..<Self.count {
      let file = try damaged(whole, index)
      for opening in 1...2 {
        let store = try SQLiteCookieStore(at: file)
        for site in sites {
          let found = try await store.cookies(in: site)
          if opening == 1 { kept += found.count }
          #expect(found.allSatisfy { all.contains($0) && $0.domain == site }, "\(index)")
        }
        #expect(Set(try await store.allCookies().values.joined()).isSubset(of: all), "\(index)")
        for site in sites {
          try await store.update(site) { $0 = (0..<20).map { Self.cookie($0, site) } }
          let found = try await store.cookies(in: site)
          #expect(
            Set(found) == Set((0..<20).map { Self.cookie($0, site) }),
            "\(index): \(found.count) of 20 in \(site), \(folder.names(beginningWith: "\(index).sqlite"))")
        }
        #expect(try await store.count() > 0, "\(index)")
      }
    }
    // A quarter of the bytes belong to one cookie, and a seventh to all. A store that loses all cookies for each of
    // these bytes keeps three fifths.
    #expect(kept > Self.count * all.count * 2 / 3)
  }

  /// A page begins with its free ranges and the positions of its rows. If one of them is wrong, a written or deleted
  /// row may overlap others.
  @Test func aCookieThatIsStoredAfterDamageCoversNoOther() async throws {
    let site = "site.example"
    let cookies = (0..<16).map { Self.cookie($0, site) }
    let whole = try await content { file in
      let store = try SQLiteCookieStore(at: file)
      for cookie in cookies { try await store.update(site) { $0.append(cookie) } }
    }
    // a page with rows of an index
    let page = try #require((1..<whole.count / 4_096).map { $0 * 4_096 }.first { whole[$0] == 0x0A })
    let changes: [UInt8] = [1, 4, 16, 64, 0xFF]
    for offset in page + 1..<page + 8 + 2 * cookies.count {
      for change in [changes[offset % 5], changes[(offset + 2) % 5]] {
        var content = whole
        content[offset] ^= change
        let file = folder.file("\(offset)-\(change).sqlite")
        try content.write(to: file)
        let store = try SQLiteCookieStore(at: file)
        for cookie in cookies + (16..<24).map({ Self.cookie($0, site) }) {
          try await store.update(site) { if !$0.contains(cookie) { $0.append(cookie) } }
        }
        #expect(try await store.cookies(in: site).count == 24, "\(offset) \(change)")
      }
    }
  }

  @Test(arguments: ["site", "name", "domain", "path", "value"])
  func aTextThatBecameABlobIsDamage(_ column: String) async throws {
    let site = "site.example"
    let cookies = (0..<8).map { Self.cookie($0, site) }
    let file = folder.file("cookies.sqlite")
    do { try await SQLiteCookieStore(at: file).update(site) { $0 = cookies } }
    try RawDatabase.run("UPDATE cookie SET \(column) = CAST(\(column) AS BLOB) WHERE name = 'name 3'", on: file)
    let store = try SQLiteCookieStore(at: file, onSetAside: { Issue.record("\($0)") })
    #expect(Set(try await store.cookies(in: site)) == Set(cookies).subtracting([cookies[3]]))
    try await store.update(site) { $0 = cookies }
    #expect(Set(try await store.cookies(in: site)) == Set(cookies))
  }

  @Test func aKeyThatBecameABlobIsDamage() async throws {
    let file = folder.file("values.sqlite")
    do {
      let store = try SQLiteKeyValueStore(at: file)
      for key in ["a", "b", "c"] { try await store.set(Data(key.utf8), for: key) }
    }
    try RawDatabase.run("UPDATE entry SET key = CAST(key AS BLOB) WHERE key = 'b'", on: file)
    let store = try SQLiteKeyValueStore(at: file, onSetAside: { Issue.record("\($0)") })
    try await store.set(Data("b".utf8), for: "b")
    #expect(try await store.keys() == ["a", "b", "c"])
  }

  private static func cookie(_ number: Int, _ site: String) -> Cookie {
    Cookie(
      name: "name \(number)", value: String(repeating: "value \(number) ", count: 1 + number), domain: site,
      expires: .distantFuture, created: Date(timeIntervalSince1970: Double(1_000 + number)))
  }

  @Test func aChangedByteNeverChangesAResponse() async throws {
    let entries: [CacheEntry] = (0..<12).map { number in
      let length: Int64 = number % 6 == 0 ? 150_000 : Int64(200 + number * 500)
      return entry("/\(number)", length: length)
    }
    let whole = try await content { file in
      let store = try SQLiteCacheStore(at: file)
      for entry in entries { try await store.save(entry, bytes(Int(entry.length ?? 0))) }
    }
    var kept = 0
    for index in 0..<Self.count {
      let file = try damaged(whole, index)
      for opening in 1...2 {
        let store = try SQLiteCacheStore(at: file, capacity: 500_000)
        for entry in entries {
          for found in try await store.entries(for: entry.key) where found.id == entry.id {
            #expect(found == entry, "\(index)")
            // A damaged chunk is an error of the body, for which the cache removes the entry.
            guard let body = try? await store.read(found) else { continue }
            #expect(body == bytes(Int(entry.length ?? 0)), "\(index)")
            if opening == 1 { kept += 1 }
          }
        }
        for number in 0..<5 {
          let new = entry("/new\(number)", length: 100_000)
          try await store.save(new, bytes(100_000))
          #expect(try await store.entries(for: new.key) == [new], "\(index)")
          #expect(try await store.read(new) == bytes(100_000), "\(index)")
        }
        #expect(try await store.usage().bytes <= 500_000, "\(index)")
      }
    }
    // Nearly all bytes belong to the body of one response.
    #expect(kept > Self.count * entries.count * 3 / 4)
  }

  @Test(arguments: [
    "UPDATE state SET bytes = 1000000000", "UPDATE state SET entries = 7", "DELETE FROM state",
    "DELETE FROM use", "INSERT INTO use VALUES (100000, 1)",
  ])
  func impossibleTotalsOfACacheAreDamage(_ damage: String) async throws {
    let file = folder.file("cache.sqlite")
    do {
      let store = try SQLiteCacheStore(at: file)
      for number in 0..<3 { try await store.save(entry("/\(number)"), bytes(10)) }
    }
    try RawDatabase.run(damage, on: file)
    let warnings = Log<SetAsideFile>()
    let store = try SQLiteCacheStore(at: file, onSetAside: { warnings.append($0) })
    try await store.save(entry("/new"), bytes(10))
    #expect(try await store.entries(for: key("/new")).count == 1)
    for _ in 0..<3 { try await store.save(entry("/new"), bytes(10)) }
    #expect(try await store.usage().entries == 1)
    #expect(warnings.entries.map(\.reason) == [.damaged])
  }

  @Test func theTotalOfTheCookiesIsCountedAgain() async throws {
    let file = folder.file("cookies.sqlite")
    do { try await SQLiteCookieStore(at: file).update("a.example") { $0 = [Self.cookie(1, "a.example")] } }
    try RawDatabase.run("DELETE FROM total", on: file)
    #expect(try await SQLiteCookieStore(at: file).count() == 1)
  }

  @Test(arguments: [
    "DROP TABLE total", "DROP TRIGGER cookie_added", "ALTER TABLE cookie RENAME COLUMN path TO way",
    "DROP TRIGGER cookie_added; CREATE TRIGGER cookie_added AFTER INSERT ON cookie BEGIN SELECT 1; END;",
  ])
  func changedTablesAndTriggersAreDamage(_ damage: String) async throws {
    let file = folder.file("cookies.sqlite")
    do { _ = try SQLiteCookieStore(at: file) }
    try RawDatabase.run(damage, on: file)
    let warnings = Log<SetAsideFile>()
    let store = try SQLiteCookieStore(at: file, onSetAside: { warnings.append($0) })
    try await store.update("a.example") { $0 = [Self.cookie(1, "a.example")] }
    #expect(try await store.count() == 1)
    #expect(warnings.entries.map(\.reason) == [.damaged])
  }

  @Test func aTableThatChangesInAnOpenStoreIsDamage() async throws {
    let file = folder.file("values.sqlite")
    let warnings = Log<SetAsideFile>()
    let store = try SQLiteKeyValueStore(at: file, onSetAside: { warnings.append($0) })
    try await store.set(Data([1]), for: "a")
    try RawDatabase.run("ALTER TABLE entry RENAME TO other", on: file)
    try await store.set(Data([2]), for: "b")
    #expect(try await store.keys() == ["b"])
    #expect(warnings.entries.map(\.reason) == [.damaged])
  }

  @Test func migrationByALaterVersionIsNotDamage() async throws {
    let file = folder.file("values.sqlite")
    let warnings = Log<SetAsideFile>()
    let store = try SQLiteKeyValueStore(at: file, onSetAside: { warnings.append($0) })
    try await store.set(Data([1]), for: "a")
    try RawDatabase.run("ALTER TABLE entry RENAME COLUMN value TO content; PRAGMA user_version = 1000", on: file)
    try await store.set(Data([2]), for: "b")
    #expect(try await store.keys() == ["b"])
    #expect(warnings.entries.map(\.reason) == [.newer])
  }

  @Test func storingTheSameEntryTwiceIsNotDamage() async throws {
    let store = try SQLiteCacheStore(at: folder.file("cache.sqlite"), onSetAside: { Issue.record("\($0)") })
    var twice = entry("/a", length: 3)
    try await store.save(twice, bytes(3))
    twice.response.variant = "other"
    try await store.save(twice, bytes(3, 1))
    #expect(try await store.entries(for: twice.key) == [twice])
    #expect(try await store.read(twice) == bytes(3, 1))
  }

  /// Returns the file of a store after it was closed.
  private func content(_ fill: (URL) async throws -> Void) async throws -> Data {
    let file = folder.file("whole.sqlite")
    try await fill(file)
    try RawDatabase.run("PRAGMA wal_checkpoint(TRUNCATE)", on: file)
    return try Data(contentsOf: file)
  }

  /// Returns a file with one changed byte: the first one is pseudorandom, and the others are evenly distributed.
  private func damaged(_ whole: Data, _ index: Int) throws -> URL {
    var content = whole
    let offset = (index * whole.count / Self.count + 61 * index) % whole.count
    let change: UInt8 = index.isMultiple(of: 2) ? 1 << UInt8(index / 2 % 8) : 0xFF
    content[offset] ^= change
    let file = folder.file("\(index).sqlite")
    try content.write(to: file)
    return file
  }
}

extension TemporaryFolder {
  /// Returns the names of the files in the folder that begin with a text.
  fileprivate func names(beginningWith start: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.filter { $0.hasPrefix(start) }.sorted() ?? []
  }
}
