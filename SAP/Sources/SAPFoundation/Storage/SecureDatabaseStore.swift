@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// An encrypted file that has the values of one or more ``SecureKeyValueStore``s.
///
/// - The file is a SQLite file, whose values are encrypted with AES-256-GCM (``EncryptedDataStore``). Names of values
///   are hashes with a key. Readable are only the number of values, their sizes, and when they were written.
/// - Their key is random. It is in the file, encrypted with a key that PBKDF2-HMAC-SHA-256 derives from the passcode
///   (RFC 8018 §5.2), with a random salt and 600,000 steps. So ``open(with:)`` takes some tenths of a second, and so
///   does each guess of an attacker who has the file. A short passcode can be guessed nevertheless.
/// - Without the passcode the values are lost.
/// - A damaged file is renamed, and an empty one replaces it. The log has the new name. A file whose encrypted key or
///   salt was changed is damaged, too, and no passcode is reported as wrong because of it.
/// - **A value that was accepted can be read after a restart**, or the call throws. If the file is deleted, cut or
///   damaged while the store is open, the next write begins a new file, with the same key and passcode.
/// - A value that cannot be decrypted, because it was changed or written with another key, is an error if it is read.
///   It is not among the keys, and does not prevent the removal of others.
///
/// SAP's file is an encrypted SQL database (AES-256), with methods for SQL, which this one does not have. The formats
/// differ. Any thread may use it, and so may several processes at once, from the first time on.
public final class SecureDatabaseStore: Sendable {
  /// The parts of an open file.
  fileprivate struct Content {
    let file: KeyedFile
    let values: EncryptedDataStore
    /// The keys of values and names.
    let secrets: Data

    var nameKey: Data { Data(secrets.dropFirst(32)) }
  }

  /// How the key is derived from the passcode.
  private struct Derivation: Codable {
    var salt = EncryptedDataStore.makeKey()
    var steps: Int32 = 600_000
    /// A file itself sets the number of steps, up to hours of work.
    static let limit: Int32 = 5_000_000
  }

  /// The file. SQLite keeps two more files beside it. Without a folder for data it is only a name, and opening throws.
  public let file: URL
  /// Why there can be no file; nil if there can be one.
  private let noFolder: HTTPError?
  private let content = Locked<Content?>(nil)

  /// Makes a store, which is closed.
  ///
  /// - Parameter databaseFileName: a name in the app's folder (`~/.local/share/APP/SAPFoundation` on Linux), or an
  ///   absolute path.
  public init(databaseFileName: String = "SecureStore.sqlite") {
    do throws(HTTPError) {
      (file, noFolder) = (try ProgramFolder.dataFile(databaseFileName), nil)
    } catch {
      (file, noFolder) = (URL(filePath: databaseFileName), error)
    }
  }

  /// Whether the store is open.
  public var isOpen: Bool { content.withLock { $0 != nil } }

  /// Opens the store; a new file gets this passcode. Does nothing if it is open.
  ///
  /// - Throws: ``SecureStorageError/authenticationFailed(message:)`` if the passcode is wrong or empty, and
  ///   ``SecureStorageError/openFailed(code:message:)`` if the file cannot be read. If it was damaged, the message has
  ///   its new name, and the next call begins with an empty file.
  public func open(with encryptionKey: String) throws {
    guard !isOpen else { return }
    defer { SessionLog.writeKept() }
    let opened = try backed({ .openFailed(code: $0, message: $1) }) {
      if let noFolder { throw noFolder }
      return try Self.content(of: file, encryptionKey)
    }
    content.withLock { $0 = $0 ?? opened }
  }

  /// Closes the store, and forgets its key.
  public func close() { content.withLock { $0 = nil } }

  /// Replaces the passcode. The values are not written again, because their own key stays. (SAP publishes the error of
  /// such a method, and not its name.)
  public func changeEncryptionKey(with newKey: String) throws {
    let content = try opened()
    try backed({ .encryptionKeyChangeFailed(code: $0, message: $1) }) {
      let key = try Self.key(from: newKey, content.file.derivation)
      try EncryptedDataStore(store: content.file, key: key).put(data: content.secrets, for: KeyedFile.secrets)
    }
  }

