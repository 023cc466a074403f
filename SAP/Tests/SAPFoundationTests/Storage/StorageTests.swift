import Foundation
import MartletSQLite
import MartletTesting
import SAPFoundation
import Testing

@Suite("Storages of Codable values")
struct StorageTests {
  struct Profile: Codable, Equatable {
    var name: String
    var visits: Int
  }

  enum Kind: CaseIterable { case memory, file }

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func store(_ kind: Kind) throws -> any DataStoring {
    switch kind {
    case .memory: MemoryDataStore()
    case .file: try SQLiteDataStore(at: folder.file("values.sqlite"))
    }
  }

  @Test(arguments: Kind.allCases)
  func whatIsPutIsThereUntilItIsRemoved(_ kind: Kind) throws {
    let storage: any CodableStoring = CodableStorage(store: try store(kind))

    #expect(try storage.get(Profile.self, for: "profile") == nil)
    try storage.put(Profile(name: "Anna", visits: 1), for: "profile")
    try storage.put(Profile(name: "Anna", visits: 2), for: "profile")
    try storage.put("text", for: "plain")
    #expect(try storage.get(Profile.self, for: "profile") == Profile(name: "Anna", visits: 2))
    #expect(try storage.get(String.self, for: "plain") == "text")
    #expect(try (storage as? CodableStorage)?.keys() == ["profile", "plain"])

    try storage.remove(for: "profile")
    try storage.remove(for: "profile")
    #expect(try storage.get(Profile.self, for: "profile") == nil)
  }

  @Test(arguments: Kind.allCases)
  func anotherTypeIsAnErrorAndNotACrash(_ kind: Kind) throws {
    let storage = CodableStorage(store: try store(kind))
    try storage.put("text", for: "key")

    #expect(throws: (any Error).self) { try storage.get(Profile.self, for: "key") }
  }

  @Test(arguments: Kind.allCases)
  func manyThreadsMayUseOneStore(_ kind: Kind) async throws {
    let store = try store(kind)
    let shared = CodableStorageBox(CodableStorage(store: store))

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask { try? shared.storage.put(number, for: "key \(number % 8)") }
      }
    }

    #expect(try store.keys().count == 8)
    for key in try store.keys() { #expect(try shared.storage.get(Int.self, for: key) != nil) }
  }

  @Test func aFileIsSharedByItsStores() throws {
    let one = CodableStorage(store: try SQLiteDataStore(at: folder.file("shared.sqlite")))
    let other = CodableStorage(store: try SQLiteDataStore(at: folder.file("shared.sqlite")))

    try one.put(7, for: "number")
    #expect(try other.get(Int.self, for: "number") == 7)
    try other.remove(for: "number")
    #expect(try one.get(Int.self, for: "number") == nil)
  }

  @Test func synchronousAndAsynchronousStoresShareAFile() async throws {
    let blocking = try SQLiteDataStore(at: folder.file("both.sqlite"))
    let other = try SQLiteKeyValueStore(at: folder.file("both.sqlite"))

    try blocking.put(data: Data("a".utf8), for: "key")
    #expect(try await other.value(for: "key") == Data("a".utf8))
    try await other.removeAll()
    #expect(try blocking.keys().isEmpty)
  }

  @Test func aDamagedFileIsSetAside() throws {
    let damaged = Data("SQLite format 3\0".utf8) + Data(repeating: 7, count: 9_000)
    try damaged.write(to: folder.file("broken.sqlite"))
    let store = try SQLiteDataStore(at: folder.file("broken.sqlite"))

    try store.put(data: Data("a".utf8), for: "key")

    #expect(try store.data(for: "key") == Data("a".utf8))
  }
}

/// `CodableStorage` is an open class, and therefore cannot guarantee what this one does.
final class CodableStorageBox: @unchecked Sendable {
  let storage: CodableStorage

  init(_ storage: CodableStorage) { self.storage = storage }
}
