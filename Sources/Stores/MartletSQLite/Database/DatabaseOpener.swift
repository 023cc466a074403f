import MartletEngine
import Synchronization

/// Creates, checks and migrates the file of a store, and sets aside a file that cannot be used.
///
/// Another process may still have a file open that is set aside here. SQLite verifies that the name still refers to its
/// file before it uses the files beside it, and so does this library: see `DatabaseConnection.identity`.
final class DatabaseOpener: Sendable {
  let file: DatabaseFile
  let schema: Schema
  private let onSetAside: @Sendable (SetAsideFile) -> Void
  private let current = Mutex(FileIdentity.none)

  init(_ file: DatabaseFile, _ schema: Schema, onSetAside: @escaping @Sendable (SetAsideFile) -> Void) {
    self.file = file
    self.schema = schema
    self.onSetAside = onSetAside
  }

  /// The file that the store uses now.
  var identity: FileIdentity { current.withLock { $0 } }

  /// Opens the file for writing.
  ///
  /// - Parameter damaged: a file that must not be used again.
  func open(replacing damaged: FileIdentity? = nil) throws -> DatabaseConnection {
    try file.create()
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
      try file.create()
      return try connect()
    }
  }

  /// Deletes the file, which needs no space on the disk. The next opened file is an empty one.
  func discard() throws {
    try FolderLock.holding(file.folder) {
      file.remove()
      guard file.identity == .none else { throw SQLiteFailure.readOnly }
    }
  }

  /// Opens another connection for writing. A file that the store has checked already is not checked again.
  func openFurther() throws -> DatabaseConnection {
    if let connection = try? DatabaseConnection(opening: file), connection.identity == identity, !connection.isReadOnly
    {
      try schema.configure(connection)
      return connection
    }
    return try open()
  }

  /// Opens the file for reading, if its name refers to the file that the store uses.
  func openForReading() throws -> DatabaseConnection {
    let connection = try connectForReading()
    guard connection.identity == identity else { throw SQLiteFailure.fileMoved }
    return connection
  }

  private func connectForReading() throws -> DatabaseConnection {
    try Self.withSpareDescriptors(connectForReadingOnce)
  }

  /// The journal and the shared memory have descriptors of their own, which SQLite makes when it first needs them.
  private static func withSpareDescriptors<R>(_ work: () throws -> R) throws -> R {
    try SpareDescriptors.repeating(work) { ($0 as? SQLiteFailure)?.lacksDescriptor == true }
  }

  private func connectForReadingOnce() throws -> DatabaseConnection {
    var connection: DatabaseConnection
    do { connection = try DatabaseConnection(opening: file) } catch let failure as SQLiteFailure where failure.isFull {
      connection = try DatabaseConnection(opening: file, exclusively: true)
    }
    try connection.script("PRAGMA query_only = ON; PRAGMA cell_size_check = ON")
    return connection
  }

  private func connect() throws -> DatabaseConnection {
    do { return try Self.withSpareDescriptors(connectForWriting) } catch let failure as SQLiteFailure
      where failure.isFull
    {
      // The stored data can still be read.
      if let connection = try? connectForReading(), (try? schema.isCurrent(on: connection)) == true {
        current.withLock { $0 = connection.identity }
      }
      throw failure
    }
  }

  private func connectForWriting() throws -> DatabaseConnection {
    let connection = try DatabaseConnection(opening: file)
    guard !connection.isOpenedReadOnly else { throw SQLiteFailure.readOnly }
    // If a file could be opened for writing, but is read-only after its header was read, the header is damaged.
    if connection.isReadOnly { throw Schema.Refusal(reason: .damaged) }
    try schema.apply(to: connection)
    file.restrictPermissions()
    // Removed content may be in a journal that a process left behind, or that another reader kept from being emptied.
    _ = try? connection.emptyJournal()
    current.withLock { $0 = connection.identity }
    return connection
  }
}
