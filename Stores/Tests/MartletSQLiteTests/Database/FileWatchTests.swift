import Foundation
@testable import MartletSQLite
import MartletTesting
import Testing

/// A watch notices the commits of others, and takes those of its own process as known.
@Suite(.timeLimit(.minutes(5)))
struct FileWatchTests {
  private let folder: TemporaryFolder
  private let database: Database
  private let watch = FileWatch()

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(at: folder.file("cookies.sqlite"), CookieTable.schema) { _ in }
  }

  /// Whether the watch reads the file again.
  private func readsAgain() throws -> Bool { try database.blockingRead(ifChangedSince: watch) { _ in true } ?? false }

  private func signOut(committed: (DatabaseConnection, Int64?) -> Void = { _, _ in }) throws {
    _ = try database.blockingWrite(committed: committed) { connection in
      let isCurrent = database.isCurrent(watch)
      try CookieTable(connection).noteSignOut(of: 1)
      return isCurrent ? try connection.dataVersion() : nil
    }
  }

  private func signOutElsewhere() throws {
    try RawDatabase.run("INSERT OR REPLACE INTO sign_out VALUES (2, random())", on: folder.file("cookies.sqlite"))
  }

  /// Returns whether the commit was taken as known.
  private func adopt(_ connection: DatabaseConnection, _ version: Int64?) -> Bool {
    guard let version else { return false }
    var isAdopted = false
    database.adopt(in: watch, unless: { (try? connection.dataVersion()) != version }) { isAdopted = true }
    return isAdopted
  }

  @Test func anAdoptedCommitIsNotReadAgain() throws {
    #expect(try readsAgain(), "the first read")
    #expect(try !readsAgain())

    var isAdopted = false
    try signOut { isAdopted = adopt($0, $1) }

    #expect(isAdopted)
    #expect(try !readsAgain())
  }

  @Test func aCommitThatIsNotAdoptedIsReadAgain() throws {
    _ = try readsAgain()

    try signOut()

    #expect(try readsAgain())
  }

  @Test func nothingIsAdoptedIfOthersCommittedBefore() throws {
    _ = try readsAgain()
    try signOutElsewhere()

    var isAdopted = false
    try signOut { isAdopted = adopt($0, $1) }

    #expect(!isAdopted)
    #expect(try readsAgain())
  }

  @Test func nothingIsAdoptedIfOthersCommittedAfterwards() throws {
    _ = try readsAgain()

    var isAdopted = false
    try signOut { connection, version in
      try? signOutElsewhere()
      isAdopted = adopt(connection, version)
    }

    #expect(!isAdopted)
    #expect(try readsAgain())
  }

  @Test func nothingIsAdoptedBeforeTheFirstRead() throws {
    var isAdopted = false
    try signOut { isAdopted = adopt($0, $1) }

    #expect(!isAdopted)
    #expect(try readsAgain())
  }
}
