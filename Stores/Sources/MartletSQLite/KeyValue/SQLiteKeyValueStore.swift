@_spi(Stores) public import MartletEngine
public import MartletSemantics

/// A ``Martlet/KeyValueStore`` in a SQLite file, for credentials, tokens and settings.
///
/// ```swift
/// let store = try SQLiteKeyValueStore(at: folder.appending(path: "values.sqlite"))
/// try await store.set(Data(token.utf8), for: "token")
/// ```
///
/// Several processes can use the file at the same time, and a killed process does not damage it. Only the owner of the
/// file can read it. It is not encrypted. It must be on a local disk, because SQLite shares memory between processes. A
/// file that is damaged, foreign or of a later version is set aside: ``SetAsideFile``.
///
/// A removed value is erased from the files. If another process reads the file in the meantime for longer than a
/// quarter of a second, a copy remains until the next write after it, or until a store opens the file. A replaced value
/// is overwritten; a copy may remain in the journal until the next removal, or until the last store of the file is
/// closed. In a file of more than 1 MiB, copies of short values may remain until most values are removed.
///
/// On a full disk the store can be opened and read; writing throws an error that names the disk. Removing all values
/// needs no space. If another process keeps the file locked, each call waits for up to five seconds, and so does
/// opening it, which is no error.
///
/// A value that was set can be read after a restart, or the call has thrown, even if the process is killed, or if the
/// files are deleted, cut or overwritten while the store is open.
///
/// Each value has a checksum; a damaged one is treated as missing, and never returned.
///
/// A value may have up to 1,000,000,000 bytes, and is completely in memory while it is read or written. Errors are
/// ``Martlet/HTTPError`` of kind `.file`, with the file and the remedy. Reads run off the caller's actor.
public struct SQLiteKeyValueStore: KeyValueStore {
  private let database: Database

  /// Opens the store, and creates its file and folder if they do not exist. This blocks for a few milliseconds.
  ///
  /// - Parameters:
  ///   - file: a file URL. SQLite keeps two more files beside it, with `-wal` and `-shm` appended to its name.
  ///   - onSetAside: called when a file could not be used and was replaced by an empty one.
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public init(
    at file: URL, onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    database = try Database(at: file, Self.schema, onSetAside: onSetAside)
  }

  /// Opens a store with keys whose values are useless without each other, and without which all others are. A file with
  /// values that lacks one of these, or has a damaged one, is damaged.
  @_spi(Stores) public init(
    at file: URL, requiring keys: [String], onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) throws(HTTPError) {
    var schema = Self.schema
    schema.repair = { connection in
      let isRepaired = try Self.repairRows(connection)
      let hasValues = try connection.first("SELECT 1 FROM entry") { _ in true } ?? false
      if hasValues, try keys.contains(where: { try Self.lookUp($0)(connection) == nil }) {
        throw SQLiteFailure.inconsistent
      }
      return isRepaired
    }
    database = try Database(at: file, schema, onSetAside: onSetAside)
  }

  @concurrent public func value(for key: String) async throws -> Data? {
    try await database.read(Self.lookUp(key))
  }

  public func set(_ value: Data, for key: String) async throws {
    try await database.write(Self.put(value, key))
  }

  public func value(for key: String, orSetting value: Data) async throws -> Data {
    try await database.write { connection in
      if let present = try Self.lookUp(key)(connection) { return present }
      try Self.put(value, key)(connection)
      return value
    }
  }

  public func removeValue(for key: String) async throws {
    try await database.write(Self.remove(key))
  }

  public func removeAll() async throws {
    try await database.removeAll { connection in
      try connection.run("DELETE FROM entry")
      connection.eraseAfterCommit()
      return true
    }
  }

  @concurrent public func keys() async throws -> [String] {
    try await database.read(Self.list)
  }

  // MARK: - Operations

  private static func lookUp(_ key: String) -> @Sendable (DatabaseConnection) throws -> Data? {
    { connection in
      let found = try connection.first("SELECT value, value_sum FROM entry WHERE key = ?", [.text(key)]) { row in
        let value = row.blob(0)
        return row.isNull(1) || row.integer(1) == Checksum.of(.text(key), value) ? value : nil
      }
      return found ?? nil
    }
  }

  private static func put(_ value: Data, _ key: String) -> @Sendable (DatabaseConnection) throws -> Void {
    {
      try $0.run(
        """
        INSERT INTO entry (key, key_sum, value_sum, value) VALUES (?, ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET value_sum = excluded.value_sum, value = excluded.value
        """,
        [.text(key), .integer(sum(of: key)), .integer(Checksum.of(.text(key), value)), .blob(value)])
    }
  }

