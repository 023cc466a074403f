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
  /// SQLite's message, which contains names of tables and columns, but no values.
  let message: String
  /// The error of the operating system that caused it; 0 if there was none.
  private let systemError: Int32
  /// Whether a migration step failed, which says nothing about the state of the file.
  var isOfMigration = false

  /// Makes the error of the last call of a connection, with the system error that caused it.
  init(of handle: OpaquePointer?, code: Int32) {
    let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
    let isOfSystem = [SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_FULL].contains(code & 0xFF)
    self.init(code: code, message: message, systemError: isOfSystem ? handle.map(sqlite3_system_errno) ?? 0 : 0)
  }

  private init(code: Int32, message: String, systemError: Int32 = 0) {
    self.code = code
    self.message = systemError == 0 ? message : message + ", " + String(cString: strerror(systemError))
    self.systemError = systemError
  }

  /// The failure to create a file or folder; nil if the disk is not the reason.
  init?(creatingWith systemError: Int32) {
    guard Self.errorsOfFullDisks.contains(systemError) else { return nil }
    self.init(code: SQLITE_FULL, message: "the file cannot be created", systemError: systemError)
  }

  /// The name of the file refers to another file: SQLITE_READONLY_DBMOVED, a macro that Swift does not import.
  static let fileMoved = SQLiteFailure(code: SQLITE_READONLY | 4 << 8, message: "its name refers to another file")
  /// Another connection has held the lock of the file, and an earlier call has waited for it in vain.
  static let stillLocked = SQLiteFailure(
    code: SQLITE_BUSY, message: "another process has locked it, and the store pauses after a wait for it")
  /// The operating system opened the file as read-only.
  static let readOnly = SQLiteFailure(code: SQLITE_READONLY, message: "the file was opened for reading only")
  /// The stored data is inconsistent, although SQLite reports no error.
  static let inconsistent = SQLiteFailure(code: SQLITE_CORRUPT, message: "the stored data is inconsistent")
  /// The library was built without support for threads.
  static let singleThreaded = SQLiteFailure(code: SQLITE_MISUSE, message: "the library was built for one thread")

  private var primary: Int32 { code & 0xFF }

  /// Whether the content of the file is certainly damaged, so that only a new file helps.
  var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }

  /// Whether the content of the file may be damaged. The statements of a store match its tables, and its values match
  /// their columns. So a statement that fails (ERROR) or violates a constraint may have met tables, triggers or rows
  /// that were changed on disk, or a later version that another process has migrated to.
  var mayBeDamage: Bool {
    switch primary {
    case SQLITE_CORRUPT, SQLITE_NOTADB: true
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT: !isOfMigration
    default: false
    }
  }

  /// Whether the file was removed or replaced, or cannot be found.
  var isMissingFile: Bool { primary == SQLITE_CANTOPEN || code == Self.fileMoved.code }

  /// Whether another connection has held the lock of the file for longer than the call waits.
  var isLocked: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

  /// Whether the file cannot be written now, but perhaps later: what it has can be read.
  var isTemporary: Bool { isFull || isLocked }

  /// Whether the process or the system had no descriptor for the file, its journal or their shared memory.
  var lacksDescriptor: Bool { systemError == EMFILE || systemError == ENFILE }

  /// Whether the disk, a quota or a limit of the process is exhausted.
  var isFull: Bool {
    switch primary {
    case SQLITE_FULL: true
    // The shared memory of the processes that use a file is a file, too.
    case SQLITE_IOERR where code == Self.sharedMemory: true
    // SQLite does not always keep the system's error of a write: its next action at a commit may hide it.
    case SQLITE_IOERR where code == Self.write && systemError == 0: true
    case SQLITE_IOERR: Self.errorsOfFullDisks.contains(systemError)
    case SQLITE_CANTOPEN: Self.errorsOfFullDisks.contains(systemError)
    default: false
    }
  }

  /// SQLITE_IOERR_SHMSIZE and SQLITE_IOERR_WRITE, macros that Swift does not import.
  private static let (sharedMemory, write) = (SQLITE_IOERR | 19 << 8, SQLITE_IOERR | 3 << 8)
  private static let errorsOfFullDisks = [ENOSPC, EDQUOT, EFBIG]

  /// Returns the error for the caller, with the file, the reason and the remedy.
  func error(file path: String) -> HTTPError {
    HTTPError(
      .file, "'\(path)' \(isFull ? Self.remedy(ofFullDiskOf: path) : remedy) (SQLite: \(message), code \(code))",
      underlying: self)
  }

  private static func remedy(ofFullDiskOf path: String) -> String {
    let disk = DiskSpace.mountPoint(of: path)
    let space = DiskSpace(of: disk).map { " (\($0.free >> 10) of \($0.size >> 10) KiB are free)" } ?? ""
    return
      "cannot grow: the disk '\(disk)'\(space), a quota or a limit of file sizes has no more room: free space on it, "
      + "or raise the limit"
  }

  private var remedy: String {
    switch primary {
    case _ where isLocked:
      "was locked by another process for too long: let it finish, or use a file of your own"
    case SQLITE_READONLY, SQLITE_PERM: "cannot be written: make it and its folder writable for this user"
    case SQLITE_CANTOPEN: "cannot be opened: its folder has to exist and be writable for this user"
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_CONSTRAINT, SQLITE_MISMATCH:
      "is damaged, and could not be replaced: remove it"
    case SQLITE_TOOBIG: "cannot hold a value of this size: the limit is 1,000,000,000 bytes"
    case SQLITE_NOMEM: "cannot be used: memory is exhausted"
    case SQLITE_IOERR: "cannot be read or written: check its disk"
    default: "cannot be used"
    }
  }
}

/// Decides how many times work is repeated after a failure, and whether the file is replaced.
struct FailureCount {
  private var failures = 0

  /// Returns if the work should be repeated after the file is opened again; otherwise throws the error.
  ///
  /// - Returns: whether the file is damaged and must be replaced. If damage is only possible, opening the file checks
  ///   it, and a second failure proves it.
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
