import CSQLite
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@testable import MartletSQLite

@Suite(.timeLimit(.minutes(5)))
struct SchemaTests {
  private let folder: TemporaryFolder
  private let application: Int32 = 0x7465_7374

  init() throws { folder = try TemporaryFolder() }

  private func open(_ schema: Schema) throws -> Database {
    try Database(at: folder.file("test.sqlite"), schema, onSetAside: { Issue.record("\($0)") })
  }

  @Test func aFileOfAnEarlierVersionIsMigratedWithItsContent() async throws {
    let first = "CREATE TABLE thing (name TEXT)"
    do {
      try await open(Schema(application: application, steps: [first])).write {
        try $0.run("INSERT INTO thing VALUES (?)", [.text("a")])
      }
    }
    for _ in 0..<2 {
      let second = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 7"
      let database = try open(Schema(application: application, steps: [first, second]))
      let found = try await database.read {
        try $0.all("SELECT name, size FROM thing") { [$0.text(0), "\($0.integer(1))"] }
      }
      #expect(found == [["a", "7"]])
    }
  }

  @Test func aStepThatFailsChangesNothing() async throws {
    let first = "CREATE TABLE thing (name TEXT)"
    do { _ = try open(Schema(application: application, steps: [first])) }
    #expect(throws: HTTPError.self) {
      try open(Schema(application: application, steps: [first, "CREATE TABLE other (x); SELECT * FROM nowhere"]))
    }
    let tables = try RawDatabase.run("SELECT name FROM sqlite_master", on: folder.file("test.sqlite"))
    #expect(tables == ["thing"])
    #expect(try RawDatabase.run("PRAGMA user_version", on: folder.file("test.sqlite")) == ["1"])
  }

  @Test func aTransactionThatThrowsChangesNothing() async throws {
    struct Sorry: Error {}
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (name TEXT)"]))
    await #expect(throws: HTTPError.self) {
      try await database.write { connection in
        try connection.run("INSERT INTO thing VALUES ('a')")
        throw Sorry()
      }
    }
    let count = try await database.read { try $0.first("SELECT count(*) FROM thing") { $0.integer(0) } }
    #expect(count == 0)
    try await database.write { try $0.run("INSERT INTO thing VALUES ('b')") }
  }

  @Test func aStatementThatFailsOnceDoesNotReplaceTheFile() async throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (name TEXT UNIQUE)"]))
    try await database.write { try $0.run("INSERT INTO thing VALUES ('a')") }
    let runs = Atomic(0)

    try await database.write { connection in
      let isFirst = runs.add(1, ordering: .relaxed).oldValue == 0
      try connection.run("INSERT INTO thing VALUES (?)", [.text(isFirst ? "a" : "b")])
    }

    let names = try await database.read { try $0.all("SELECT name FROM thing ORDER BY name") { $0.text(0) } }
    #expect(names == ["a", "b"])
  }

  @Test func anotherConnectionDoesNotCheckTheFileAgain() async throws {
    var schema = Schema(application: application, steps: ["CREATE TABLE thing (name TEXT)"])
    schema.opening = "INSERT INTO thing VALUES ('opened')"
    let database = try open(schema)
    try await database.write { try $0.run("INSERT INTO thing VALUES ('first')") }
    try database.blockingWrite { try $0.run("INSERT INTO thing VALUES ('second')") }
    let names = try await database.read { try $0.all("SELECT name FROM thing") { $0.text(0) } }
    #expect(names == ["opened", "first", "second"])
  }

  @Test func anUnchangedFileIsReadAgainOnDemandOnly() throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (name TEXT)"]))
    let watch = FileWatch()
    #expect(try database.blockingRead(ifChangedSince: watch) { _ in 1 } == 1)
    #expect(try database.blockingRead(ifChangedSince: watch) { _ in 1 } == nil)
    #expect(try database.blockingRead(ifChangedSince: watch, always: true) { _ in 1 } == 1)
  }

  /// SQLite returns no pages of a file without `auto_vacuum`.
  @Test func shrinkingEndsIfThereIsNoProgress() async throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (content BLOB)"]))
    try await database.write { try $0.run("INSERT INTO thing VALUES (zeroblob(8000000))") }
    try await database.write { try $0.run("DELETE FROM thing") }
    let free = try await database.read { try $0.pages().free }
    #expect(free > 1_024)
    try await database.shrink()
    #expect(try await database.read { try $0.pages().free } == free)
  }

  /// A store that writes on callers' threads has no other connection that would keep a deleted file on the disk.
  @Test func removingEverythingFromAFullDiskFreesItsSpace() throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (content BLOB)"]))
    try database.blockingWrite { try $0.run("INSERT INTO thing VALUES (zeroblob(100000))") }
    try database.blockingRemoveAll { _ in throw SQLiteFailure(of: nil, code: SQLITE_FULL) }
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let files = descriptors.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    #expect(files.filter { $0.contains(folder.url.lastPathComponent) } == [])
    withExtendedLifetime(database) {}
  }

  @Test func theNumberOfABodyIsUnique() throws {
    let connection = try DatabaseConnection()
    for step in CacheStatement.schema.steps { try connection.script(step) }
    let table = CacheTable(connection)
    try connection.run("INSERT INTO chunk (place, bytes) VALUES (?, x'00')", [.integer(CacheStatement.chunkKey(7, 3))])
    try connection.run("INSERT INTO loose (body, owner, size, due) VALUES (8, x'00', 0, 0)")
    var numbers: [Int64] = [7, 8, 9]
    #expect(try table.beginBody(of: UUID(), due: Date()) { numbers.removeFirst() } == 9)
  }

  @Test func readingCannotWrite() async throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (name TEXT)"]))
    await #expect(throws: HTTPError.self) {
      try await database.read { try $0.run("INSERT INTO thing VALUES ('a')") }
    }
  }

  @Test func theFileHasAWriteAheadLog() async throws {
    let database = try open(Schema(application: application, steps: ["CREATE TABLE thing (name TEXT)"]))
    let mode = try await database.read { try $0.first("PRAGMA journal_mode") { $0.text(0) } }
    #expect(mode == "wal")
  }

  @Test(arguments: [
    (SQLITE_FULL, "free space"), (SQLITE_BUSY, "another process"), (SQLITE_READONLY, "writable"),
    (SQLITE_CANTOPEN, "folder"), (SQLITE_TOOBIG, "size"), (SQLITE_IOERR, "disk"), (SQLITE_CORRUPT, "remove it"),
    (SQLITE_IOERR | 3 << 8, "disk"), (SQLITE_ERROR, "cannot be used"),
  ])
  func errorsNameTheFileAndTheRemedy(_ code: Int32, remedy: String) {
    let error = SQLiteFailure(of: nil, code: code).error(file: "/some/file")
    #expect(error.kind == .file)
    #expect(error.message.hasPrefix("'/some/file' "))
    #expect(error.message.contains(remedy))
  }
}
