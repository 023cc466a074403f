@_spi(Toolkit) import MartletEngine
import Synchronization

/// Creates, checks and migrates the file of a store, and sets aside a file that cannot be used.
///
/// Another process may still have a file open that is set aside here. SQLite verifies that the name still refers to its
/// file before it uses the files beside it, and so does this library: see `DatabaseConnection.identity`.
final class DatabaseOpener: Sendable {
  let file: DatabaseFile
  let schema: Schema
  /// How long the store waits for a file that another process has locked.
  let patience: LockPatience
  private let rests = (reading: LockRest(), writing: LockRest())
  private let onSetAside: @Sendable (SetAsideFile) -> Void
  private let current = Mutex(FileIdentity.none)

  init(
    _ file: DatabaseFile, _ schema: Schema, _ patience: LockPatience,
    onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) {
    self.file = file
    self.schema = schema
    self.patience = patience
    self.onSetAside = onSetAside
  }

  /// The file that the store uses now.
  var identity: FileIdentity { current.withLock { $0 } }

  /// Reads, unless the store pauses because another process has locked the file.
  func reading<R>(_ work: () throws -> R) throws -> R { try rests.reading.during(patience, work) }

  /// Writes, unless the store pauses because another process has locked the file.
  ///
  /// - Parameter patience: how long the caller waits; nil for the patience of the store.
  func writing<R>(_ patience: LockPatience?, _ work: () throws -> R) throws -> R {
    try rests.writing.during(patience ?? self.patience, work)
  }

  /// Does the work in one transaction.
  ///
  /// - Parameter patience: how long the caller waits; nil for the patience of the store.
  /// - Throws: an error of the work or of SQLite; ``SQLiteFailure/fileMoved`` if the file was replaced during the
  ///   transaction, which SQLite does not notice.
  func transaction<R>(
    on connection: DatabaseConnection, _ patience: LockPatience?, _ work: (DatabaseConnection) throws -> R
  ) throws -> R {
    try writing(patience) {
      let result = try connection.transaction(patience) { try work(connection) }
      let stamp = file.stamp
      guard stamp.identity == connection.identity else { throw SQLiteFailure.fileMoved }
      connection.stamp = stamp
      return result
    }
  }

  /// Opens the file for writing.
  ///
  /// - Parameters:
  ///   - damaged: a file that must not be used again.
  ///   - patience: how long the caller waits; nil for the patience of the store.
  func open(
    replacing damaged: FileIdentity? = nil, _ patience: LockPatience? = nil
  ) throws -> DatabaseConnection {
    try writing(patience) { try openNow(replacing: damaged, patience ?? self.patience) }
  }

  private func openNow(replacing damaged: FileIdentity?, _ patience: LockPatience) throws -> DatabaseConnection {
    // SQLite takes a file that was cut for a new one, with the shared memory of the old one.
    let known = identity
    let damaged = damaged ?? (known == file.identity && file.size == 0 ? known : nil)
    try file.create()
    var warning: SetAsideFile?
    defer { if let warning { onSetAside(warning) } }
    return try FolderLock.holding(file.folder) {
      do {
        if damaged != nil, damaged == file.identity { throw Schema.Refusal(reason: .damaged) }
        return try connect(patience)
      } catch let refusal as Schema.Refusal {
        warning = try file.setAside(because: refusal.reason)
      } catch let failure as SQLiteFailure where failure.mayBeDamage {
        warning = try file.setAside(because: .damaged)
      }
      try file.create()
      return try connect(patience)
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
  ///
  /// - Parameter patience: how long the caller waits; nil for the patience of the store.
  func openFurther(_ patience: LockPatience? = nil) throws -> DatabaseConnection {
    if identity == file.identity, file.size > 0,
      let connection = try? DatabaseConnection(opening: file, self.patience), connection.identity == identity,
      !connection.isReadOnly
    {
      try schema.configure(connection)
      connection.stamp = file.stamp
      return connection
    }
    return try open(patience)
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
    do { connection = try DatabaseConnection(opening: file, patience) } catch let failure as SQLiteFailure
      where failure.isFull
    {
      connection = try DatabaseConnection(opening: file, patience, exclusively: true)
    }
    try connection.script("PRAGMA query_only = ON; PRAGMA cell_size_check = ON")
    return connection
  }

  private func connect(_ patience: LockPatience) throws -> DatabaseConnection {
    do {
      return try Self.withSpareDescriptors { try connectForWriting(patience) }
    } catch let failure as SQLiteFailure where failure.isTemporary {
      // The stored data can still be read.
      if let connection = try? connectForReading(), (try? schema.isCurrent(on: connection)) == true {
        current.withLock { $0 = connection.identity }
      }
      throw failure
    }
  }

  private func connectForWriting(_ patience: LockPatience) throws -> DatabaseConnection {
    let connection = try DatabaseConnection(opening: file, patience)
    guard !connection.isOpenedReadOnly else { throw SQLiteFailure.readOnly }
    // If a file could be opened for writing, but is read-only after its header was read, the header is damaged.
    if connection.isReadOnly { throw Schema.Refusal(reason: .damaged) }
    try schema.apply(to: connection)
    file.restrictPermissions()
    // Removed content may be in a journal that a process left behind, or that another reader kept from being emptied.
    _ = try? connection.emptyJournal()
    connection.stamp = file.stamp
    current.withLock { $0 = connection.identity }
    return connection
  }
}
