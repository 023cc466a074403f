import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@_spi(Stores) @testable import MartletSQLite

@Suite(.timeLimit(.minutes(5)))
struct SQLiteCacheStoreTests {
  private let folder: TemporaryFolder
  private let clock = Clock()

  init() throws { folder = try TemporaryFolder() }

  private func open(capacity: Int64 = 10 << 20) throws -> SQLiteCacheStore {
    let database = try Database(at: file, CacheStatement.schema, onSetAside: { _ in })
    return SQLiteCacheStore(database, capacity: capacity, entryLimit: nil, now: { [clock] in clock.now })
  }

  private var file: URL { folder.file("cache.sqlite") }

  @Test func entriesOutliveTheStore() async throws {
    let entries = [entry("/a", length: 5), entry("/b", length: 300_000)]
    do {
      let store = try open()
      for entry in entries { try await store.save(entry, bytes(Int(entry.length ?? 0))) }
    }
    let store = try open()
    for entry in entries {
      #expect(try await store.entries(for: entry.key) == [entry])
      #expect(try await store.read(entry) == bytes(Int(entry.length ?? 0)))
    }
  }

  @Test func readingAtOnceReturnsTheSameAsReading() async throws {
    let store = try open()
    let (small, large) = (entry("/small", length: 1000), entry("/large", length: 300_000))
    try await store.save(small, bytes(1000))
    try await store.save(large, bytes(300_000))

    #expect(store.immediateEntries(for: small.key) == [small])
    #expect(store.immediateEntries(for: entry("/missing").key) == [])
    #expect(store.immediateBytes(of: small.id, range: 0..<1000) == bytes(1000))
    #expect(store.immediateBytes(of: small.id, range: 10..<30) == bytes(1000)[10..<30])
    #expect(store.immediateBytes(of: large.id, range: 0..<300_000) == nil, "it has several parts")
    #expect(store.immediateBytes(of: UUID(), range: 0..<1) == nil)
  }