  private static func content(of url: URL, _ passcode: String) throws -> Content {
    guard !passcode.isEmpty else { throw SecureStorageError.authenticationFailed(message: "the passcode is empty") }
    let setAside = Locked<SetAsideFile?>(nil)
    let file = try SQLiteDataStore(at: url, requiring: KeyedFile.names) { damaged in
      setAside.withLock { $0 = damaged }
      SessionLog.keep(.error, "SecureDatabaseStore", "\(damaged)")
    }
    var keys: [String: Data] = [:]
    for name in KeyedFile.names { keys[name] = try file.data(for: name) }
    // An empty file that replaces a damaged one would get any passcode.
    if let damaged = setAside.withLock({ $0 }) {
      throw SecureStorageError.openFailed(code: 26, message: "\(damaged)")
    }
    if keys.isEmpty {
      let new = try makeKeys(for: passcode)
      // Another process may have been faster: the file then has its keys.
      keys = try file.update(KeyedFile.names) { stored in
        if stored.isEmpty { stored = new }
        return stored
      }
    }
    let keyed = try KeyedFile(file, keys)
    let secrets = try secrets(in: keys, passcode)
    return Content(
      file: keyed, values: try EncryptedDataStore(store: keyed, key: Data(secrets.prefix(32))), secrets: secrets)
  }

  /// Returns the keys of a new file.
  private static func makeKeys(for passcode: String) throws -> [String: Data] {
    let (derivation, sealed) = (try PlistCoder().encode(Derivation()), MemoryDataStore())
    try EncryptedDataStore(store: sealed, key: key(from: passcode, derivation))
      .put(data: EncryptedDataStore.makeKey() + EncryptedDataStore.makeKey(), for: KeyedFile.secrets)
    return [KeyedFile.derivation: derivation, KeyedFile.secrets: sealed.data(for: KeyedFile.secrets) ?? Data()]
  }

  /// Returns the keys of values and names.
  private static func secrets(in keys: [String: Data], _ passcode: String) throws -> Data {
    let sealed = MemoryDataStore()
    for (name, data) in keys { sealed.put(data: data, for: name) }
    let store = try EncryptedDataStore(
      store: sealed, key: key(from: passcode, sealed.data(for: KeyedFile.derivation) ?? Data()))
    do {
      return try store.data(for: KeyedFile.secrets) ?? Data()
    } catch EncryptedDataStoreError.cannotDecrypt {
      throw SecureStorageError.authenticationFailed(message: "the passcode is not that of the file")
    }
  }

  /// Returns the passcode's key.
  private static func key(from passcode: String, _ stored: Data) throws -> Data {
    guard !passcode.isEmpty else { throw SecureStorageError.authenticationFailed(message: "the passcode is empty") }
    let derivation = try PlistCoder().decode(Derivation.self, from: stored)
    guard (1...Derivation.limit).contains(derivation.steps),
      let key = PasswordKey.derive(from: passcode, salt: derivation.salt, steps: derivation.steps)
    else { throw SecureStorageError.openFailed(code: 26, message: "the key cannot be derived as the file says") }
    return key
  }
}

/// The file of a store, in which each write finds the keys that open it, or adds them. The file may be another one than
/// before: a new one that replaces a file that was deleted or damaged.
private final class KeyedFile: DataStoring {
  /// How the key of the passcode is derived.
  static let derivation = "derivation"
  /// The keys of values and names, encrypted with that of the passcode.
  static let secrets = "secrets"
  static let names = [derivation, secrets]

  private let file: SQLiteDataStore
  private let known: Locked<[String: Data]>
  let derivation: Data

  init(_ file: SQLiteDataStore, _ keys: [String: Data]) throws {
    guard let derivation = keys[Self.derivation], keys[Self.secrets] != nil else {
      throw SecureStorageError.openFailed(code: 26, message: "the file was damaged while it was opened")
    }
    (self.file, known, self.derivation) = (file, Locked(keys), derivation)
  }

  func put(data: Data, for key: String) throws {
    let keys = known.withLock { $0 }
    let isOwn = try file.update(Self.names) { values in
      // The salt is random, and a new passcode does not change it: another one belongs to other keys.
      guard [derivation, nil].contains(values[Self.derivation]) else { return false }
      values.merge(keys) { stored, _ in stored }
      values[key] = data
      return true
    }
    guard isOwn else { throw SecureStorageError.fileOfOthers }
    known.withLock { if $0[key] != nil { $0[key] = data } }
  }

