import Foundation
import MartletEngine
import MartletSQLite
import MartletTesting
import Testing

#if canImport(Glibc)
import Glibc

/// A file that the system opens for reading only, although the process has the permission to write: the user ID for
/// file access is changed temporarily, which only the superuser can do.
@Suite(.enabled(if: geteuid() == 0), .timeLimit(.minutes(5)))
struct ReadOnlyFileTests {
  private typealias SetUser = @convention(c) (UInt32) -> Int32

  @Test func aReadOnlyFileIsNotDamage() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("values.sqlite")
    do { try await SQLiteKeyValueStore(at: file).set(Data([1]), for: "a") }
    let root = file.deletingLastPathComponent().path
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: root)
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file.path)
    let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)

    let error = #expect(throws: HTTPError.self) {
      _ = setUser(65_534)
      defer { _ = setUser(0) }
      _ = try SQLiteKeyValueStore(at: file, onSetAside: { Issue.record("\($0)") })
    }

    #expect(error?.message.contains("cannot be written") == true, "\(error?.message ?? "")")
    #expect(try await SQLiteKeyValueStore(at: file).value(for: "a") == Data([1]))
  }
}
#endif
