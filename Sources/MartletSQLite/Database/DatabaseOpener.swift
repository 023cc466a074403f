import MartletEngine
import Synchronization

/// Makes, checks and migrates a store's file, and sets one aside that cannot be used.
///
/// Another process may have a file open that is set aside here. SQLite asks whether the name still means its file before
/// it touches what lies beside it under that name, and so do we: see `Connection.identity`.
final class DatabaseOpener: Sendable {
  let file: DatabaseFile
  private let schema: Schema
  private let onSetAside: @Sendable (SetAsideFile) -> Void
  private let current = Mutex(FileIdentity.none)

  init(_ file: DatabaseFile, _ schema: Schema, onSetAside: @escaping @Sendable (SetAsideFile) -> Void) {
    self.file = file
    self.schema = schema
    self.onSetAside = onSetAside
  }

  /// Which file the store uses at the moment.
  var identity: FileIdentity { current.withLock { $0 } }

  /// Opens the file for writing.
  ///
  /// - Parameter damaged: a file that must not be used again.
  func open(replacing damaged: FileIdentity? = nil) throws -> Connection {
    try file.make()
    var warning: SetAsideFile?
    defer { if let warning { onSetAside(warning) } }
    return try FolderLock.holding(file.folder) {
      do {
        if damaged != nil, damaged == file.identity { throw Schema.Refusal(reason: .damaged) }
        return try connect()
      } catch let refusal as Schema.Refusal {
        warning = try file.setAside(because: refusal.reason)
      } catch let failure as SQLiteFailure where failure.mayBeDamage {
        warning = try file.setAside(because: .damaged)
      }
      try file.make()
      return try connect()
    }
  }

  /// Opens the file for writing once more. What the store has checked in this very file is not checked again.
  func openFurther() throws -> Connection {
    if let connection = try? Connection(opening: file), connection.identity == identity, !connection.isReadOnly {
      try schema.configure(connection)
      return connection
    }
    return try open()
  }

  /// Opens the file for reading, while its name means the one that the store uses.
  func openForReading() throws -> Connection {
    let connection = try Connection(opening: file)
    try connection.script(schema.settings + "PRAGMA query_only = ON; PRAGMA cell_size_check = ON")
    guard connection.identity == identity else { throw SQLiteFailure.fileMoved }
    return connection
  }

  private func connect() throws -> Connection {
    let connection = try Connection(opening: file)
    guard !connection.isOpenedReadOnly else { throw SQLiteFailure.readOnly }
    // What could be opened for writing, and must not be written now that its header was read, has a damaged header.
    if connection.isReadOnly { throw Schema.Refusal(reason: .damaged) }
    try schema.apply(to: connection)
    current.withLock { $0 = connection.identity }
    return connection
  }
}
