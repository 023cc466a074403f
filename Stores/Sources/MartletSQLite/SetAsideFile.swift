public import MartletSemantics

/// A warning that a file could not be used, was renamed, and was replaced by an empty one.
///
/// Only a file that begins as a SQLite database is renamed. Any other file, and one that a symbolic link leads to, is
/// left as it is: the store then cannot be opened, and its error names the file.
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
    "'\(file.path)' \(reason.words); it was set aside as '\(movedTo.path)', and an empty file replaced it"
  }
}

extension SetAsideFile.Reason {
  /// The reason in a sentence about the file.
  var words: String {
    switch self {
    case .damaged: "is damaged"
    case .foreign: "is not a file of this store"
    case .newer: "was written by a later version"
    }
  }
}
