public import MartletEngine
@_spi(Stores) public import MartletSQLite

/// Stores values of any `Codable` type by key: cookies, tokens, credentials.
///
/// Any thread may use the stores of this module, unlike SAP's. If an app's own store belongs to one observer or cookie
/// storage, only one thread at a time calls it. During such a call, the store may use the session, but must not wait
/// for it.
public protocol CodableStoring: AnyObject {
  /// Returns the value for a key; nil if there is none.
  ///
  /// - Throws: an error of the store, for example if the file cannot be read or the value has another type.
  func get<T: Codable>(_ type: T.Type, for key: String) throws -> T?

  /// Stores a value. It replaces a previous one.
  func put<T: Codable>(_ value: T, for key: String) throws

  /// Removes the value for a key. A missing value is not an error.
  func remove(for key: String) throws
}

/// Stores bytes by key, for a ``CodableStorage``.
public protocol DataStoring {
  /// Stores bytes. They replace previous ones.
  func put(data: Data, for key: String) throws

  /// Returns the bytes for a key; nil if there are none.
  func data(for key: String) throws -> Data?

  /// Removes the bytes for a key. A missing value is not an error.
  func removeData(for key: String) throws

  /// Returns all keys.
  func keys() throws -> Set<String>
}

/// Encodes values as bytes, and decodes them.
public protocol CoderProtocol {
  /// Returns the value that the bytes encode.
  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T

  /// Returns the bytes that encode a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Data
}

/// Stores encoded values in a ``DataStoring``.
///
/// ```swift
/// let storage = CodableStorage(store: try SQLiteDataStore(at: folder.appending(path: "values.sqlite")))
/// try storage.put(settings, for: "settings")
/// ```
///
/// Any thread may use it if this is true of its store, as it is of ``MemoryDataStore`` and ``SQLiteDataStore``. (It is
/// not of SAP's.)
open class CodableStorage: CodableStoring {
  private let store: any DataStoring
  private let coder: any CoderProtocol

  /// Makes a storage.
  ///
  /// - Parameters:
  ///   - store: stores the bytes; by default in memory, until the process ends.
  ///   - coder: encodes the values; as property lists by default.
  public init(store: any DataStoring = MemoryDataStore(), coder: any CoderProtocol = PlistCoder()) {
    self.store = store
    self.coder = coder
  }

  open func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? {
    try store.data(for: key).map { try coder.decode(type, from: $0) }
  }

  open func put<T: Codable>(_ value: T, for key: String) throws { try store.put(data: coder.encode(value), for: key) }

  open func remove(for key: String) throws { try store.removeData(for: key) }

  /// Returns all keys.
  public func keys() throws -> Set<String> { try store.keys() }
}

/// Encodes values as property lists. Each value is the only element of an array, because a property list has to be an
/// array or a dictionary.
open class PlistCoder: CoderProtocol {
  /// The encoder.
  public let encoder = PropertyListEncoder()
  /// The decoder.
  public let decoder = PropertyListDecoder()

  /// Makes a coder that writes binary property lists.
  public init() { encoder.outputFormat = .binary }

  open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    guard let value = try decoder.decode([T].self, from: data).first else {
      throw DecodingError.valueNotFound(type, .init(codingPath: [], debugDescription: "the list is empty"))
    }
    return value
  }

  open func encode<Value: Encodable>(_ value: Value) throws -> Data { try encoder.encode([value]) }
}

/// Stores bytes in memory, as long as the store exists. Any thread may use it.
public final class MemoryDataStore: DataStoring, Sendable {
  private let values = MemoryKeyValueStore()

  /// Makes an empty store.
  public init() {}

  public func put(data: Data, for key: String) { values.set(data, for: key) }

  public func data(for key: String) -> Data? { values.value(for: key) }

  public func removeData(for key: String) { values.removeValue(for: key) }

  public func keys() -> Set<String> { Set(values.keys()) }
}

/// Stores bytes in a file, for any number of threads and processes at once.
///
/// The file is that of a ``MartletSQLite/SQLiteKeyValueStore``, and has its limits: only its owner may read it, it is
/// not encrypted, and it has to be on a local disk. A damaged file is renamed and replaced with an empty one. Reads
/// take microseconds; a write waits for other writes, at most five seconds.
public final class SQLiteDataStore: DataStoring, Sendable {
  private let values: SQLiteKeyValueStore

  /// Opens the file. If it does not exist, it is made, with its folder.
  ///
  /// - Parameters:
  ///   - file: a file URL.
  ///   - onSetAside: called when a damaged file was replaced with an empty one; does nothing by default.
  /// - Throws: `HTTPError` of kind `.file`, like all methods. It names the file and the remedy.
  public init(
    at file: URL, onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    values = try SQLiteKeyValueStore(at: file, onSetAside: onSetAside)
  }

  /// Opens the file, which is damaged if it has values, but lacks the value of one of these keys.
  init(
    at file: URL, requiring keys: [String], onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) throws(HTTPError) {
    values = try SQLiteKeyValueStore(at: file, requiring: keys, onSetAside: onSetAside)
  }

  /// Changes the values of some keys in one transaction. The change may be called twice.
  @_spi(Stores) public func update<R>(_ keys: [String], _ change: (inout [String: Data]) -> R) throws -> R {
    try values.blockingUpdate(keys, change)
  }

  public func put(data: Data, for key: String) throws { try values.blockingSet(data, for: key) }

  public func data(for key: String) throws -> Data? { try values.blockingValue(for: key) }

  public func removeData(for key: String) throws { try values.blockingRemoveValue(for: key) }

  public func keys() throws -> Set<String> { Set(try values.blockingKeys()) }
}
