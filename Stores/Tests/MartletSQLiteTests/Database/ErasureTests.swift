import Foundation
@_spi(Stores) import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@_spi(Stores) @testable import MartletSQLite

/// Removed data cannot be read from any file of the folder: database, journal, files that were set aside.
@Suite(.timeLimit(.minutes(5)))
struct ErasureTests {
  private let folder: TemporaryFolder
  private static let secret = "TheSecretOfAnna"

  init() throws { folder = try TemporaryFolder() }

  // MARK: - Responses

  private static let selections: [(String, @Sendable (CacheEntry) -> CacheSelection)] = [
    ("all", { _ in .all }), ("partition", { _ in .partition("anna") }), ("older", { _ in .olderThan(.distantFuture) }),
  ]

  @Test(arguments: selections.map(\.0), [1_000, 100_000, 700_000])
  func removedResponsesCannotBeRead(_ name: String, size: Int) async throws {
    let selection = try #require(Self.selections.first { $0.0 == name }?.1)
    let secret = response(size)
    do {
      let store = try cache()
      for number in 0..<8 { try await store.save(entry("/\(number)"), bytes(size)) }
      try await store.save(secret.entry, secret.body)
      try await store.save(entry("/last"), bytes(size))
      #expect(try !traces().isEmpty)

      try await store.remove(selection(secret.entry))

      #expect(try traces() == [])
      #expect(try await store.entries(for: key("/last")).isEmpty == ["all", "older"].contains(name))
    }
    #expect(try traces() == [])
  }

  /// They are removed by requests, too. The journal is emptied when the file is closed.
  @Test(arguments: [CacheSelection.url("https://example.com/\(secret)"), .key(key("/\(secret)", partition: "anna"))])
  func singleResponsesThatWereRemovedCannotBeReadWhenTheStoreIsClosed(_ selection: CacheSelection) async throws {
    do {
      let (store, secret) = (try cache(), response(700_000))
      try await store.save(secret.entry, secret.body)
      try await store.remove(selection)
    }
    try await waitForErasure(SQLiteCacheStore(at: folder.file("other.sqlite")))
  }

  @Test func responsesRemovedAtOnceCannotBeRead() async throws {
    let (store, secret) = (try cache(), response(700_000))
    try await store.save(secret.entry, secret.body)
    try store.blockingRemove(.all)
    #expect(try traces() == [])
  }

  /// Another process writes a body in the meantime, which is not affected.
  @Test func responsesRemovedWhileAnotherStoreWritesCannotBeRead() async throws {
    let (store, other, secret) = (try cache(), try cache(), response(700_000))
    try await store.save(secret.entry, secret.body)
    let writer = try #require(try await other.begin(entry("/other")))
    try await writer.append(bytes(2_000_000))

    try await store.remove(.all)

    #expect(try traces() == [])
    try await writer.commit()
    #expect(try await store.entries(for: key("/other")).count == 1)
  }

  @Test func responsesThatWereReplacedAndEvictedCannotBeReadAfterARemoval() async throws {
    let store = try SQLiteCacheStore(at: folder.file("cache.sqlite"), capacity: 4_000_000)
    for size in [700_000, 500, 400_000] {
      for _ in 0..<5 {
        let secret = response(size)
        try await store.save(secret.entry, secret.body)
      }
    }
    for number in 0..<10 { try await store.save(entry("/\(number)"), bytes(400_000)) }
    try await store.remove(.all)
    #expect(try traces() == [])
  }

  @Test func aBodyThatIsBeingReadIsErasedWhenItWasRead() async throws {
    let (store, secret) = (try cache(), response(700_000))
    try await store.save(secret.entry, secret.body)
    let source = try #require(try await store.open(secret.entry.id, range: 0..<700_000))

    try await store.remove(.all)
    #expect(try await source.all() == secret.body)

    try await waitForErasure(store)
  }

  @Test(arguments: [
    "DELETE FROM entry",
    "PRAGMA secure_delete = OFF; DELETE FROM entry; DELETE FROM chunk; DELETE FROM loose",
  ])
  func whatAKilledProcessHadRemovedIsErasedAtTheNextOpening(_ removal: String) async throws {
    let secret = response(700_000)
    do {
      let store = try cache()
      try await store.save(secret.entry, secret.body)
    }
    try RawDatabase.run(removal, on: folder.file("cache.sqlite"))
    #expect(try !traces().isEmpty)

    let store = try cache()
    try await waitForErasure(store)
    #expect(try await store.usage().entries == 0)
  }

  // MARK: - Cookies and values

  @Test(arguments: [true, false]) func removedCookiesCannotBeRead(_ all: Bool) async throws {
    do {
      let store = try SQLiteCookieStore(at: folder.file("cookies.sqlite"), sessionCookies: .persistent)
      for site in 0..<40 {
        try await store.update("\(site).example") { $0 = [Self.cookie("id", "x\(site)"), Self.cookie("other", "x")] }
        try await store.update("\(site).example") {
          $0[0].value = Self.secret + String(repeating: "\(site)", count: 40)
        }
      }
      #expect(try !traces().isEmpty)

      if all { try await store.removeAll() }
      for site in 0..<40 where !all { try await store.update("\(site).example") { $0.removeAll { $0.name == "id" } } }

      #expect(try traces() == [])
      #expect(try await store.count() == (all ? 0 : 40))
    }
    #expect(try traces() == [])
  }

