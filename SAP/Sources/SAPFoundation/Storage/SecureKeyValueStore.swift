/// A type of values for a ``KeyValueStoreProtocol``: texts, numbers, Booleans, bytes, dates, and an app's own `Codable`
/// types that conform. (SAP publishes the name, and not its requirements.)
public protocol SQLiteDatatypeBridgeable: Codable {}

extension String: SQLiteDatatypeBridgeable {}
extension Int: SQLiteDatatypeBridgeable {}
extension Int64: SQLiteDatatypeBridgeable {}
extension Double: SQLiteDatatypeBridgeable {}
extension Bool: SQLiteDatatypeBridgeable {}
extension Data: SQLiteDatatypeBridgeable {}
extension Date: SQLiteDatatypeBridgeable {}

/// Stores values by key.
///
/// SAP publishes both forms of `put`, `getString` and `get` for objects. The other methods here follow their pattern.
public protocol KeyValueStoreProtocol {
  /// Stores a value in place of the previous one; nil removes it.
  func put<T: SQLiteDatatypeBridgeable>(_ value: T?, forKey key: String) throws

  /// Stores an object in place of the previous value; nil removes it. Read it with ``get(_:)``.
  func put<T: NSCoding>(_ value: T?, forKey key: String) throws

  /// Returns the value for a key; nil if there is none.
  ///
  /// - Throws: ``SecureStorageError/typeConversionFailed`` if the value has another type.
  func get<T: SQLiteDatatypeBridgeable>(_ type: T.Type, forKey key: String) throws -> T?

  /// Returns the object for a key; nil if there is none.
  ///
  /// - Throws: ``SecureStorageError/typeConversionFailed`` if the value has another type.
  func get<T: NSCoding>(_ key: String) throws -> T?

  /// Removes the value for a key. A missing value is not an error.
  func remove(_ key: String) throws

  /// Removes all values of this store.
  func removeAll() throws
}

extension KeyValueStoreProtocol {
  /// Returns the text for a key; nil if there is none.
  public func getString(_ key: String) throws -> String? { try get(String.self, forKey: key) }

  /// Returns the number for a key; nil if there is none.
  public func getInt(_ key: String) throws -> Int? { try get(Int.self, forKey: key) }

  /// Returns the number for a key; nil if there is none.
  public func getInt64(_ key: String) throws -> Int64? { try get(Int64.self, forKey: key) }

  /// Returns the number for a key; nil if there is none.
  public func getDouble(_ key: String) throws -> Double? { try get(Double.self, forKey: key) }

  /// Returns the Boolean for a key; nil if there is none.
  public func getBool(_ key: String) throws -> Bool? { try get(Bool.self, forKey: key) }

  /// Returns the bytes for a key; nil if there are none.
  public func getData(_ key: String) throws -> Data? { try get(Data.self, forKey: key) }

  /// Returns the date for a key; nil if there is none.
  public func getDate(_ key: String) throws -> Date? { try get(Date.self, forKey: key) }
}

/// Stores values in an encrypted file, which a passcode opens.
///
/// ```swift
/// let secrets = SecureKeyValueStore(name: "logins")
/// try secrets.open(with: password)
/// try secrets.put("anna", forKey: "user")
/// let cookies = CodableStorage(store: secrets)
/// ```
///
/// Several stores may have one file: give them names, and the file of the first (``secureDatabaseStore``). Opening one
/// opens them all. ``SecureDatabaseStore`` says how the file is encrypted. While the store is closed, every call throws
/// ``SecureStorageError/closed``.
///
/// The methods for bytes (`DataStoring`) and those for values do not read what the other has written. SAP publishes the
/// initializers and `open(with:)`; ``isOpen`` and ``close()`` are named here. SAP's store is not thread-safe; any
/// thread may use this one.
open class SecureKeyValueStore: KeyValueStoreProtocol, DataStoring {
  /// The file.
  public let secureDatabaseStore: SecureDatabaseStore
  private let name: String
  private let coder = PlistCoder()

  /// Makes a store with a name in the default file.
  public convenience init(name: String = "") { self.init(SecureDatabaseStore(), name) }

  /// Makes a store in a file with a name in the app's folder, or with an absolute path.
  public convenience init(databaseFileName: String) {
    self.init(SecureDatabaseStore(databaseFileName: databaseFileName), "")
  }

  /// Makes a store with a name in the file of another store. (SAP's throws if that is open and cannot make a table;
  /// this one never throws.)
  public convenience init(databaseStore: SecureDatabaseStore, name: String) throws { self.init(databaseStore, name) }

  private init(_ file: SecureDatabaseStore, _ name: String) {
    secureDatabaseStore = file
    self.name = name
  }

  /// Whether the file is open.
  public var isOpen: Bool { secureDatabaseStore.isOpen }

  /// Opens the file; a new file gets this passcode. It takes some tenths of a second.
  ///
  /// - Throws: ``SecureStorageError/authenticationFailed(message:)`` if the passcode is wrong.
  open func open(with encryptionKey: String) throws { try secureDatabaseStore.open(with: encryptionKey) }

  /// Closes the file, even for the other stores in it.
  open func close() { secureDatabaseStore.close() }

  // MARK: - Values

  public func put<T: SQLiteDatatypeBridgeable>(_ value: T?, forKey key: String) throws {
    guard let value else { return try remove(key) }
    try put(data: try coder.encode(value), for: key)
  }

  public func put<T: NSCoding>(_ value: T?, forKey key: String) throws {
    guard let value else { return try remove(key) }
    try put(data: try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false), for: key)
  }

  public func get<T: SQLiteDatatypeBridgeable>(_ type: T.Type, forKey key: String) throws -> T? {
    guard let data = try data(for: key) else { return nil }
    guard let value = try? coder.decode(type, from: data) else { throw SecureStorageError.typeConversionFailed }
    return value
  }

  public func get<T: NSCoding>(_ key: String) throws -> T? {
    guard let data = try data(for: key) else { return nil }
    // Classes need not support secure coding: the bytes are authenticated, so this app has written them.
    let archive = try? NSKeyedUnarchiver(forReadingFrom: data)
    archive?.requiresSecureCoding = false
    guard let value = archive?.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? T else {
      throw SecureStorageError.typeConversionFailed
    }
    return value
  }

  public func remove(_ key: String) throws { try removeData(for: key) }

  public func removeAll() throws { for key in try keys() { try removeData(for: key) } }

  // MARK: - Bytes

  public func put(data: Data, for key: String) throws { try secureDatabaseStore.put(data, for: key, of: name) }

  public func data(for key: String) throws -> Data? { try secureDatabaseStore.value(for: key, of: name) }

  public func removeData(for key: String) throws { try secureDatabaseStore.removeValue(for: key, of: name) }

  public func keys() throws -> Set<String> { try secureDatabaseStore.keys(of: name) }
}
