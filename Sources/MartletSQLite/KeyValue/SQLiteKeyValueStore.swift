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
/// Each value has a checksum: one of which a byte changed on the disk is gone, and never returned.
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
    { connection in
      let found = try connection.first("SELECT value, value_sum FROM entry WHERE key = ?", [.text(key)]) { row in
        let value = row.blob(0)
        return row.isNull(1) || row.integer(1) == Checksum.of(.text(key), value) ? value : nil
      }
      return found ?? nil
    }
  }

  private static func put(_ value: Data, _ key: String) -> @Sendable (Connection) throws -> Void {
    {
      try $0.run(
        """
        INSERT INTO entry (key, key_sum, value_sum, value) VALUES (?, ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET value_sum = excluded.value_sum, value = excluded.value
        """,
        [.text(key), .integer(sum(of: key)), .integer(Checksum.of(.text(key), value)), .blob(value)])
    }
  }

  private static func remove(_ key: String) -> @Sendable (Connection) throws -> Void {
    { try $0.run("DELETE FROM entry WHERE key = ?", [.text(key)]) }
  }

  private static let list: @Sendable (Connection) throws -> [String] = {
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
      // Checksums, before the values so that keys can be listed without these. What is older has none, nor has what
      // a process of the version before writes that still has the file open.
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
    settings: "PRAGMA secure_delete = ON;",
    layout: "PRAGMA auto_vacuum = FULL;",
    mending: mend)

  /// Removes what has a damaged key, and makes the index anew where it is not that of the table: a key at a wrong place would
  /// hide others, and one with a wrong row would exchange their values.
  ///
  /// - Throws: ``SQLiteFailure/inconsistent`` where the rows themselves are out of order.
  private static let mend: @Sendable (Connection) throws -> Void = { connection in
    let rows = try connection.all("SELECT number, key, key_sum FROM entry NOT INDEXED") { row in
      (number: row.integer(0), key: row.text(1), sum: row.isNull(2) ? nil : row.integer(2))
    }
    guard zip(rows, rows.dropFirst()).allSatisfy({ $0.number < $1.number }) else { throw SQLiteFailure.inconsistent }
    let damaged = rows.filter { $0.sum != nil && $0.sum != sum(of: $0.key) }
    let indexed = try connection.all("SELECT number, key FROM entry ORDER BY key") { ($0.integer(0), $0.text(1)) }
    let sorted = rows.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let isIndexed = indexed.elementsEqual(sorted) { $0.0 == $1.number && $0.1 == $1.key }
    guard !damaged.isEmpty || !isIndexed else { return }
    try connection.script("REINDEX entry")
    for row in damaged { try connection.run("DELETE FROM entry WHERE number = ?", [.integer(row.number)]) }
  }
}

/// The same at once, for surfaces whose documented storage cannot suspend: reads take microseconds, writes wait for others,
/// five seconds at most.
extension SQLiteKeyValueStore {
  package func valueNow(for key: String) throws(HTTPError) -> Data? { try database.readNow(Self.lookUp(key)) }

  package func setNow(_ value: Data, for key: String) throws(HTTPError) { try database.writeNow(Self.put(value, key)) }

  package func removeValueNow(for key: String) throws(HTTPError) { try database.writeNow(Self.remove(key)) }

  package func keysNow() throws(HTTPError) -> [String] { try database.readNow(Self.list) }
}
