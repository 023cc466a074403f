import Foundation
import MartletEngine
import MartletTesting
import SAPFoundation
import Testing

@Suite("The encrypted store")
struct EncryptedDataStoreTests {
  private let key = EncryptedDataStore.makeKey()
  private let base = MemoryDataStore()

  @Test func whatIsPutIsThereAndIsNotReadableBeneath() throws {
    let folder = try TemporaryFolder()
    let file = folder.file("secrets.sqlite")
    for round in 1...2 {
      let storage = CodableStorage(store: try EncryptedDataStore(store: try SQLiteDataStore(at: file), key: key))
      if round == 1 { try storage.put(["token": "very-secret-token"], for: "tokens") }
      #expect(try storage.get([String: String].self, for: "tokens") == ["token": "very-secret-token"])
      #expect(try storage.keys() == ["tokens"])
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      let bytes = try Data(contentsOf: folder.file(name))
      #expect(bytes.firstRange(of: Data("very-secret-token".utf8)) == nil)
    }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 1000]) func aChangedByteIsAnErrorAndNothingIsLost(length: Int) throws {
    let store = try EncryptedDataStore(store: base, key: key)
    let data = Data((0..<length).map { UInt8(truncatingIfNeeded: $0) })
    try store.put(data: data, for: "a")
    let stored = try #require(base.data(for: "a"))

    for index in stored.indices {
      var changed = stored
      changed[index] ^= 1 << UInt8(index % 8)
      base.put(data: changed, for: "a")
      let error = index < 4 ? EncryptedDataStoreError.notEncrypted(key: "a") : .cannotDecrypt(key: "a")
      #expect(throws: error) { try store.data(for: "a") }
      #expect(base.data(for: "a") == changed)
    }
    for count in 4..<stored.count {
      base.put(data: stored.prefix(count), for: "a")
      #expect(throws: EncryptedDataStoreError.cannotDecrypt(key: "a")) { try store.data(for: "a") }
    }
    base.put(data: stored, for: "a")
    #expect(try store.data(for: "a") == data)
  }

  @Test func theWrongKeyIsAnErrorAndNothingIsLost() throws {
    try EncryptedDataStore(store: base, key: key).put(data: Data("x".utf8), for: "a")
    let other = try EncryptedDataStore(store: base, key: EncryptedDataStore.makeKey())

    #expect(throws: EncryptedDataStoreError.cannotDecrypt(key: "a")) { try other.data(for: "a") }
    #expect(try EncryptedDataStore(store: base, key: key).data(for: "a") == Data("x".utf8))
  }

  @Test func aValueIsBoundToItsName() throws {
    let store = try EncryptedDataStore(store: base, key: key)
    try store.put(data: Data("admin".utf8), for: "role of anna")
    base.put(data: try #require(base.data(for: "role of anna")), for: "role of bert")

    #expect(throws: EncryptedDataStoreError.cannotDecrypt(key: "role of bert")) { try store.data(for: "role of bert") }
  }

  @Test func equalValuesLookDifferent() throws {
    let store = try EncryptedDataStore(store: base, key: key)
    let seen = try (0..<100).map { _ in
      try store.put(data: Data("same".utf8), for: "a")
      return try #require(base.data(for: "a"))
    }
    #expect(Set(seen).count == 100)
    #expect(Set(seen.map { $0.dropFirst(4).prefix(12) }).count == 100)
  }

  @Test func aValueThatIsNotEncryptedIsSaidToBeSo() throws {
    base.put(data: Data("plain".utf8), for: "a")
    let store = try EncryptedDataStore(store: base, key: key)
    #expect(throws: EncryptedDataStoreError.notEncrypted(key: "a")) { try store.data(for: "a") }
    #expect(try store.data(for: "b") == nil)
    try store.removeData(for: "a")
    #expect(try store.keys() == [])
  }

  @Test(arguments: [0, 16, 31, 33]) func anotherLengthOfKeyIsRefused(length: Int) {
    #expect(throws: EncryptedDataStoreError.invalidKey(length: length)) {
      try EncryptedDataStore(store: base, key: Data(count: length))
    }
  }

  @Test func aDumpShowsNoKey() throws {
    #expect(Mirror(reflecting: try EncryptedDataStore(store: base, key: key)).children.isEmpty)
  }
}
