import CSQLite
import MartletEngine
import MartletSemantics

/// A connection to a database file, with its prepared statements.
///
/// Statements are prepared once and kept, so the number of different texts must be fixed: values are bound, never
/// written into the text.
// SAFETY: a connection is used by one owner at a time: the `Writer` actor, or the caller that took it out of the
// `IdleConnections`, which is a Mutex. So SQLite's own mutexes are disabled (NOMUTEX); `init` refuses a library that
// was built without thread safety.
final class DatabaseConnection: @unchecked Sendable {
  /// The identity of the file, whose name may refer to another file later.
  let identity: FileIdentity
  /// Whether the operating system opened the file as read-only.
  let isOpenedReadOnly: Bool
  /// Whether no other connection can use the file in the meantime.
  let isExclusive: Bool
  /// The files after the connection was opened for writing, and after its last transaction: see
  /// ``FileStamp/isOutdated(by:)``.
  var stamp: FileStamp?
  private let handle: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]
  /// The last used statement. It is most often the next one too, and its text is compared faster than hashed.
  private var last: (text: String, statement: OpaquePointer)?
  /// Whether removed data still has to be erased: see ``eraseAfterCommit()``.
  private var isErasing = false

  /// How long a call waits for a write of another process.
  private let patience: LockPatience
  /// How long an erasure waits for other connections: long enough for a read, but not for a program that reads for
  /// minutes.
  private static let erasureMilliseconds: Int32 = 250
  /// The maximum number of pages that an erasure rewrites: 1 MiB, which takes milliseconds.
  private static let rewritingLimit: Int64 = 256

  /// Opens an existing file.
  ///
  /// - Parameters:
  ///   - patience: how long a call waits for a write of another process.
  ///   - exclusively: uses no shared memory, for which a full disk has no space. No other connection can then use the
  ///     file.
  init(opening file: DatabaseFile, _ patience: LockPatience, exclusively: Bool = false) throws {
    guard sqlite3_threadsafe() != 0 else { throw SQLiteFailure.singleThreaded }
    identity = file.identity
    isExclusive = exclusively
    self.patience = patience
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(file.path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteFailure(of: opened, code: code)
    }
    handle = opened
    // Checked before the header is read, which may make it read-only too.
    isOpenedReadOnly = sqlite3_db_readonly(opened, "main") == 1
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, patience.milliseconds)
    if file.size > 0, let header = header(), !file.isDatabase(header) { throw file.notADatabase }
    if exclusively { try script("PRAGMA locking_mode = EXCLUSIVE") }
    // The first read opens the journal by name: if the name still refers to this file afterwards, file and journal
    // belong together.
    try run("PRAGMA user_version")
    guard identity == file.identity else { throw SQLiteFailure.fileMoved }
  }

  /// Returns the first 100 bytes of the file; nil if they cannot be read. They are read through SQLite, because closing
  /// a descriptor of our own would release SQLite's locks in this process.
  private func header() -> [UInt8]? {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &pointer)
    guard code == SQLITE_OK, let pointer, let methods = pointer.pointee.pMethods?.pointee else { return nil }
    var header = [UInt8](repeating: 0, count: 100)
    let read = methods.xRead?(pointer, &header, Int32(header.count), 0)
    // SQLite fills the bytes that a shorter file does not have with zeros. (SQLITE_IOERR_SHORT_READ is a macro.)
    return read == SQLITE_OK || read == SQLITE_IOERR | 2 << 8 ? header : nil
  }

  /// Opens an empty database in memory.
  init() throws(SQLiteFailure) {
    identity = .none
    isOpenedReadOnly = false
    isExclusive = false
    patience = .long
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

  /// Runs a statement and ignores its rows.
  func run(_ text: String, _ values: [SQLiteValue] = []) throws(SQLiteFailure) {
    try step(text, values) { _ in true }
  }

  /// Returns the first row of a query; nil if there is none.
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

  /// Returns all rows of a query.
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

  /// Runs statements separated by semicolons without keeping them, and ignores their rows.
  func script(_ text: String) throws(SQLiteFailure) {
    let code = sqlite3_exec(handle, text, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteFailure(of: handle, code: code) }
  }

  /// Whether the pages of the file are consistent: each belongs to one table, and no row or free range overlaps
  /// another. It reads the whole file.
  func isConsistent() throws(SQLiteFailure) -> Bool {
    try first("PRAGMA quick_check(1)") { $0.text(0) } == "ok"
  }

  /// Whether SQLite refuses to write because of the file's permissions or header.
  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  /// The number of rows that the last statement inserted, changed or deleted.
  var changes: Int64 { sqlite3_changes64(handle) }

  /// Runs the work in a transaction, which is atomic even if the process is killed. The write lock is acquired at the
  /// beginning, so that data read in the transaction is still valid when it writes.
  ///
  /// - Parameter patience: how long it waits for writes of others; nil for that of the connection.
  func transaction<R>(_ patience: LockPatience? = nil, _ work: () throws -> R) throws -> R {
    if let patience { sqlite3_busy_timeout(handle, patience.milliseconds) }
    defer { if patience != nil { sqlite3_busy_timeout(handle, self.patience.milliseconds) } }
    let result: R
    do {
      try run("BEGIN IMMEDIATE")
      result = try work()
      try run("COMMIT")
    } catch {
      // Some errors, such as a full disk, have already rolled it back.
      if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
      // The journal keeps its size after growing, and other files need the space.
      if (error as? SQLiteFailure)?.isFull == true { _ = try? emptyJournal() }
      throw error
    }
    if isErasing { isErasing = (try? erase()) != true }
    return result
  }

  /// Erases the data that this transaction removes, from all files, after the commit.
  ///
  /// Deleted rows are overwritten in the file (`secure_delete`). Copies remain in the journal, and in unused parts of
  /// pages from which rows were moved. So the journal is emptied, and a file of up to 1 MiB is rewritten. That is
  /// impossible while another connection reads an earlier state: it is then done after the next transaction, or when a
  /// store opens the file.
  func eraseAfterCommit() { isErasing = true }

  private func erase() throws(SQLiteFailure) -> Bool {
    let (all, free) = try pages()
    sqlite3_busy_timeout(handle, Self.erasureMilliseconds)
    defer { sqlite3_busy_timeout(handle, patience.milliseconds) }
    if all - free <= Self.rewritingLimit { try script("VACUUM") }
    return try emptyJournal()
  }

  /// Returns the number of the file's pages, and of the free ones among them.
  func pages() throws(SQLiteFailure) -> (all: Int64, free: Int64) {
    (
      try first("PRAGMA page_count") { $0.integer(0) } ?? 0, try first("PRAGMA freelist_count") { $0.integer(0) } ?? 0
    )
  }

  func pageSize() throws(SQLiteFailure) -> Int64 { try first("PRAGMA page_size") { $0.integer(0) } ?? 0 }

  /// Writes the journal into the file, and makes it empty.
  ///
  /// - Returns: false if another connection still needs it.
  /// - Throws: ``SQLiteFailure`` if, for example, the file cannot grow.
  func emptyJournal() throws(SQLiteFailure) -> Bool {
    sqlite3_busy_timeout(handle, Self.erasureMilliseconds)
    defer { sqlite3_busy_timeout(handle, patience.milliseconds) }
    return try first("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) } == 0
  }

  private func step(
    _ text: String, _ values: [SQLiteValue], _ isMoreWanted: (SQLiteRow) -> Bool
  ) throws(SQLiteFailure) {
    let statement = try prepared(text)
    // An unfinished statement would keep its lock and values.
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
    if let last, last.text == text { return last.statement }
    if let statement = statements[text] {
      last = (text, statement)
      return statement
    }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw SQLiteFailure(of: handle, code: code) }
    statements[text] = statement
    last = (text, statement)
    return statement
  }
}

