import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSQLite

/// A full disk, simulated in a separate process by a limit for the size of files.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func storesOnAFullDiskCanBeReadAndWorkAgainWhenItHasRoom() async throws {
    try await fillStores()

    let lines = try run("full", folder.url.path)

    try #require(lines.count == 16, "\(lines)")
    #expect(lines[0] == "value 1")
    #expect(lines[3] == "cookies [\"1\"]")
    #expect(lines[5] == "responses 1")
    for (line, file) in [
      (1, "values.sqlite"), (2, "values.sqlite"), (4, "cookies.sqlite"), (6, "cache.sqlite"), (7, "new/values.sqlite"),
    ] {
      #expect(lines[line].contains("failed: '\(folder.file(file).path)' cannot grow: the disk "), "\(lines[line])")
      #expect(lines[line].contains("free space on it"), "\(lines[line])")
    }
    #expect(lines[8...].allSatisfy { !$0.contains("failed") }, "\(lines[8...])")
    #expect(try await SQLiteKeyValueStore(at: folder.file("values.sqlite")).keys() == ["a", "b", "c"])
    #expect(try await SQLiteCookieStore(at: folder.file("cookies.sqlite")).count() == 2)
    #expect(try await SQLiteKeyValueStore(at: folder.file("new/values.sqlite")).keys() == ["a"])
  }

  /// The commits of a killed process are only in the journal.
  @Test func aJournalOnAFullDiskIsRead() async throws {
    let process = try OtherProcess("pairs", folder.file("cookies.sqlite").path)
    while try #require(process.next()) < 3 {}
    process.kill()

    let lines = try run("full", folder.url.path)

    try #require(lines.count == 16, "\(lines)")
    #expect(lines[3].wholeMatch(of: #/cookies \["[0-9]+", "[0-9]+"\]/#) != nil, "\(lines[3])")
  }

  @Test(arguments: [700_000, 2_000_000, 5_000_000])
  func aCacheThatIsLargerThanItsDiskKeepsStoring(_ limit: Int) async throws {
    let lines = try run("fill", folder.file("cache.sqlite").path, String(limit))

    try #require(lines.count == 3, "\(lines)")
    let stored = try #require(Int(lines[0].dropFirst("stored ".count)))
    #expect(stored > 50)
    #expect(lines[1].hasPrefix("remove ()"))
    #expect(lines[2] == "usage 0")
    let sizes = try folder.names().map { try Data(contentsOf: folder.file($0)).count }
    #expect(sizes.reduce(0, +) < 200_000, "\(sizes)")
  }

  /// A capacity of 100 bytes, of which 90 are stored, on a disk that must keep some free space.
  @Test(
    arguments: [
      (unused: 0, free: DiskReserve.size, limit: 100), (unused: 0, free: DiskReserve.size - 1, limit: 89),
      (unused: 1, free: DiskReserve.size - 1, limit: 100), (unused: 5, free: DiskReserve.size - 25, limit: 70),
      (unused: 0, free: 0, limit: 0), (unused: DiskReserve.size, free: 0, limit: 100),
    ] as [(unused: Int64, free: Int64, limit: Int64)])
  func aCacheLeavesRoomOnItsDisk(_ disk: (unused: Int64, free: Int64, limit: Int64)) {
    #expect(DiskReserve.limit(capacity: 100, stored: 90, unused: disk.unused, free: disk.free) == disk.limit)
  }

  @Test func theJournalOfACacheStaysSmallWhileAnotherProgramReads() async throws {
    let store = try SQLiteCacheStore(at: folder.file("cache.sqlite"))
    try await store.save(entry("/"), bytes(300_000))
    let journal = folder.file("cache.sqlite-wal")
    do {
      let reader = try OpenRead(folder.file("cache.sqlite"))
      let begun = try #require(try await store.begin(entry("/begun")))
      for number in 0..<60 { try? await store.save(entry("/\(number)"), bytes(300_000)) }
      #expect(try await store.begin(entry("/refused")) == nil)
      let error = await #expect(throws: HTTPError.self) { try await begun.append(bytes(300_000)) }
      #expect(error?.message.contains("end the program that reads the file") == true, "\(error?.message ?? "")")
      #expect(try Data(contentsOf: journal).count < 10 << 20)
      withExtendedLifetime(reader) {}
    }
    try await store.remove(.partition("other"))
    try await store.save(entry("/last"), bytes(300_000))
    #expect(try await store.entries(for: key("/last")).count == 1)
    #expect(try Data(contentsOf: journal).count < 3 << 20)
  }

  private func fillStores() async throws {
    try await SQLiteKeyValueStore(at: folder.file("values.sqlite")).set(Data("1".utf8), for: "a")
    try await SQLiteCookieStore(at: folder.file("cookies.sqlite")).update("example.com") {
      $0 = [Cookie(name: "a", value: "1", domain: "example.com", expires: .distantFuture)]
    }
    try await SQLiteCacheStore(at: folder.file("cache.sqlite")).save(entry("/"), bytes(300_000))
  }

  #if os(Linux)
  /// A limit of descriptors is no limit of the disk: idle connections of a transport give way to the file, its journal
  /// and their shared memory.
  @Test func aStoreTakesTheDescriptorsThatOthersCanSpare() throws {
    #expect(try run("descriptors", folder.url.path) == ["first none", "second first"])
  }
  #endif

  /// Runs the program of the tests, and returns the lines that it printed.
  private func run(_ arguments: String...) throws -> [String] {
    let process = try ChildProcess(try builtProgram("sqlite-writer"), arguments, output: .readWithErrors)
    let output = String(decoding: process.readToEnd(), as: UTF8.self)
    #expect(process.succeeds(), "\(output)")
    return output.split(separator: "\n").map(String.init)
  }
}
