import CSQLite
import Foundation
import MartletEngine
@_spi(Stores) import MartletSQLite
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// A file that another program keeps locked.
@Suite(.timeLimit(.minutes(5)))
struct LockedFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var file: URL { folder.file("cache.sqlite") }

  @Test func aLockedCacheIsOpenedAndRead() async throws {
    try await SQLiteCacheStore(at: file).save(entry("/known"), bytes(10))
    let lock = try Lock(file)

    let store = try SQLiteCacheStore(at: file)

    #expect(try await store.entries(for: key("/known")).count == 1)
    #expect(store.immediateEntries(for: key("/known"))?.count == 1)
    withExtendedLifetime(lock) {}
  }

  /// Responses that arrive while the file is locked would otherwise wait for it one after another.
  @Test func aCacheThatHasWaitedForALockRests() async throws {
    let store = try SQLiteCacheStore(at: file)
    let lock = try Lock(file)

    let errors = await withTaskGroup { group in
      for number in 0..<20 {
        group.addTask { await #expect(throws: HTTPError.self) { try await store.save(entry("/\(number)"), bytes(10)) } }
      }
      return await group.reduce(into: [HTTPError?]()) { $0.append($1) }
    }

    // At most one has waited; a clean-up may have done so before.
    #expect(errors.count { $0?.message.contains("pauses after a wait") == false } <= 1)
    withExtendedLifetime(lock) {}
  }

  @Test func aSessionDoesWithoutALockedCache() async throws {
    let lock = try Lock(try created())
    var configuration = SessionConfiguration()
    let cache = HTTPCache(store: try SQLiteCacheStore(at: file))
    configuration.cache = cache
    let transport = MockTransport { _ in MockResponse(fields: [.cacheControl: "max-age=60"], content: Data("one".utf8))
    }
    let session = HTTPSession(transport: transport, configuration: configuration)

    for number in 0..<20 {
      let (data, _) = try await session.data(for: HTTPRequest(.get, url("http://a.example/\(number)")))
      #expect(data == Data("one".utf8))
    }

    try await until { cache.statistics.storeFailures == 20 }
    #expect(cache.statistics.stored == 0)
    withExtendedLifetime(lock) {}
  }

  /// Not even reading is possible.
  @Test func aCacheThatAnotherProgramHasForItselfIsOpened() async throws {
    let lock = try Lock(try created(), for: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
    let store = try SQLiteCacheStore(at: file)
    for _ in 0..<3 { await #expect(throws: HTTPError.self) { try await store.entries(for: key("/")) } }
    #expect(store.immediateEntries(for: key("/")) == nil)
    withExtendedLifetime(lock) {}
  }

  /// A user who signs out waits, whatever was tried before.
  @Test func aRemovalWaitsForTheLock() async throws {
    let store = try SQLiteCacheStore(at: file)
    try await store.save(entry("/known"), bytes(10))
    var lock: Lock? = try Lock(file)
    await #expect(throws: HTTPError.self) { try await store.save(entry("/new"), bytes(10)) }

    async let removal: Void = store.remove(.all)
    _ = try await store.entries(for: key("/known"))
    withExtendedLifetime(lock) {}
    lock = nil
    try await removal

    #expect(try await store.entries(for: key("/known")).isEmpty)
  }

  /// Values are not cached: their callers need them, and wait.
  @Test func aLockedStoreOfValuesIsReadAndNamesItsFile() async throws {
    let file = folder.file("values.sqlite")
    try await SQLiteKeyValueStore(at: file).set(Data([1]), for: "a")
    let lock = try Lock(file)
    let store = try SQLiteKeyValueStore(at: file)
    #expect(try await store.value(for: "a") == Data([1]))
    let error = await #expect(throws: HTTPError.self) { try await store.set(Data([2]), for: "a") }
    #expect(error?.message.contains("'\(file.path)' was locked by another process for too long") == true)
    withExtendedLifetime(lock) {}
  }

  @Test func aCookieStoreThatHasWaitedForALockRests() async throws {
    let file = folder.file("cookies.sqlite")
    let store = try SQLiteCookieStore(at: file)
    let lock = try Lock(file)

    let errors = await withTaskGroup { group in
      for number in 0..<5 {
        group.addTask {
          await #expect(throws: HTTPError.self) { try await store.update("\(number).example") { $0 = [] } }
        }
      }
      return await group.reduce(into: [HTTPError?]()) { $0.append($1) }
    }

    #expect(errors.count { $0?.message.contains("pauses after a wait") == false } == 1)
    #expect(try await store.cookies(in: "0.example").isEmpty)
    withExtendedLifetime(lock) {}
  }

  /// The file of a cache that was used before.
  private func created() throws -> URL {
    _ = try SQLiteCacheStore(at: file)
    return file
  }

  /// A connection of another program that holds a lock.
  private final class Lock {
    private var handle: OpaquePointer?

    init(_ file: URL, for statements: String = "BEGIN IMMEDIATE") throws {
      guard sqlite3_open(file.path, &handle) == SQLITE_OK else { throw RawDatabase.Failure(description: file.path) }
      sqlite3_busy_timeout(handle, 60_000)
      guard sqlite3_exec(handle, statements, nil, nil, nil) == SQLITE_OK else {
        throw RawDatabase.Failure(description: String(cString: sqlite3_errmsg(handle)))
      }
    }

    deinit { sqlite3_close_v2(handle) }
  }
}
