/// SAP's name of ``MemoryDataStore``.
public typealias MemoryDataStorage = MemoryDataStore

/// A storage in memory to which a persistent store can be added later, for instance when the user has entered a
/// passcode.
public protocol CompositeCodableStoring: CodableStoring {
  /// The store that has the values; nil while they are in memory.
  var persistentStore: (any DataStoring)? { get }

  /// Moves all values from memory to a store, which has them from now on.
  func setPersistentStore(_ store: any DataStoring) throws

  /// Releases the store. Its values stay there, and are not visible here any more.
  func releasePersistentStore()
}

/// Stores values in memory, until it gets a persistent store.
///
/// ```swift
/// let storage = CompositeStorage()
/// try storage.put("de", for: "language")            // in memory
/// let store = SecureKeyValueStore(name: "settings")
/// try store.open(with: password)
/// try storage.setPersistentStore(store)             // now there
/// ```
///
/// SAP publishes that values move to the store when it is set, and not what happens then. Here the store alone has all
/// values as long as it is set:
///
/// - A value from memory replaces one of the store with the same key, because it is newer.
/// - If the store fails while values move, all values stay in memory, and the previous store, if any, stays set.
/// - After ``releasePersistentStore()`` the storage is empty and in memory.
///
/// Any thread may use it, unlike SAP's: only one thread at a time calls the store.
open class CompositeStorage: CodableStorage, CompositeCodableStoring {
  private let composite: CompositeDataStore

  /// Makes an empty storage in memory.
  ///
  /// - Parameter coder: encodes the values; as property lists by default.
  public init(coder: any CoderProtocol = PlistCoder()) {
    composite = CompositeDataStore()
    super.init(store: composite, coder: coder)
  }

  public var persistentStore: (any DataStoring)? { composite.persistent }

  open func setPersistentStore(_ store: any DataStoring) throws { try composite.move(to: store) }

  open func releasePersistentStore() { composite.release() }
}

/// The values in memory or in a persistent store.
private final class CompositeDataStore: DataStoring, CustomReflectable {
  private let lock = NSRecursiveLock()
  private var memory: [String: Data] = [:]
  private var store: (any DataStoring)?

  /// Without the values, which may be secrets.
  var customMirror: Mirror { Mirror(self, children: [:]) }

  var persistent: (any DataStoring)? { lock.withLock { store } }

  func move(to store: any DataStoring) throws {
    try lock.withLock {
      for (key, data) in memory { try store.put(data: data, for: key) }
      (self.store, memory) = (store, [:])
    }
  }

  func release() { lock.withLock { store = nil } }

  func put(data: Data, for key: String) throws {
    try lock.withLock {
      guard let store else { return memory[key] = data }
      try store.put(data: data, for: key)
    }
  }

  func data(for key: String) throws -> Data? {
    try lock.withLock { try store.map { try $0.data(for: key) } ?? memory[key] }
  }

  func removeData(for key: String) throws {
    try lock.withLock {
      guard let store else { return memory[key] = nil }
      try store.removeData(for: key)
    }
  }

  func keys() throws -> Set<String> { try lock.withLock { try store?.keys() ?? Set(memory.keys) } }
}
