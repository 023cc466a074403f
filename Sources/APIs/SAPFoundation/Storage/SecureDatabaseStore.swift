import MartletEngine

/// An encrypted file that has the values of one or more ``SecureKeyValueStore``s.
///
/// - The file is a SQLite file, whose values are encrypted with AES-256-GCM (``EncryptedDataStore``). Names of values
///   are hashes with a key. Readable are only the number of values, their sizes, and when they were written.
/// - Their key is random. It is in the file, encrypted with a key that PBKDF2-HMAC-SHA-256 derives from the passcode
///   (RFC 8018 §5.2), with a random salt and 600,000 steps. So ``open(with:)`` takes some tenths of a second, and so
///   does each guess of an attacker who has the file. A short passcode can be guessed nevertheless.
/// - Without the passcode the values are lost.
/// - A damaged file is renamed, and an empty one replaces it. The log has the new name.
///
/// SAP's file is an encrypted SQL database (AES-256), with methods for SQL, which this one does not have. The formats
/// differ. Any thread may use it. Several processes may use one file, if one of them has opened it for the first time
/// before the others.
public final class SecureDatabaseStore: Sendable {
  /// The parts of an open file.
  fileprivate struct Content {
    let file: SQLiteDataStore
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

  private static let derivationName = "derivation"
  private static let secretsName = "secrets"

  /// The file. SQLite keeps two more files beside it.
  public let file: URL
  private let content = Locked<Content?>(nil)
  /// Held while any store of the process is opened: two of them could otherwise give a new file two different keys.
  private static let opening = Locked<Void>(())

  /// Makes a store, which is closed.
  ///
  /// - Parameter databaseFileName: a name in the app's folder (`~/.local/share/APP/SAPFoundation` on Linux), or an
  ///   absolute path.
  public init(databaseFileName: String = "SecureStore.sqlite") { file = ProgramFolder.dataFile(databaseFileName) }

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
    try Self.opening.withLock { _ in
      guard !isOpen else { return }
      let opened = try backed({ .openFailed(code: $0, message: $1) }) { try Self.content(of: file, encryptionKey) }
      content.withLock { $0 = opened }
    }
  }

  /// Closes the store, and forgets its key.
  public func close() { content.withLock { $0 = nil } }

  /// Replaces the passcode. The values are not written again, because their own key stays. (SAP publishes the error of
  /// such a method, and not its name.)
  public func changeEncryptionKey(with newKey: String) throws {
    let content = try opened()
    try backed({ .encryptionKeyChangeFailed(code: $0, message: $1) }) {
      try Self.keyStore(in: content.file, newKey).put(data: content.secrets, for: Self.secretsName)
    }
  }

  private static func content(of file: URL, _ passcode: String) throws -> Content {
    let setAside = Locked<SetAsideFile?>(nil)
    let file = try SQLiteDataStore(at: file) { damaged in
      setAside.withLock { $0 = damaged }
      SessionLog.keep(.error, "SecureDatabaseStore", "\(damaged)")
    }
    // Damage may show only when these values are read. An empty file would then get any passcode.
    for name in [derivationName, secretsName] { _ = try file.data(for: name) }
    if let damaged = setAside.withLock({ $0 }) {
      throw SecureStorageError.openFailed(code: 26, message: "\(damaged)")
    }
    let keys = try keyStore(in: file, passcode)
    let secrets: Data
    do {
      if let stored = try keys.data(for: secretsName) {
        secrets = stored
      } else {
        guard try file.keys() == [derivationName] else { throw SecureStorageError.keyIsMissing }
        secrets = EncryptedDataStore.makeKey() + EncryptedDataStore.makeKey()
        try keys.put(data: secrets, for: secretsName)
      }
    } catch EncryptedDataStoreError.cannotDecrypt {
      throw SecureStorageError.authenticationFailed(message: "the passcode is not that of the file")
    }
    let values = try EncryptedDataStore(store: file, key: Data(secrets.prefix(32)))
    return Content(file: file, values: values, secrets: secrets)
  }

  /// Returns the store of the values' key, which is encrypted with the passcode's.
  private static func keyStore(in file: SQLiteDataStore, _ passcode: String) throws -> EncryptedDataStore {
    guard !passcode.isEmpty else { throw SecureStorageError.authenticationFailed(message: "the passcode is empty") }
    let coder = PlistCoder()
    let derivation: Derivation
    if let stored = try file.data(for: derivationName) {
      derivation = try coder.decode(Derivation.self, from: stored)
    } else {
      derivation = Derivation()
      try file.put(data: coder.encode(derivation), for: derivationName)
    }
    guard (1...Derivation.limit).contains(derivation.steps),
      let key = PasswordKey.derive(from: passcode, salt: derivation.salt, steps: derivation.steps)
    else { throw SecureStorageError.openFailed(code: 26, message: "the key cannot be derived as the file says") }
    return try EncryptedDataStore(store: file, key: key)
  }
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
      for name in try content.file.keys() where name != Self.derivationName && name != Self.secretsName {
        guard let data = try content.values.data(for: name) else { continue }
        let entry = try PlistCoder().decode(Entry.self, from: data)
        if entry.store == store { keys.insert(entry.key) }
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

  fileprivate static let keyIsMissing = openFailed(code: 26, message: "the file has values, but no longer their key")

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
