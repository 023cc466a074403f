public import MartletSemantics

/// A warning that a file could not be used, was renamed, and was replaced by an empty one.
///
/// The old file is kept at ``movedTo``, with SQLite's two companion files. It stays until it is removed by hand, or
/// until everything is removed from the store, for example when the user signs out. Even then, files that do not belong
/// to the store, or whose header is damaged, are kept.
///
/// ```swift
/// let store = try SQLiteKeyValueStore(at: file, onSetAside: { log.warning("\($0)") })
/// ```
public struct SetAsideFile: Sendable, Hashable, CustomStringConvertible {
  /// The file of the store, which is now a new one.
  public let file: URL
  /// The new name of the old file: `<name>.<reason>-<n>` beside it.
  public let movedTo: URL
  /// The reason why the old file could not be used.
  public let reason: Reason

  /// The reason why a file was set aside.
  public enum Reason: String, Sendable, Hashable {
    /// The content is damaged.
    case damaged
    /// It is a database, but not one of this store.
    case foreign
    /// It was written by a later version of this library.
    case newer
  }

  /// A sentence with both files.
  public var description: String {
    let what =
      switch reason {
      case .damaged: "is damaged"
      case .foreign: "is not a file of this store"
      case .newer: "was written by a later version"
      }
    return "'\(file.path)' \(what); it was set aside as '\(movedTo.path)', and an empty file replaced it"
  }
}
