public import MartletEngine
public import MartletSemantics

/// A ``Martlet/KeyValueStore`` in a file: for credentials, tokens, settings.
///
/// ```swift
/// let store = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
/// try await store.set(Data(token.utf8), for: "token")
/// ```
///
/// Any number of processes may use the file at once, and one that is killed leaves it whole. Only the file's owner may
/// read it; what is removed is overwritten, at the latest when the last store of the file goes. It is not encrypted. It
/// must lie on a local disk: SQLite shares memory between the processes. A file that is damaged, foreign or of a later
/// version is set aside: ``SetAsideFile``.
///
/// A value may have up to a thousand million bytes, and is in memory as a whole while it is read or written. Errors are
/// ``Martlet/HTTPError`` of kind `.file`, which name the file and what to do.
public struct SQLiteKeyValueStore: KeyValueStore {
  private let database: Database

  /// Opens the store, and makes its file and folder where they are missing. This takes a few milliseconds, and blocks.
  ///
  /// - Parameters:
  ///   - file: a file URL; SQLite keeps two more files beside it, with `-wal` and `-shm` added to its name.
  ///   - onSetAside: told when a file could not be used and an empty one took its place; by default nobody is.
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public init(
    at file: URL, onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    database = try Database(at: file, Self.schema, onSetAside: onSetAside)
  }

  public func value(for key: String) async throws -> Data? {
    try await database.read(Self.lookUp(key))
  }

  public func set(_ value: Data, for key: String) async throws {
    try await database.write(Self.put(value, key))
  }

  public func removeValue(for key: String) async throws {
    try await database.write(Self.remove(key))
  }

  public func removeAll() async throws {
    try await database.write { try $0.run("DELETE FROM entry") }
  }

  public func keys() async throws -> [String] {
    try await database.read(Self.list)
  }

  // MARK: What is done

  private static func lookUp(_ key: String) -> @Sendable (Connection) throws -> Data? {
    { try $0.first("SELECT value FROM entry WHERE key = ?", [.text(key)]) { $0.blob(0) } }
  }

  private static func put(_ value: Data, _ key: String) -> @Sendable (Connection) throws -> Void {
    {
      try $0.run(
        "INSERT INTO entry (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [.text(key), .blob(value)])
    }
  }

  private static func remove(_ key: String) -> @Sendable (Connection) throws -> Void {
    { try $0.run("DELETE FROM entry WHERE key = ?", [.text(key)]) }
  }

  private static let list: @Sendable (Connection) throws -> [String] = {
    try $0.all("SELECT key FROM entry ORDER BY key") { $0.text(0) }
  }

  private static let schema = Schema(
    application: 0x4D6C_4B56,  // "MlKV"
    steps: ["CREATE TABLE entry (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL)"],
    settings: "PRAGMA secure_delete = ON;",
    layout: "PRAGMA auto_vacuum = FULL;")
}

/// The same at once, for surfaces whose documented storage cannot suspend: reads take microseconds, writes wait for others,
/// five seconds at most.
extension SQLiteKeyValueStore {
  package func valueNow(for key: String) throws(HTTPError) -> Data? { try database.readNow(Self.lookUp(key)) }

  package func setNow(_ value: Data, for key: String) throws(HTTPError) { try database.writeNow(Self.put(value, key)) }

  package func removeValueNow(for key: String) throws(HTTPError) { try database.writeNow(Self.remove(key)) }

  package func keysNow() throws(HTTPError) -> [String] { try database.readNow(Self.list) }
}
