public import MartletSemantics

/// The warning that a store's file could not be used, was renamed, and an empty one took its place.
///
/// Nothing is deleted: the old file is where ``movedTo`` says, with SQLite's two companions, until somebody removes it.
///
/// ```swift
/// let store = try SQLiteKeyValueStore(at: file, onSetAside: { log.warning("\($0)") })
/// ```
public struct SetAsideFile: Sendable, Hashable, CustomStringConvertible {
  /// The file that the store was to use, and now uses anew.
  public let file: URL
  /// Where the old one went: `<name>.<reason>-<n>` beside it.
  public let movedTo: URL
  /// Why it could not be used.
  public let reason: Reason

  /// Why a file is set aside.
  public enum Reason: String, Sendable, Hashable {
    /// Its content makes no sense, or no sense any more.
    case damaged
    /// It is a database, but not this store's.
    case foreign
    /// A later version of this library wrote it.
    case newer
  }

  /// A sentence that names both files.
  public var description: String {
    let what =
      switch reason {
      case .damaged: "is damaged"
      case .foreign: "belongs to something else"
      case .newer: "was written by a later version"
      }
    return "'\(file.path)' \(what); it was set aside as '\(movedTo.path)', and an empty file took its place"
  }
}