  @Test func aHeadThatWasReadIsReadAgainWhenAnotherStoreHasChangedIt() async throws {
    let (first, second) = (try open(), try open())
    var entry = entry("/", length: 1000)
    try await first.save(entry, bytes(1000))
    for _ in 0..<2 { #expect(first.immediateEntries(for: entry.key) == [entry]) }

    entry.response.head.fields["X-Changed"] = "1"
    entry.response.responseTime += 1
    try await second.update(entry)

    for _ in 0..<2 { #expect(first.immediateEntries(for: entry.key) == [entry]) }
    try await second.remove(.all)
    #expect(first.immediateEntries(for: entry.key) == [])
  }

  /// The waiting lookup opens a new file.
  @Test func readingAtOnceLeavesAFileThatIsGoneToOthers() async throws {
    let store = try open()
    let entry = entry("/", length: 1000)
    try await store.save(entry, bytes(1000))
    for name in try folder.names() { try FileManager.default.removeItem(at: folder.file(name)) }

    #expect(store.immediateEntries(for: entry.key) == nil)
    #expect(store.immediateBytes(of: entry.id, range: 0..<1000) == nil)
    #expect(try await store.entries(for: entry.key) == [])
    #expect(store.immediateEntries(for: entry.key) == [])
  }

  @Test func storesOfOneFileShareEntries() async throws {
    let (first, second) = (try open(), try open())
    let entry = entry("/", length: 300_000)
    try await first.save(entry, bytes(300_000))
    #expect(try await second.read(entry) == bytes(300_000))
    try await second.remove(.all)
    #expect(try await first.entries(for: entry.key) == [])
  }

  @Test func onlyTheOwnerMayReadTheFiles() async throws {
    let store = try open()
    try await store.save(entry("/"), bytes(300_000))
    for name in try folder.names() { #expect(try folder.permissions(of: name) == 0o600, "\(name)") }
  }

  @Test func removedBodiesLeaveNothingBehind() async throws {
    let store = try open()
    for number in 0..<5 { try await store.save(entry("/\(number)"), bytes(300_000)) }
    let aborted = try #require(try await store.begin(entry("/aborted")))
    try await aborted.append(bytes(300_000))
    await aborted.abort()
    try await store.remove(.all)
    try await clean(store)
    #expect(try rows("chunk") == 0)
    #expect(try rows("loose") == 0)
    #expect(try rows("use") == 0)
  }

  @Test func removingEntriesKeepsTheOneThatIsBeingWritten() async throws {
    let store = try open()
    let entry = entry("/", length: 300_000)
    let writer = try #require(try await store.begin(entry))
    try await writer.append(bytes(300_000).prefix(200_000))
    clock.advance(by: 3_600)
    try await store.remove(.all)
    try await writer.append(bytes(300_000).dropFirst(200_000))
    try await writer.commit()
    #expect(try await store.read(entry) == bytes(300_000))
  }

  @Test func aReplacedBodyIsKeptForReadersInOtherProcesses() async throws {
    let (reading, writing) = (try open(), try open())
    let old = entry("/", length: 300_000)
    try await writing.save(old, bytes(300_000))
    let source = try #require(try await reading.open(old.id, range: 0..<300_000))
    try await writing.save(entry("/"), bytes(1))
    #expect(try await source.all() == bytes(300_000))

    clock.advance(by: 61)
    try await clean(writing)
    #expect(try rows("chunk") == 0)
  }

  @Test func readingARemovedBodyThrows() async throws {
    let (reading, writing) = (try open(), try open())
    let old = entry("/", length: 300_000)
    try await writing.save(old, bytes(300_000))
    let source = try #require(try await reading.open(old.id, range: 0..<300_000))
    _ = try await source.next()
    try await writing.remove(.all)
    try await clean(writing)
    await #expect(throws: HTTPError.self) { _ = try await source.all() }
  }

  @Test func chunksOfAnAbandonedWriterAreRemoved() async throws {
    let store = try open()
    do {
      let writer = try #require(try await store.begin(entry("/")))
      try await writer.append(bytes(300_000))
      #expect(try rows("chunk") == 2)
    }
    // The store is notified by another task, at an unknown time.
    while try rows("chunk") > 0 { try await clean(store) }
    #expect(try rows("loose") == 0)
  }

  @Test func aKilledProcessLeavesCompleteEntriesOnly() async throws {
    for round in 0..<6 {
      let process = try OtherProcess("entries", file.path)
      var said = 0
      while said < 1 + round * 3 { said = try #require(process.next()) }
      said = max(said, process.kill() ?? 0)

      let store = try open()
      for path in 0..<10 {
        for entry in try await store.entries(for: key("/\(path)")) {
          let body = try #require(try await store.read(entry))
          #expect(body.count == 300_000)
          #expect(Set(body).count == 1)
          #expect(Int(body[0]) % 10 == path)
        }
      }
      #expect(try await store.entries(for: key("/\(said % 10)")).count == 1)
    }
    clock.advance(by: 601)
    let store = try open()
    try await clean(store)
    #expect(try rows("loose") == 0)
    #expect(try rows("chunk") == 3 * rows("entry"))
    #expect(try await store.usage().entries == rows("entry"))
  }

  @Test func theFileStaysWithinItsCapacityAndShrinks() async throws {
    let store = try open(capacity: 4 << 20)
    for number in 0..<60 { try await store.save(entry("/\(number)"), bytes(400_000)) }
    try await clean(store)
    try RawDatabase.run("PRAGMA wal_checkpoint(TRUNCATE)", on: file)
    #expect(try size() < 8 << 20)

    try await store.remove(.all)
    try await store.file.cleanUp()
    try RawDatabase.run("PRAGMA wal_checkpoint(TRUNCATE)", on: file)
    #expect(try size() < 5 << 20)
  }

  @Test func aFileThatWasDeletedIsMadeAgainByAWriteAndNotByACleanUp() async throws {
    let store = try open()
    try await store.save(entry("/", length: 10), bytes(10))
    // The first clean-up may still open the file, and would make it again.
    try await until { !store.file.isCleaningUp }
    try FileManager.default.removeItem(at: folder.url)

    await #expect(throws: HTTPError.self) { try await store.file.cleanUp() }
    #expect(!FileManager.default.fileExists(atPath: folder.url.path))

    try await store.save(entry("/", length: 10), bytes(10))
    #expect(try await store.entries(for: key("/")).count == 1)
    #expect(FileManager.default.fileExists(atPath: file.path))
  }

  @Test(arguments: [131_071, 131_072, 131_073, 262_144, 3_000_000])
  func bodiesAreStoredTheSameInOneOrManyPieces(_ size: Int) async throws {
    let store = try open(capacity: 100 << 20)
    let entry = entry("/", length: Int64(size))
    let writer = try #require(try await store.begin(entry))
    try await writer.append(bytes(size))
    try await writer.commit()
    #expect(try await store.read(entry) == bytes(size))
    #expect(try rows("chunk") == (size > 131_072 ? (size + 131_071) / 131_072 : 0))
  }

  @Test func bodiesThatAreBeingWrittenCount() async throws {
    let store = try open(capacity: 1_000_000)
    var writers: [any CacheWriter] = []
    await #expect(throws: CacheEntry.Refusal.self) {
      for number in 0..<10 {
        let writer = try #require(try await store.begin(entry("/\(number)")))
        writers.append(writer)
        try await writer.append(bytes(250_000))
      }
    }
    #expect(writers.count > 5)
    for writer in writers { await writer.abort() }
    writers = []
    try await clean(store)
    #expect(try rows("chunk") == 0)
  }

  @Test func damageAffectsOnlyTheDamagedEntries() async throws {
    do {
      let store = try open()
      for number in 0..<50 { try await store.save(entry("/\(number)"), bytes(50_000)) }
    }
    try RawDatabase.run("PRAGMA wal_checkpoint(TRUNCATE)", on: file)
    let handle = try FileHandle(forUpdating: file)
    try handle.seek(toOffset: 65_536)
    try handle.write(contentsOf: Data(repeating: 0xEE, count: 400_000))
    try handle.close()

    let store = try open()
    for number in 0..<50 {
      for entry in try await store.entries(for: key("/\(number)")) { _ = try await store.read(entry) }
    }
    try await store.save(entry("/new", length: 300_000), bytes(300_000))
    #expect(try await store.entries(for: key("/new")).count == 1)
  }

  @Test(arguments: CacheStatement.allCases) func everyStatementUsesAnIndex(_ statement: CacheStatement) async throws {
    _ = try open()
    // The single row of `state` needs no index, and removing all entries scans all.
    guard statement != .removeAll else { return }
    let text = statement.rawValue.replacing(#/\?[0-9]*/#, with: "NULL")
    for line in try RawDatabase.run("EXPLAIN QUERY PLAN \(text)", on: file) where line.contains("SCAN") {
      #expect(
        line.contains("USING INDEX") || line.contains("USING COVERING INDEX") || line.contains("SCAN state"), "\(line)")
    }
  }

  /// Deletes the data that is due.
  private func clean(_ store: SQLiteCacheStore) async throws {
    try await store.file.cleanUp()
  }

  private func rows(_ table: String) throws -> Int {
    Int(try RawDatabase.run("SELECT count(*) FROM \(table)", on: file).first ?? "") ?? -1
  }

  private func size() throws -> Int { try Data(contentsOf: file, options: .alwaysMapped).count }

  /// A wall clock that a test sets.
  final class Clock: Sendable {
    private let offset = Mutex(0.0)
    var now: Date { Date().addingTimeInterval(offset.withLock { $0 }) }
    func advance(by seconds: Double) { offset.withLock { $0 += seconds } }
  }
}