  private static func remove(_ key: String) -> @Sendable (DatabaseConnection) throws -> Void {
    { connection in
      try connection.run("DELETE FROM entry WHERE key = ?", [.text(key)])
      if connection.changes > 0 { connection.eraseAfterCommit() }
    }
  }

  private static let list: @Sendable (DatabaseConnection) throws -> [String] = {
    try $0.all("SELECT key, key_sum FROM entry ORDER BY key") { row in
      let key = row.text(0)
      return row.isNull(1) || row.integer(1) == sum(of: key) ? key : nil
    }.compactMap { $0 }
  }

  private static func sum(of key: String) -> Int64 {
    var sum = Checksum()
    sum.add(.text(key))
    return sum.value
  }

  private static let schema = Schema(
    application: 0x4D6C_4B56,  // "MlKV"
    steps: [
      "CREATE TABLE entry (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value BLOB NOT NULL)",
      // Checksums, in columns before the values so that keys can be listed without reading the values. Older rows have
      // none, and neither do rows written by a process of the previous version.
      """
      ALTER TABLE entry RENAME TO unchecked;
      CREATE TABLE entry (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, key_sum INTEGER, value_sum INTEGER, value BLOB NOT NULL
      );
      INSERT INTO entry SELECT number, key, NULL, NULL, value FROM unchecked;
      DROP TABLE unchecked;
      CREATE TRIGGER value_changed AFTER UPDATE OF value ON entry
        WHEN new.value_sum IS old.value_sum AND new.value IS NOT old.value
      BEGIN UPDATE entry SET value_sum = NULL WHERE number = new.number; END;
      """,
    ],
    layout: "PRAGMA auto_vacuum = FULL;",
    repair: repairRows)

  /// Removes rows with a damaged key, and rebuilds the index if it does not match the table. A key at a wrong position
  /// would hide others, and one with a wrong row would return another value.
  ///
  /// Returns whether anything was damaged.
  ///
  /// - Throws: ``SQLiteFailure/inconsistent`` if the rows are out of order.
  private static let repairRows: @Sendable (DatabaseConnection) throws -> Bool = { connection in
    let rows = try connection.all("SELECT number, key, key_sum FROM entry NOT INDEXED") { row in
      // A text that damage has marked as a blob is not found.
      (number: row.integer(0), isText: row.isText(1), key: row.text(1), sum: row.isNull(2) ? nil : row.integer(2))
    }
    guard zip(rows, rows.dropFirst()).allSatisfy({ $0.number < $1.number }) else { throw SQLiteFailure.inconsistent }
    let damaged = rows.filter { !$0.isText || ($0.sum != nil && $0.sum != sum(of: $0.key)) }
    let indexed = try connection.all("SELECT number, key FROM entry ORDER BY key") { ($0.integer(0), $0.text(1)) }
    let sorted = rows.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let isIndexed = indexed.elementsEqual(sorted) { $0.0 == $1.number && $0.1 == $1.key }
    guard !damaged.isEmpty || !isIndexed else { return false }
    try connection.script("REINDEX entry")
    for row in damaged { try connection.run("DELETE FROM entry WHERE number = ?", [.integer(row.number)]) }
    return true
  }
}

/// Synchronous versions, for APIs that cannot suspend. Reads take microseconds; writes wait for others, at most five
/// seconds.
@_spi(Stores) extension SQLiteKeyValueStore {
  public func blockingValue(for key: String) throws(HTTPError) -> Data? { try database.blockingRead(Self.lookUp(key)) }

  public func blockingSet(_ value: Data, for key: String) throws(HTTPError) {
    try database.blockingWrite(Self.put(value, key))
  }

  /// Changes values in one transaction.
  ///
  /// - Parameters:
  ///   - keys: the keys whose values the change needs. A damaged value counts as missing.
  ///   - change: changes these values, or adds others. It may be called twice, so it must not have other effects.
  public func blockingUpdate<R>(
    _ keys: [String], _ change: (inout [String: Data]) -> R
  ) throws(HTTPError) -> R {
    try database.blockingWrite { connection in
      var values: [String: Data] = [:]
      for key in keys { values[key] = try Self.lookUp(key)(connection) }
      let before = values
      let result = change(&values)
      for (key, value) in values where before[key] != value { try Self.put(value, key)(connection) }
      for key in before.keys where values[key] == nil { try Self.remove(key)(connection) }
      return result
    }
  }

  public func blockingRemoveValue(for key: String) throws(HTTPError) {
    try database.blockingWrite(Self.remove(key))
  }

  public func blockingKeys() throws(HTTPError) -> [String] { try database.blockingRead(Self.list) }
}
