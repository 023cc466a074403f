import CSQLite
import MartletEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What SQLite answered in place of success.
struct SQLiteFailure: Error {
  /// The extended result code.
  let code: Int32
  /// SQLite's own words, which name tables and columns, never values.
  let message: String
  /// Whether the statement is at fault, and not what it met: one that is to change the tables.
  var isOfStatement = false

  /// Takes what a connection says of its last call, and the system of the call beneath.
  init(of handle: OpaquePointer?, code: Int32) {
    let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
    let reason = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF) ? handle.map(sqlite3_system_errno) ?? 0 : 0
    self.init(code: code, message: reason == 0 ? message : message + ", " + String(cString: strerror(reason)))
  }

  private init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }

  /// The file's name means another file by now: SQLITE_READONLY_DBMOVED, a macro that Swift cannot read.
  static let fileMoved = SQLiteFailure(code: SQLITE_READONLY | 4 << 8, message: "another file has its name")
  /// The system opens the file for reading only: for want of a permission, or for a moment.
  static let readOnly = SQLiteFailure(code: SQLITE_READONLY, message: "the file was opened for reading only")
  /// What is stored contradicts itself, though SQLite finds no fault with it.
  static let inconsistent = SQLiteFailure(code: SQLITE_CORRUPT, message: "what is stored contradicts itself")
  /// The library cannot be used from several threads, not even with a connection for each.
  static let singleThreaded = SQLiteFailure(code: SQLITE_MISUSE, message: "the library was built for one thread")

  private var primary: Int32 { code & 0xFF }

  /// Whether the file's content is at fault: nothing but another file helps. The statements of a store always fit its
  /// tables, and its values their columns: one that is no statement any more (ERROR), or that breaks a constraint, has met
  /// tables, triggers or rows that changed on the disk.
  var isDamage: Bool {
    switch primary {
    case SQLITE_CORRUPT, SQLITE_NOTADB: true
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT: !isOfStatement
    default: false
    }
  }

  /// Whether the file went away under a connection, or cannot be found.
  var isMissingFile: Bool { primary == SQLITE_CANTOPEN || code == Self.fileMoved.code }

  /// The error for a caller: it names the file, the reason and the remedy.
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
