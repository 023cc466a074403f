import Foundation
import MartletTesting
import SAPFoundation
import Testing

@Suite("The secure store", .timeLimit(.minutes(5)))
struct SecureStoreTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func store(_ file: String = "secrets.sqlite") -> SecureKeyValueStore {
    SecureKeyValueStore(databaseFileName: folder.file(file).path)
  }

  @Test func nothingInTheFilesIsReadable() throws {
    let first = store()
    try first.open(with: "the passcode")
    try first.put("very-secret-text", forKey: "name-of-the-value")
    try first.put(data: Data("very-secret-bytes".utf8), for: "name-of-the-bytes")
    first.close()

    for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
      let bytes = try Data(contentsOf: folder.file(name))
      for text in ["very-secret", "name-of-the", "the passcode"] {
        #expect(bytes.firstRange(of: Data(text.utf8)) == nil, "\(text) in \(name)")
      }
    }
    let again = store()
    try again.open(with: "the passcode")
    #expect(try again.getString("name-of-the-value") == "very-secret-text")
    #expect(try again.data(for: "name-of-the-bytes") == Data("very-secret-bytes".utf8))
    #expect(try again.keys() == ["name-of-the-value", "name-of-the-bytes"])
  }

  @Test func aNewFileIsOpenedByManyTasksAtOnce() async throws {
    let path = folder.file("secrets.sqlite").path
    let stores = [SecureDatabaseStore(databaseFileName: path), SecureDatabaseStore(databaseFileName: path)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        let store = stores[number % 2]
        group.addTask { try store.open(with: "x") }
      }
      try await group.waitForAll()
    }
    for (number, store) in stores.enumerated() {
      try SecureKeyValueStore(databaseStore: store, name: "\(number)").put(number, forKey: "key")
      store.close()
    }

    let again = SecureDatabaseStore(databaseFileName: path)
    try again.open(with: "x")
    for number in 0...1 {
      #expect(try SecureKeyValueStore(databaseStore: again, name: "\(number)").getInt("key") == number)
    }
  }

  @Test func anotherPasscodeIsAnErrorAndNothingIsLost() throws {
    let store = store()
    #expect(throws: SecureStorageError.authenticationFailed(message: "the passcode is empty")) {
      try store.open(with: "")
    }
    try store.open(with: "right")
    try store.put(7, forKey: "number")
    store.close()

    #expect(throws: SecureStorageError.authenticationFailed(message: "the passcode is not that of the file")) {
      try store.open(with: "wrong")
    }
    #expect(!store.isOpen)
    #expect(throws: SecureStorageError.closed) { try store.getInt("number") }
    #expect(throws: SecureStorageError.closed) { try store.put("a", forKey: "b") }
    try store.open(with: "right")
    #expect(try store.getInt("number") == 7)
  }

  @Test func aChangedPasscodeOpensTheSameValues() throws {
    let store = store()
    #expect(throws: SecureStorageError.closed) { try store.secureDatabaseStore.changeEncryptionKey(with: "new") }
    try store.open(with: "old")
    try store.put("text", forKey: "key")
    try store.secureDatabaseStore.changeEncryptionKey(with: "new")
    store.close()

    #expect(throws: SecureStorageError.self) { try store.open(with: "old") }
    try store.open(with: "new")
    #expect(try store.getString("key") == "text")
  }

  @Test func valuesOfEveryTypeComeBackAndOthersAreErrors() throws {
    let store = store()
    try store.open(with: "x")
    let date = Date(timeIntervalSince1970: 1_000)
    try store.put("text", forKey: "string")
    try store.put(-3, forKey: "int")
    try store.put(Int64.max, forKey: "int64")
    try store.put(1.5, forKey: "double")
    try store.put(true, forKey: "bool")
    try store.put(Data([1, 2]), forKey: "data")
    try store.put(date, forKey: "date")
    try store.put(NSArray(array: ["a", "b"]), forKey: "object")

    #expect(try store.getString("string") == "text" && store.getInt("int") == -3)
    #expect(try store.getInt64("int64") == .max && store.getDouble("double") == 1.5)
    #expect(try store.getBool("bool") == true && store.getData("data") == Data([1, 2]))
    #expect(try store.getDate("date") == date)
    let object: NSArray? = try store.get("object")
    #expect(object as? [String] == ["a", "b"])
    #expect(throws: SecureStorageError.typeConversionFailed) { try store.getInt("string") }
    #expect(throws: SecureStorageError.typeConversionFailed) { let _: NSData? = try store.get("string") }

    try store.put(String?.none, forKey: "string")
    #expect(try store.getString("string") == nil)
    let missing: NSArray? = try store.get("string")
    #expect(missing == nil)
  }

  @Test func storesInOneFileHaveTheirOwnValues() throws {
    let first = store()
    let second = try SecureKeyValueStore(databaseStore: first.secureDatabaseStore, name: "second")
    try second.open(with: "x")
    #expect(first.isOpen)
    try first.put("1", forKey: "key")
    try second.put("2", forKey: "key")
    try second.put("3", forKey: "other")

    #expect(try first.getString("key") == "1" && second.getString("key") == "2")
    #expect(try first.keys() == ["key"] && second.keys() == ["key", "other"])
    try second.removeAll()
    #expect(try second.keys().isEmpty && first.getString("key") == "1")
  }

  @Test func aNameIsAFileOfTheApp() {
    let file = SecureKeyValueStore(name: "a").secureDatabaseStore.file
    #expect(file.lastPathComponent == "SecureStore.sqlite")
    let folders = file.deletingLastPathComponent().pathComponents.suffix(2)
    #expect(folders == [SAPcpmsSettingsParameters.defaultApplicationID, "SAPFoundation"])
  }

  @Test func aFileWithoutItsKeyIsDamaged() throws {
    let store = store()
    try store.open(with: "x")
    try store.put("text", forKey: "key")
    store.close()
    try SQLiteDataStore(at: store.secureDatabaseStore.file).removeData(for: "secrets")

    let error = #expect(throws: SecureStorageError.self) { try store.open(with: "x") }
    #expect(error?.localizedDescription.contains("secrets.sqlite.damaged-1") == true)
  }

  @Test func aDamagedFileIsAnErrorAndStaysUnderAnotherName() throws {
    let garbage = Data("SQLite format 3\0".utf8) + Data(repeating: 0x5A, count: 8_192)
    try garbage.write(to: folder.file("secrets.sqlite"))
    let store = store()

    let error = #expect(throws: SecureStorageError.self) { try store.open(with: "x") }

    guard case .openFailed(26, let message)? = error else {
      Issue.record("expected .openFailed, not \(String(describing: error))")
      return
    }
    #expect(!store.isOpen)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    let kept = try #require(names.first { $0.hasPrefix("secrets.sqlite.") && message.contains("\($0)'") })
    #expect(try Data(contentsOf: folder.file(kept)) == garbage)
    try store.open(with: "y")
    #expect(try store.keys().isEmpty)
  }
}

