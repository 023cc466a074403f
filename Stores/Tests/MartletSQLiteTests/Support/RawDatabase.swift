import CSQLite
import Foundation
import MartletTesting

/// A database file, accessed without the library.
enum RawDatabase {
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Runs statements, and returns the first column of every row as text.
  @discardableResult
  static func run(_ script: String, on file: URL) throws -> [String] {
    var handle: OpaquePointer?
    defer { sqlite3_close_v2(handle) }
    guard sqlite3_open(file.path, &handle) == SQLITE_OK else { throw Failure(description: "\(file.path)") }
    sqlite3_busy_timeout(handle, 5_000)
    var rows: [String] = []
    let code = withUnsafeMutablePointer(to: &rows) { rows in
      sqlite3_exec(
        handle, script,
        { context, count, values, _ in
          let rows = context?.assumingMemoryBound(to: [String].self)
          rows?.pointee.append(
            (0..<Int(count)).map { values?[$0].map { String(cString: $0) } ?? "NULL" }.joined(separator: "|"))
          return 0
        }, rows, nil)
    }
    guard code == SQLITE_OK else { throw Failure(description: String(cString: sqlite3_errmsg(handle))) }
    return rows
  }
}

/// A connection of another program that has the file open.
class OpenIdle {
  fileprivate var handle: OpaquePointer?

  init(_ file: URL) throws {
    guard sqlite3_open(file.path, &handle) == SQLITE_OK else { throw RawDatabase.Failure(description: file.path) }
    sqlite3_exec(handle, "SELECT count(*) FROM sqlite_master", nil, nil, nil)
  }

  deinit { sqlite3_close_v2(handle) }
}

/// A connection of another program. It reads the state of the file at the time at which the connection is made.
final class OpenRead: OpenIdle {
  override init(_ file: URL) throws {
    try super.init(file)
    sqlite3_exec(handle, "BEGIN; SELECT count(*) FROM sqlite_master", nil, nil, nil)
  }
}

extension TemporaryFolder {
  /// Returns the permissions of a file.
  func permissions(of name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: file(name).path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }
}
