import CSQLite
import MartletEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An error of SQLite.
struct SQLiteFailure: Error {
  /// The extended result code.
  let code: Int32
  /// The message of SQLite, which contains names of tables and columns, but no values.
  let message: String
  /// Whether a migration step failed, which says nothing about the state of the file.
  var isOfMigration = false

  /// Creates the error of the last call of a connection, with the system error that caused it.
  init(of handle: OpaquePointer?, code: Int32) {
    let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
    let reason = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF) ? handle.map(sqlite3_system_errno) ?? 0 : 0
    self.init(code: code, message: reason == 0 ? message : message + ", " + String(cString: strerror(reason)))
  }

  private init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }

  /// The name of the file refers to another file: SQLITE_READONLY_DBMOVED, a macro that Swift does not import.
  static let fileMoved = SQLiteFailure(code: SQLITE_READONLY | 4 << 8, message: "its name refers to another file")
  /// The operating system opened the file for reading only.
  static let readOnly = SQLiteFailure(code: SQLITE_READONLY, message: "the file was opened for reading only")
  /// The stored data is inconsistent, although SQLite reports no error.
  static let inconsistent = SQLiteFailure(code: SQLITE_CORRUPT, message: "the stored data is inconsistent")
  /// The library was built without support for threads.
  static let singleThreaded = SQLiteFailure(code: SQLITE_MISUSE, message: "the library was built for one thread")

  private var primary: Int32 { code & 0xFF }

  /// Whether the content of the file is certainly damaged, so that only a new file helps.
  var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }

  /// Whether the content of the file may be damaged. The statements of a store match its tables, and its values match
  /// their columns: a statement that fails (ERROR) or violates a constraint may have found tables, triggers or rows
  /// that were changed on disk, or those of a later version that another process has migrated to.
  var mayBeDamage: Bool {
    switch primary {
    case SQLITE_CORRUPT, SQLITE_NOTADB: true
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT: !isOfMigration
    default: false
    }
  }

  /// Whether the file was removed or replaced, or cannot be found.
  var isMissingFile: Bool { primary == SQLITE_CANTOPEN || code == Self.fileMoved.code }

  /// Returns the error for the caller, with the file, the reason and the remedy.
  func error(file path: String) -> HTTPError {
    HTTPError(.file, "'\(path)' \(remedy) (SQLite: \(message), code \(code))", underlying: self)
  }

  private var remedy: String {
    switch primary {
    case SQLITE_BUSY, SQLITE_LOCKED:
      "was locked by another process for too long: let it finish, or use a file of your own"
    case SQLITE_FULL: "cannot grow: free space on its disk, or lower what may be stored"
    case SQLITE_READONLY, SQLITE_PERM: "cannot be written: make it and its folder writable for this user"
    case SQLITE_CANTOPEN: "cannot be opened: its folder has to exist and be writable for this user"
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT, SQLITE_MISMATCH:
      "is damaged, and could not be replaced: remove it"
    case SQLITE_TOOBIG: "cannot hold a value of this size: a thousand million bytes are the most"
    case SQLITE_NOMEM: "cannot be used: memory is exhausted"
    case SQLITE_IOERR: "cannot be read or written: check its disk"
    default: "cannot be used"
    }
  }
}

/// Decides how often work is repeated after a failure, and whether the file is replaced.
struct FailureCount {
  private var failures = 0

  /// Returns if the work should be repeated after the file is opened again; otherwise throws the error.
  ///
  /// - Returns: Whether the file is damaged and must be replaced. If it only may be, opening it checks that, and a
  ///   second failure means that it is.
  mutating func isDamage(_ error: any Error) throws -> Bool {
    guard let failure = error as? SQLiteFailure else { throw error }
    failures += 1
    switch failures {
    case 1 where failure.mayBeDamage || failure.isMissingFile: return failure.isDamage
    case 2 where failure.mayBeDamage && !failure.isDamage: return true
    default: throw error
    }
  }
}