  private enum Removal: CaseIterable { case each, eachAtOnce, all }

  /// Rows that were moved from page to page leave copies behind.
  @Test(arguments: Removal.allCases) private func removedValuesCannotBeRead(_ removal: Removal) async throws {
    do {
      let store = try SQLiteKeyValueStore(at: folder.file("values.sqlite"))
      var number: UInt32 = 1
      for index in 0..<200 {
        number = number &* 1_664_525 &+ 1_013_904_223
        let text = (index.isMultiple(of: 2) ? Self.secret : "other") + String(repeating: "-", count: Int(number >> 22))
        try await store.set(Data(text.utf8), for: "\(number) \(index.isMultiple(of: 2) ? Self.secret : "")")
      }
      #expect(try !traces().isEmpty)

      let secrets = try await store.keys().filter { $0.contains(Self.secret) }
      switch removal {
      case .each: for key in secrets { try await store.removeValue(for: key) }
      case .eachAtOnce: for key in secrets { try store.blockingRemoveValue(for: key) }
      case .all: try await store.removeAll()
      }

      #expect(try traces() == [])
      #expect(try await store.keys().count == (removal == .all ? 0 : 100))
    }
    #expect(try traces() == [])
  }

  // MARK: - Other programs and files

  /// The journal cannot be emptied as long as another connection reads an earlier state.
  @Test(arguments: [true, false]) func whatAnotherReaderKeepsIsErasedAfterIt(byTheNextWrite: Bool) async throws {
    let file = folder.file("values.sqlite")
    do {
      let store = try SQLiteKeyValueStore(at: file)
      try await store.set(Data(Self.secret.utf8), for: "a")
      try await store.set(Data(Self.secret.utf8), for: "b")
      do {
        let reader = try OpenRead(file)
        try await store.removeValue(for: "a")
        try await store.removeAll()
        #expect(try !traces().isEmpty)
        #expect(try await store.keys() == [])
        withExtendedLifetime(reader) {}
      }
      if byTheNextWrite {
        try await store.set(Data([1]), for: "other")
        #expect(try traces() == [])
      }
    }
    let other = try OpenIdle(file)
    let store = try SQLiteKeyValueStore(at: file)
    #expect(try await store.value(for: "a") == nil)
    #expect(try traces() == [])
    withExtendedLifetime(other) {}
  }

  @Test func filesThatWereSetAsideAreRemovedWithEverythingElse() async throws {
    let file = folder.file("values.sqlite")
    do { try await SQLiteKeyValueStore(at: file).set(Data(Self.secret.utf8), for: "a") }
    try RawDatabase.run("PRAGMA user_version = 1000", on: file)
    do { try await SQLiteKeyValueStore(at: file).set(Data(Self.secret.utf8), for: "a") }
    try RawDatabase.run("DROP TABLE entry", on: file)
    do { _ = try SQLiteKeyValueStore(at: file) }
    for name in try folder.names() where name.hasPrefix("values.sqlite") && !name.contains(".newer") {
      if !name.contains("-1") { try FileManager.default.removeItem(at: folder.file(name)) }
    }
    try RawDatabase.run("CREATE TABLE theirs (x)", on: file)
    let store = try SQLiteKeyValueStore(at: file)
    try folder.write(Data(Self.secret.utf8), to: "values.sqlite.notes")
    let asides = try folder.names().filter { $0.hasPrefix("values.sqlite.") }
    #expect(
      asides == [
        "values.sqlite.damaged-1", "values.sqlite.foreign-1", "values.sqlite.newer-1", "values.sqlite.notes",
      ])

    try await store.removeAll()

    let rest = try folder.names().filter { $0.hasPrefix("values.sqlite.") }
    #expect(rest == ["values.sqlite.foreign-1", "values.sqlite.notes"])
  }

  // MARK: - Support

  private func cache() throws -> SQLiteCacheStore { try SQLiteCacheStore(at: folder.file("cache.sqlite")) }

  /// A response whose URL, field and body contain the secret.
  private func response(_ size: Int) -> (entry: CacheEntry, body: Data) {
    var secret = entry("/\(Self.secret)", partition: "anna", length: Int64(size))
    secret.response.head.fields["X-Secret"] = Self.secret
    let text = String(repeating: Self.secret + " ", count: size / Self.secret.utf8.count + 1)
    return (secret, Data(text.utf8.prefix(size)))
  }

  private static func cookie(_ name: String, _ value: String) -> Cookie {
    Cookie(name: name, value: value, domain: "example.com", expires: .distantFuture)
  }

  /// Waits for another task. A write suspends this one, so that the other has a thread.
  private func waitForErasure(_ store: SQLiteCacheStore) async throws {
    while try !traces().isEmpty {
      try Task.checkCancellation()
      try await store.remove(.entry(UUID()))
    }
  }

  /// The names of the files that contain the secret.
  private func traces() throws -> [String] {
    try folder.names().filter {
      // a file may be removed in the meantime
      (try? Data(contentsOf: folder.file($0)))?.range(of: Data(Self.secret.utf8)) != nil
    }
  }
}