/// The value of a statement's parameter.
enum SQLiteValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// Returns a date as seconds since the reference date, without rounding, like `Date`. NaN becomes the reference date,
  /// because SQLite has no NaN.
  static func date(_ date: Date) -> SQLiteValue {
    let seconds = date.timeIntervalSinceReferenceDate
    return .real(seconds.isNaN ? 0 : seconds)
  }

  /// Returns an identifier as sixteen bytes.
  static func id(_ id: UUID) -> SQLiteValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  /// Binds the value, which SQLite copies.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let value): sqlite3_bind_int64(statement, index, value)
    case .real(let value): sqlite3_bind_double(statement, index, value)
    case .text(let value):
      // With its length, because a string may contain NUL.
      sqlite3_bind_text64(statement, index, value, UInt64(value.utf8.count), Self.copied, UInt8(SQLITE_UTF8))
    case .blob(let value) where value.isEmpty:
      sqlite3_bind_zeroblob(statement, index, 0)  // A null pointer would mean NULL.
    case .blob(let value):
      value.withUnsafeBytes {
        sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), Self.copied)
      }
    }
  }

  /// SQLITE_TRANSIENT, a macro that Swift does not import.
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

/// The current row of a statement, valid while it is read. Columns are counted from 0.
struct SQLiteRow {
  private let statement: OpaquePointer

  init(of statement: OpaquePointer) { self.statement = statement }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  /// Whether the value is stored as a text. Call it before reading the value, which may convert it.
  func isText(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_TEXT }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

  func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

  func date(_ column: Int32) -> Date { Date(timeIntervalSinceReferenceDate: real(column)) }

  func id(_ column: Int32) -> UUID {
    var bytes = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)).uuid
    guard let start = sqlite3_column_blob(statement, column) else { return UUID(uuid: bytes) }
    let count = Int(sqlite3_column_bytes(statement, column))
    withUnsafeMutableBytes(of: &bytes) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: start, count: min(16, count)))
    }
    return UUID(uuid: bytes)
  }

  func text(_ column: Int32) -> String { withText(column) { String(decoding: $0, as: UTF8.self) } }

  /// Passes the bytes of a text to the closure, without creating a string.
  func withText<R>(_ column: Int32, _ read: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    // The text must be read first, because that may change the byte count.
    let start = sqlite3_column_text(statement, column)
    return read(
      UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column))))
  }

  func blob(_ column: Int32) -> Data {
    guard let start = sqlite3_column_blob(statement, column) else { return Data() }
    return Data(bytes: start, count: Int(sqlite3_column_bytes(statement, column)))
  }
}
