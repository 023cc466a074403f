import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import Testing

/// Files of earlier versions. `Fixtures/version-1` has no checksums, and stores bodies in the form that the transport
/// had decoded.
@Suite(.timeLimit(.minutes(5)))
struct EarlierVersionTests {
  private let folder: TemporaryFolder
  private let time = Date(timeIntervalSince1970: 1_750_000_000)

  init() throws { folder = try TemporaryFolder() }

  /// Returns a copy of a fixture, which the store may change.
  private func file(_ name: String) throws -> URL {
    let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.file(name)
    try Data(contentsOf: fixtures.appending(path: "Fixtures/version-1/\(name)")).write(to: file)
    return file
  }

  @Test func valuesOfTheFirstVersionAreReadAndReplaced() async throws {
    let file = try file("values.sqlite")
    for _ in 0..<2 {
      let store = try SQLiteKeyValueStore(at: file, onSetAside: { Issue.record("\($0)") })
      #expect(try await store.keys() == ["first", "second"])
      #expect(try await store.value(for: "second") == Data(repeating: 7, count: 5_000))
      try await store.set(Data("two".utf8), for: "first")
      #expect(try await store.value(for: "first") == Data("two".utf8))
    }
  }

  @Test func valuesThatAProcessOfTheFirstVersionWritesAreRead() async throws {
    let (values, cookies) = (folder.file("new-values.sqlite"), folder.file("new-cookies.sqlite"))
    let store = try SQLiteKeyValueStore(at: values, onSetAside: { Issue.record("\($0)") })
    try await store.set(Data("one".utf8), for: "first")
    try RawDatabase.run(
      """
      INSERT INTO entry (key, value) VALUES ('first', CAST('two' AS BLOB))
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """, on: values)
    #expect(try await store.value(for: "first") == Data("two".utf8))
    try await store.set(Data("two".utf8), for: "first")
    try await store.set(Data("two".utf8), for: "first")
    #expect(try RawDatabase.run("SELECT count(*) FROM entry WHERE value_sum IS NULL", on: values) == ["0"])

    let jar = try SQLiteCookieStore(at: cookies, onSetAside: { Issue.record("\($0)") })
    try await jar.update("example.com") {
      $0 = [Cookie(name: "a", value: "1", domain: "example.com", path: "/", expires: .distantFuture, created: time)]
    }
    try RawDatabase.run("UPDATE cookie SET value = '2', last_accessed = last_accessed + 1", on: cookies)
    #expect(try await jar.cookies(in: "example.com").map(\.value) == ["2"])
    let again = try SQLiteCookieStore(at: cookies, onSetAside: { Issue.record("\($0)") })
    #expect(try await again.cookies(in: "example.com").map(\.value) == ["2"])
  }

  @Test func cookiesOfTheFirstVersionAreReadAndReplaced() async throws {
    let file = try file("cookies.sqlite")
    var expected = ["first", "second"].map {
      Cookie(
        name: $0, value: "value of \($0)", domain: "www.example.com", path: "/path", expires: .distantFuture,
        isSecure: true, isHTTPOnly: true, sameSite: .lax, created: time)
    }
    let store = try SQLiteCookieStore(at: file, onSetAside: { Issue.record("\($0)") })
    #expect(Set(try await store.cookies(in: "example.com")) == Set(expected))
    expected[0].value = "another"
    try await store.update("example.com") { [expected] in $0 = expected }
    let again = try SQLiteCookieStore(at: file, onSetAside: { Issue.record("\($0)") })
    #expect(Set(try await again.cookies(in: "example.com")) == Set(expected))
    #expect(try await again.count() == 2)
  }

  @Test(arguments: [
    ("/raw", "", false, nil, Data("raw".utf8)), ("/unpacked", "", true, nil, Data("unpacked".utf8)),
    ("/coded", "", false, "gzip", Data("coded".utf8)),
    ("/large", "anna", false, nil, Data(repeating: 9, count: 150_000)),
  ])
  func responsesOfTheFirstVersionAreRead(
    _ path: String, partition: String, isDecoded: Bool, coding: String?, body: Data
  ) async throws {
    let file = try file("cache.sqlite")
    for _ in 0..<2 {
      let store = try SQLiteCacheStore(at: file, onSetAside: { Issue.record("\($0)") })
      let found = try await store.entries(for: key(path, partition: partition))
      let entry = try #require(found.first)
      #expect(found.count == 1)
      #expect(entry.response.isDecoded == isDecoded)
      #expect(entry.response.head.fields[.contentEncoding] == coding)
      #expect(entry.response.head.version == .http1_1)
      #expect(entry.response.requestTime == time)
      #expect(try await store.read(entry) == body)
      try await store.update(entry)
    }
    let store = try SQLiteCacheStore(at: file, onSetAside: { Issue.record("\($0)") })
    #expect(try await store.usage().entries == 4)
    try await store.remove(.all)
    #expect(try await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }
}