@Suite("The storage that becomes persistent")
struct CompositeStorageTests {
  /// Fails from a certain write on.
  private final class FailingStore: DataStoring {
    let base = MemoryDataStorage()
    var left: Int

    init(after writes: Int) { left = writes }

    func put(data: Data, for key: String) throws {
      guard left > 0 else { throw TestFailure(name: "full") }
      left -= 1
      base.put(data: data, for: key)
    }

    func data(for key: String) throws -> Data? { base.data(for: key) }
    func removeData(for key: String) throws { base.removeData(for: key) }
    func keys() throws -> Set<String> { base.keys() }
  }

  @Test func valuesMoveToThePersistentStoreAndStayThere() throws {
    let (storage, store) = (CompositeStorage(), MemoryDataStorage())
    try CodableStorage(store: store).put("stored", for: "old")
    try CodableStorage(store: store).put("stored", for: "both")
    try storage.put("new", for: "both")
    #expect(storage.persistentStore == nil)

    try storage.setPersistentStore(store)
    try storage.put(1, for: "later")

    #expect(storage.persistentStore is MemoryDataStorage)
    #expect(store.keys() == ["old", "both", "later"])
    #expect(try storage.get(String.self, for: "both") == "new" && storage.get(String.self, for: "old") == "stored")
    try storage.remove(for: "old")
    storage.releasePersistentStore()
    #expect(try storage.get(String.self, for: "both") == nil && storage.keys().isEmpty)
    #expect(store.keys() == ["both", "later"])
  }

  @Test func aStoreThatFailsLeavesTheValuesInMemory() throws {
    let storage: any CompositeCodableStoring = CompositeStorage()
    for key in ["a", "b", "c"] { try storage.put(key, for: key) }

    #expect(throws: TestFailure.self) { try storage.setPersistentStore(FailingStore(after: 2)) }

    #expect(storage.persistentStore == nil)
    for key in ["a", "b", "c"] { #expect(try storage.get(String.self, for: key) == key) }
    try storage.setPersistentStore(FailingStore(after: 3))
    #expect(throws: TestFailure.self) { try storage.put("d", for: "d") }
    #expect(try storage.get(String.self, for: "c") == "c")
  }

  @Test func aSecureStoreIsAPersistentStore() throws {
    let folder = try TemporaryFolder()
    let storage = CompositeStorage()
    try storage.put(["token": "x"], for: "tokens")
    let store = SecureKeyValueStore(databaseFileName: folder.file("s.sqlite").path)
    #expect(throws: SecureStorageError.closed) { try storage.setPersistentStore(store) }
    try store.open(with: "1234")
    try storage.setPersistentStore(store)

    #expect(try store.keys() == ["tokens"])
    #expect(try CodableStorage(store: store).get([String: String].self, for: "tokens") == ["token": "x"])
  }
}
