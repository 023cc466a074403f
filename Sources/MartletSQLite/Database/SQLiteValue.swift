import CSQLite
import MartletSemantics

/// What a statement's parameter is given.
enum SQLiteValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// A date, in seconds since the reference date, as `Date` has it: nothing is rounded. What is not a number becomes the
  /// reference date, because SQLite has no such numbers.
  static func date(_ date: Date) -> SQLiteValue {
    let seconds = date.timeIntervalSinceReferenceDate
    return .real(seconds.isNaN ? 0 : seconds)
  }

  /// An identifier, in its sixteen bytes.
  static func id(_ id: UUID) -> SQLiteValue { .blob(withUnsafeBytes(of: id.uuid) { Data($0) }) }

  /// Binds the value; SQLite copies it.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let value): sqlite3_bind_int64(statement, index, value)
    case .real(let value): sqlite3_bind_double(statement, index, value)
    case .text(let value):
      // With its length: a string may hold a NUL.
      sqlite3_bind_text64(statement, index, value, UInt64(value.utf8.count), Self.copied, UInt8(SQLITE_UTF8))
    case .blob(let value) where value.isEmpty:
      sqlite3_bind_zeroblob(statement, index, 0)  // a null pointer would be NULL
    case .blob(let value):
      value.withUnsafeBytes {
        sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), Self.copied)
      }
    }
  }

  /// SQLITE_TRANSIENT, a macro that Swift cannot read.
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

/// The current row of a statement: valid while the row is being read. Columns are counted from 0.
struct SQLiteRow {
  private let statement: OpaquePointer

  init(of statement: OpaquePointer) { self.statement = statement }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

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

  /// Lends the bytes of a text, without making a string of them.
  func withText<R>(_ column: Int32, _ read: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    // The text first: asking for it may change the count.
    let start = sqlite3_column_text(statement, column)
    return read(
      UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column))))
  }

  func blob(_ column: Int32) -> Data {
    guard let start = sqlite3_column_blob(statement, column) else { return Data() }
    return Data(bytes: start, count: Int(sqlite3_column_bytes(statement, column)))
  }
}
