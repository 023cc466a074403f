public import Foundation
public import MartletEngine
public import MartletSQLite

/// Bytes in a file, for any number of threads and processes at once.
///
/// The file is that of a ``MartletSQLite/SQLiteKeyValueStore``, whose limits it shares: only its owner may read it, it is not
/// encrypted, and it has to lie on a local disk. One that is damaged is set aside, and an empty one takes its place. Reads take
/// microseconds; a write waits for those of others, five seconds at most.
public final class SQLiteDataStore: DataStoring, Sendable {
  private let values: SQLiteKeyValueStore

  /// Opens the file, and makes it, with its folder, where it is missing.
  ///
  /// - Parameters:
  ///   - file: a file URL.
  ///   - onSetAside: told when a file could not be used and an empty one took its place; by default nobody is.
  /// - Throws: `HTTPError` of kind `.file`, as all methods do: it names the file and what to do.
  public init(
    at file: URL, onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    values = try SQLiteKeyValueStore(at: file, onSetAside: onSetAside)
  }

  public func put(data: Data, for key: String) throws { try values.setNow(data, for: key) }

  public func data(for key: String) throws -> Data? { try values.valueNow(for: key) }

  public func removeData(for key: String) throws { try values.removeValueNow(for: key) }

  public func keys() throws -> Set<String> { Set(try values.keysNow()) }
}
