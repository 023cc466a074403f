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
  /// Whether it was thrown by a step of the migration, so that it says nothing about the file.
  var isOfMigration = false

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

  /// Whether the file's content is at fault for certain: nothing but another file helps.
  var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }

  /// Whether the file's content may be at fault. The statements of a store fit its tables, and its values their columns: one
  /// that is no statement any more (ERROR), or that breaks a constraint, may have met tables, triggers or rows that changed on
  /// the disk; or those of a later version, which another process has made meanwhile.
  var mayBeDamage: Bool {
    switch primary {
    case SQLITE_CORRUPT, SQLITE_NOTADB: true
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT: !isOfMigration
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

/// What becomes of a file when work on it fails, once or twice.
struct FailureCount {
  private var failures = 0

  /// Decides after a failure, where opening the file anew and doing the work again may help; throws the error where not.
  ///
  /// - Returns: Whether the file is certainly damaged. Where that is only possible the check of whoever opens it decides, and
  ///   then whether the work fails again.
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
