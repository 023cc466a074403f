import Foundation
import MartletEngine
@_spi(Stores) import MartletSQLite
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// The file of a store, tested with the key-value store.
@Suite(.timeLimit(.minutes(5)))
struct FileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func valuesAreKeptAfterOpeningAgain() async throws {
    do { try await open().set(Data([1]), for: "a") }
    #expect(try await open().value(for: "a") == Data([1]))
  }

  @Test func twoStoresOfOneFileShareValues() async throws {
    let (first, second) = (try open(), try open())
    try await first.set(Data([1]), for: "a")
    #expect(try await second.value(for: "a") == Data([1]))
    try await second.removeAll()
    #expect(try await first.value(for: "a") == nil)
  }

  @Test func onlyTheOwnerMayUseNewFolders() async throws {
    let store = try SQLiteKeyValueStore(at: folder.file("a/b/values.sqlite"))
    try await store.set(Data([1]), for: "a")
    #expect(try folder.permissions(of: "a") == 0o700)
    #expect(try folder.permissions(of: "a/b") == 0o700)
  }

  @Test func onlyTheOwnerMayReadTheFiles() async throws {
    let store = try open()
    try await store.set(Data([1]), for: "a")
    for name in ["values.sqlite", "values.sqlite-wal", "values.sqlite-shm"] {
      #expect(try folder.permissions(of: name) == 0o600, "\(name)")
    }
  }

  @Test func permissionsOfOthersAreRemoved() async throws {
    do { try await open().set(Data([1]), for: "a") }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("values.sqlite").path)
    let store = try open()
    #expect(try await store.value(for: "a") == Data([1]))
    #expect(try folder.permissions(of: "values.sqlite") == 0o600)
  }

  @Test func theFileShrinksAfterManyValuesAreRemoved() async throws {
    let store = try open()
    for number in 0..<5 { try await store.set(Data(count: 1 << 20), for: "\(number)") }
    try await store.removeAll()
    try sqlite("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try Data(contentsOf: folder.file("values.sqlite")).count < 100_000)
  }

  @Test func removedValuesAreOverwritten() async throws {
    let secret = Data(String(repeating: "TheSecret", count: 1_000).utf8)
    do {
      let store = try open()
      try await store.set(secret, for: "a")
      try await store.removeValue(for: "a")
    }
    try sqlite("PRAGMA wal_checkpoint(TRUNCATE)")
    let bytes = try Data(contentsOf: folder.file("values.sqlite"))
    #expect(bytes.range(of: Data("TheSecret".utf8)) == nil)
  }

  /// A file that begins as a database, and is none after that.
  private static let damaged = Data("SQLite format 3\0".utf8) + Data(repeating: 0xA5, count: 9_000)

  @Test func aFileThatBeginsAsADatabaseIsSetAsideIfItIsDamaged() async throws {
    try Self.damaged.write(to: folder.file("values.sqlite"))
    let warnings = Log<SetAsideFile>()
    let store = try open(warnings)
    try await store.set(Data([1]), for: "a")
    #expect(try await store.value(for: "a") == Data([1]))
    #expect(warnings.entries.map(\.reason) == [.damaged])
    #expect(warnings.entries.map(\.movedTo.lastPathComponent) == ["values.sqlite.damaged-1"])
    #expect(try Data(contentsOf: folder.file("values.sqlite.damaged-1")) == Self.damaged)
    #expect(warnings.entries.first?.description.contains("values.sqlite.damaged-1") == true)
  }

  /// The user's text, or another program's file, whose path was given to a store by mistake.
  @Test(
    arguments: [
      Data("x".utf8), Data("127.0.0.1 localhost\n".utf8), Data(repeating: 0xA5, count: 9_000), Data(count: 5_000),
    ], [false, true])
  func aFileThatIsNoDatabaseIsLeftAsItIs(_ content: Data, isLinked: Bool) async throws {
    let file = try folder.write(content, to: isLinked ? "theirs" : "values.sqlite")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    if isLinked {
      try FileManager.default.createSymbolicLink(at: folder.file("values.sqlite"), withDestinationURL: file)
    }
    let names = try folder.names()

    let error = #expect(throws: HTTPError.self) { try open() }

    #expect(error?.kind == .file)
    #expect(error?.message.contains("'\(file.path)'") == true)
    #expect(error?.message.contains("is not a SQLite database") == true)
    #expect(try folder.names() == names)
    #expect(try Data(contentsOf: file) == content)
    #expect(try folder.permissions(of: file.lastPathComponent) == 0o644)
  }

  @Test func whatIsNotARegularFileIsNoStore() throws {
    let pipe = folder.file("values.sqlite")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let error = #expect(throws: HTTPError.self) { try open() }
    #expect(error?.message.contains("'\(pipe.path)' is not a regular file") == true)
    #expect(try folder.names() == ["values.sqlite"])
  }

  @Test(arguments: ["", "-wal"])
  func settingAsideDoesNotReplaceALink(_ companion: String) async throws {
    try Self.damaged.write(to: folder.file("values.sqlite"))
    let link = folder.file("values.sqlite.damaged-1" + companion)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file("nowhere"))
    let warnings = Log<SetAsideFile>()

    _ = try open(warnings)

    #expect(warnings.entries.map(\.movedTo.lastPathComponent) == ["values.sqlite.damaged-2"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == folder.file("nowhere").path)
  }

  @Test func theTargetOfALinkInPlaceOfTheJournalKeepsItsPermissions() async throws {
    do { try await open().set(Data([1]), for: "a") }
    try folder.write(Data("another's".utf8), to: "other")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("other").path)
    try? FileManager.default.removeItem(at: folder.file("values.sqlite-shm"))
    try FileManager.default.createSymbolicLink(
      at: folder.file("values.sqlite-shm"), withDestinationURL: folder.file("other"))

    _ = try? open()

    #expect(try folder.permissions(of: "other") == 0o644)
  }

  @Test func aSymbolicLinkLeadsToTheFileAndWhatIsBesideIt() async throws {
    try folder.write(Data(), to: "elsewhere/real.sqlite")
    try FileManager.default.createSymbolicLink(
      at: folder.file("values.sqlite"), withDestinationURL: folder.file("elsewhere/real.sqlite"))

    let store = try open()
    try await store.set(Data([1]), for: "a")

    #expect(try folder.permissions(of: "elsewhere/real.sqlite-wal") == 0o600)
    #expect(try folder.names() == ["elsewhere", "values.sqlite"])
    #expect(try await store.keys() == ["a"])
  }

  /// The link may be a mistake: the database of another program would vanish from its place.
  @Test(arguments: [true, false]) func aFileThatALinkLeadsToIsNotSetAside(isDamaged: Bool) async throws {
    if isDamaged {
      try Self.damaged.write(to: folder.file("theirs"))
    } else {
      try RawDatabase.run("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)", on: folder.file("theirs"))
    }
    let content = try Data(contentsOf: folder.file("theirs"))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("theirs").path)
    try FileManager.default.createSymbolicLink(
      at: folder.file("values.sqlite"), withDestinationURL: folder.file("theirs"))

    let error = #expect(throws: HTTPError.self) { try open() }

    #expect(error?.kind == .file)
    #expect(error?.message.contains("'\(folder.file("values.sqlite").path)', a link to") == true)
    #expect(try folder.names() == ["theirs", "values.sqlite"])
    #expect(try Data(contentsOf: folder.file("theirs")) == content)
    #expect(try folder.permissions(of: "theirs") == 0o644)
  }

  @Test func everyDamagedFileIsKept() async throws {
    for number in 1...3 {
      for name in try folder.names() where !name.contains("damaged") {
        try FileManager.default.removeItem(at: folder.file(name))
      }
      let content = Self.damaged + Data([UInt8(number)])
      try content.write(to: folder.file("values.sqlite"))
      _ = try open()
      #expect(try Data(contentsOf: folder.file("values.sqlite.damaged-\(number)")) == content)
    }
  }

  @Test func anotherApplicationsDatabaseIsSetAside() async throws {
    try sqlite("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);")
    let warnings = Log<SetAsideFile>()
    let store = try open(warnings)
    #expect(try await store.keys() == [])
    #expect(warnings.entries.map(\.reason) == [.foreign])
    #expect(try folder.names().contains("values.sqlite.foreign-1"))
  }

  @Test func aStoreOfAnotherKindIsSetAside() async throws {
    _ = try SQLiteCookieStore(at: folder.file("values.sqlite"))
    let warnings = Log<SetAsideFile>()
    _ = try open(warnings)
    #expect(warnings.entries.map(\.reason) == [.foreign])
  }

  @Test func aFileOfALaterVersionIsSetAside() async throws {
    do { try await open().set(Data([1]), for: "a") }
    try sqlite("PRAGMA user_version = 1000;")
    let warnings = Log<SetAsideFile>()
    let store = try open(warnings)
    #expect(try await store.keys() == [])
    #expect(warnings.entries.map(\.reason) == [.newer])
  }

  @Test func aFileWithoutItsTablesIsSetAside() async throws {
    do { _ = try open() }
    try sqlite("DROP TABLE entry;")
    let warnings = Log<SetAsideFile>()
    let store = try open(warnings)
    #expect(try await store.keys() == [])
    #expect(warnings.entries.map(\.reason) == [.damaged])
  }

  @Test func damageFoundWhileReadingIsRepaired() async throws {
    let warnings = Log<SetAsideFile>()
    try await writeDamagedFile()
    let store = try open(warnings)
    #expect(try await store.value(for: "150") == nil)
    #expect(warnings.entries.map(\.reason) == [.damaged])
    try await store.set(Data([1]), for: "a")
    #expect(try await store.keys() == ["a"])
  }

  @Test func damageFoundWhileWritingIsRepaired() async throws {
    let warnings = Log<SetAsideFile>()
    try await writeDamagedFile()
    let store = try open(warnings)
    try await store.set(Data([1]), for: "a")
    #expect(try await store.keys() == ["a"])
    #expect(warnings.entries.map(\.reason) == [.damaged])
  }

  @Test func storesThatFindTheSameDamageShareTheNewFile() async throws {
    let warnings = Log<SetAsideFile>()
    try await writeDamagedFile()
    let stores = [try open(warnings), try open(warnings), try open(warnings)]
    for (number, store) in stores.enumerated() { try await store.set(Data([1]), for: "key \(number)") }
    for store in stores { #expect(try await store.keys() == ["key 0", "key 1", "key 2"]) }
    #expect(warnings.entries.count == 1)
    #expect(try await open().keys().count == 3)
  }

  @Test func processesThatFindTheSameDamageShareTheNewFile() async throws {
    try Self.damaged.write(to: folder.file("values.sqlite"))
    let path = folder.file("values.sqlite").path
    let others = try (1...3).map { try OtherProcess("value", path, "key \($0)", "x") }
    let store = try open()
    try await store.set(Data([1]), for: "key 0")
    for other in others { #expect(other.end()) }
    #expect(try await open().keys() == ["key 0", "key 1", "key 2", "key 3"])
    #expect(try folder.names().filter { $0.contains("damaged") } == ["values.sqlite.damaged-1"])
  }

  @Test func closingAStoreWhoseFileWasSetAsideDoesNotChangeTheNewFile() async throws {
    var old: SQLiteKeyValueStore? = try open()
    try await old?.set(Data([1]), for: "old")
    try sqlite("PRAGMA user_version = 1000")
    let new = try open()
    try await new.set(Data([1]), for: "new")

    // The last connection to a file writes the journal back and removes it, by name.
    old = nil

    try await new.set(Data([2]), for: "newer")
    #expect(try await open().keys() == ["new", "newer"])
    #expect(try RawDatabase.run("PRAGMA integrity_check", on: folder.file("values.sqlite")) == ["ok"])
    let aside = try RawDatabase.run("SELECT key FROM entry", on: folder.file("values.sqlite.newer-1"))
    #expect(aside == ["old"])
  }

  @Test func valuesWrittenAfterTheFilesWereDeletedAreKept() async throws {
    let store = try open()
    try await store.set(Data([1]), for: "old")
    for name in try folder.names() { try FileManager.default.removeItem(at: folder.file(name)) }

    try await store.set(Data([2]), for: "new")

    #expect(try await store.keys() == ["new"])
    #expect(try await open().keys() == ["new"])
    #expect(try RawDatabase.run("SELECT key FROM entry", on: folder.file("values.sqlite")) == ["new"])
  }

  @Test func valuesOfDeletedFilesAreNotRead() async throws {
    let store = try open()
    try await store.set(Data([1]), for: "old")
    for name in try folder.names() { try FileManager.default.removeItem(at: folder.file(name)) }

    #expect(try await store.value(for: "old") == nil)
    try await store.set(Data([2]), for: "new")
    #expect(try await open().keys() == ["new"])
  }

  @Test func synchronousCallsNoticeDeletedFiles() async throws {
    let store = try open()
    try store.blockingSet(Data([1]), for: "old")
    #expect(try store.blockingValue(for: "old") == Data([1]))
    for name in try folder.names() { try FileManager.default.removeItem(at: folder.file(name)) }

    #expect(try store.blockingValue(for: "old") == nil)
    for name in try folder.names() { try FileManager.default.removeItem(at: folder.file(name)) }
    try store.blockingSet(Data([2]), for: "new")
    #expect(try await store.value(for: "new") == Data([2]))
    #expect(try open().blockingKeys() == ["new"])
  }

  @Test func aStoreWhoseFileWasSetAsideUsesTheNewOne() async throws {
    let old = try open()
    try await old.set(Data([1]), for: "old")
    try sqlite("PRAGMA user_version = 1000")
    let new = try open()
    try await new.set(Data([1]), for: "new")
    #expect(try await old.keys() == ["new"])
    try await old.set(Data([2]), for: "from the old one")
    #expect(try await new.keys() == ["from the old one", "new"])
  }

  @Test func manyStoresMayOpenANewFileAtOnce() async throws {
    let folder = folder
    try await withThrowingTaskGroup { group in
      for number in 0..<8 {
        group.addTask {
          let store = try SQLiteKeyValueStore(at: folder.file("values.sqlite"))
          try await store.set(Data([1]), for: "\(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(try await open().keys().count == 8)
  }

  @Test func aFolderThatCannotBeCreatedIsAnError() throws {
    try Data().write(to: folder.file("file"))
    let error = #expect(throws: HTTPError.self) { try SQLiteKeyValueStore(at: folder.file("file/values.sqlite")) }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("file") == true)
  }

  @Test func aFolderInPlaceOfTheFileIsAnError() throws {
    try FileManager.default.createDirectory(at: folder.file("values.sqlite"), withIntermediateDirectories: true)
    let error = #expect(throws: HTTPError.self) { try open() }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("values.sqlite' is not a regular file") == true)
    #expect(try folder.permissions(of: "values.sqlite") & 0o100 != 0, "permissions of folders are not changed")
  }

  @Test func aRemoteURLIsAnError() throws {
    let url = try #require(URL(string: "https://user:secret@example.com/values"))
    let error = #expect(throws: HTTPError.self) { try SQLiteKeyValueStore(at: url) }
    #expect(error?.message.contains("secret") == false)
  }

  private func open(_ warnings: Log<SetAsideFile>? = nil) throws -> SQLiteKeyValueStore {
    try SQLiteKeyValueStore(at: folder.file("values.sqlite")) { warnings?.append($0) }
  }

  /// Writes a store's file and then overwrites some of its pages.
  private func writeDamagedFile() async throws {
    do {
      let store = try open()
      for number in 0..<200 { try await store.set(Data(repeating: 1, count: 2_000), for: "\(number)") }
    }
    try overwritePages()
  }

  private func sqlite(_ script: String) throws {
    try RawDatabase.run(script, on: folder.file("values.sqlite"))
  }

  /// Overwrites everything after the header and the schema.
  private func overwritePages() throws {
    let file = try FileHandle(forUpdating: folder.file("values.sqlite"))
    let end = try file.seekToEnd()
    try file.seek(toOffset: 4_096)
    try file.write(contentsOf: Data(repeating: 0xFF, count: Int(end) - 4_096))
    try file.close()
  }
}