  func data(for key: String) throws -> Data? { try file.data(for: key) }

  func removeData(for key: String) throws { try file.removeData(for: key) }

  /// The names of values.
  func keys() throws -> Set<String> { try file.keys().subtracting(Self.names) }
}

// MARK: - Values

extension SecureDatabaseStore {
  /// A value with its names, which are encrypted together.
  private struct Entry: Codable {
    let store: String
    let key: String
    let value: Data
  }

  func put(_ value: Data, for key: String, of store: String) throws {
    let content = try opened()
    try backed {
      let entry = try PlistCoder().encode(Entry(store: store, key: key, value: value))
      try content.values.put(data: entry, for: Self.name(of: key, store, content.nameKey))
    }
  }

  func value(for key: String, of store: String) throws -> Data? {
    let content = try opened()
    return try backed {
      try content.values.data(for: Self.name(of: key, store, content.nameKey))
        .map { try PlistCoder().decode(Entry.self, from: $0).value }
    }
  }

  func removeValue(for key: String, of store: String) throws {
    let content = try opened()
    try backed { try content.values.removeData(for: Self.name(of: key, store, content.nameKey)) }
  }

  func keys(of store: String) throws -> Set<String> {
    let content = try opened()
    return try backed {
      var keys: Set<String> = []
      for name in try content.file.keys() {
        do {
          guard let data = try content.values.data(for: name) else { continue }
          let entry = try PlistCoder().decode(Entry.self, from: data)
          if entry.store == store { keys.insert(entry.key) }
        } catch is EncryptedDataStoreError {
          continue  // It was written with another key, or changed: no store of this file has written it so.
        }
      }
      return keys
    }
  }

  private func opened() throws -> Content {
    guard let content = content.withLock({ $0 }) else { throw SecureStorageError.closed }
    return content
  }

  /// Returns the name of a value in the file. The hash of a hash cannot be continued by adding text (RFC 2104).
  private static func name(of key: String, _ store: String, _ nameKey: Data) throws -> String {
    let text = Data("\(store.utf8.count) \(store)\(key)".utf8)
    guard let inner = MessageDigest.hash(.sha256, nameKey + text),
      let hash = MessageDigest.hash(.sha256, nameKey + inner)
    else { throw SecureStorageError.backingStoreError(code: 1, message: "this platform offers no SHA-256") }
    return hash.base64EncodedString()
  }

  /// Runs work, and reports errors of the file and of the encryption in SAP's cases.
  private func backed<Value>(
    _ failure: (_ code: Int, _ message: String) -> SecureStorageError = { .backingStoreError(code: $0, message: $1) },
    _ work: () throws -> Value
  ) throws -> Value {
    do { return try work() } catch let error as SecureStorageError { throw error } catch {
      throw failure(1, (error as? HTTPError)?.message ?? "\(error)")
    }
  }
}

/// The error of a ``SecureKeyValueStore`` and its file.
public enum SecureStorageError: SAPError, Sendable, Hashable {
  /// The file cannot be opened. (The code is 1 or 26, SQLite's general ones; the message has the reason.)
  case openFailed(code: Int, message: String)
  /// The store is closed: call `open(with:)`.
  case closed
  /// The passcode is wrong.
  case authenticationFailed(message: String)
  /// The passcode could not be changed. The old one is still valid.
  case encryptionKeyChangeFailed(code: Int, message: String)
  /// The value has another type.
  case typeConversionFailed
  /// The file cannot be read or written, or a value in it has been changed.
  case backingStoreError(code: Int, message: String)

  fileprivate static let fileOfOthers = backingStoreError(
    code: 1, message: "another store has begun a new file, with another key: close the store, and open it again")

  /// The problem, and the remedy if there is one.
  public var description: String {
    switch self {
    case .openFailed(_, let message): "The secure store cannot be opened: \(message)."
    case .closed: "The secure store is closed: open it with the passcode."
    case .authenticationFailed(let message): "The secure store stays closed: \(message)."
    case .encryptionKeyChangeFailed(_, let message): "The passcode was not changed: \(message)."
    case .typeConversionFailed: "The value does not have the requested type."
    case .backingStoreError(_, let message): "The secure store failed: \(message)."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
