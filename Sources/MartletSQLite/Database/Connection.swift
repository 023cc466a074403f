import CSQLite

/// One connection to a database's file, with the statements that it has prepared.
///
/// Statements are prepared once and kept, so their text must be one of a few: values are bound, never written into it.
// SAFETY: a connection has one owner at a time, and is used by nobody else: the `Writer` actor, or the caller that took
// it out of the `ReaderPool`, which is a Mutex. That is also why SQLite is told to leave its own mutexes out (NOMUTEX);
// `init` refuses a library that was built without any.
final class Connection: @unchecked Sendable {
  /// Which file it is. Its name may come to mean another, where this one was set aside.
  let identity: FileIdentity
  /// Whether the system opened the file for reading only.
  let isOpenedReadOnly: Bool
  private let handle: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]

  /// How long a call waits for another process's write: long enough for a checkpoint on a slow disk.
  private static let busyMilliseconds: Int32 = 5_000

  /// Opens a file that exists.
  init(opening file: DatabaseFile) throws {
    guard sqlite3_threadsafe() != 0 else { throw SQLiteFailure.singleThreaded }
    identity = file.identity
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(file.path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteFailure(of: opened, code: code)
    }
    handle = opened
    // Before the header is read, which may say the same.
    isOpenedReadOnly = sqlite3_db_readonly(opened, "main") == 1
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, Self.busyMilliseconds)
    // Only a read opens the journal, by name: if the name still means the same afterwards, both belong together.
    try run("PRAGMA user_version")
    guard identity == file.identity else { throw SQLiteFailure.fileMoved }
  }

  /// Opens an empty database in memory.
  init() throws(SQLiteFailure) {
    identity = .none
    isOpenedReadOnly = false
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteFailure(of: opened, code: code)
    }
    handle = opened
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(handle)
  }

  /// Runs a statement to its end, past its rows.
  func run(_ text: String, _ values: [SQLiteValue] = []) throws(SQLiteFailure) {
    try step(text, values) { _ in true }
  }

  /// The first row of a query, nil if there is none.
  func first<R>(
    _ text: String, _ values: [SQLiteValue] = [], read: (SQLiteRow) -> R
  ) throws(SQLiteFailure) -> R? {
    var result: R?
    try step(text, values) { row in
      result = read(row)
      return false
    }
    return result
  }

  /// All rows of a query.
  func all<R>(
    _ text: String, _ values: [SQLiteValue] = [], read: (SQLiteRow) -> R
  ) throws(SQLiteFailure) -> [R] {
    var results: [R] = []
    try step(text, values) { row in
      results.append(read(row))
      return true
    }
    return results
  }

  /// Runs statements that are not worth keeping, separated by semicolons, and ignores their rows.
  func script(_ text: String) throws(SQLiteFailure) {
    let code = sqlite3_exec(handle, text, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteFailure(of: handle, code: code) }
  }

  /// Whether SQLite refuses to write: the file's permissions or its header say so.
  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  /// How many rows the last statement inserted, changed or deleted.
  var changes: Int64 { sqlite3_changes64(handle) }

  /// Does the work as one: all of it is stored, or none, whatever happens to the process. The lock for writing is taken
  /// at the beginning, so that what is read here is still so when it is written, and no other process comes between.
  func transaction<R>(_ work: () throws -> R) throws -> R {
    try run("BEGIN IMMEDIATE")
    do {
      let result = try work()
      try run("COMMIT")
      return result
    } catch {
      // A full disk, say, has rolled it back already.
      if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
      throw error
    }
  }

  private func step(
    _ text: String, _ values: [SQLiteValue], _ isMoreWanted: (SQLiteRow) -> Bool
  ) throws(SQLiteFailure) {
    let statement = try prepared(text)
    // Otherwise it would hold its lock, and the values.
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() {
      let code = value.bind(to: statement, at: Int32(index + 1))
      guard code == SQLITE_OK else { throw SQLiteFailure(of: handle, code: code) }
    }
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: guard isMoreWanted(SQLiteRow(of: statement)) else { return }
      case SQLITE_DONE: return
      case let code: throw SQLiteFailure(of: handle, code: code)
      }
    }
  }

  private func prepared(_ text: String) throws(SQLiteFailure) -> OpaquePointer {
    if let statement = statements[text] { return statement }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw SQLiteFailure(of: handle, code: code) }
    statements[text] = statement
    return statement
  }
}
