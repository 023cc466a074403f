import MartletEngine

/// The one connection of a store that writes.
actor Writer {
  private nonisolated let queue = WriterQueue()
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private let opener: DatabaseOpener
  private var connection: Connection

  init(_ opener: DatabaseOpener) throws {
    self.opener = opener
    connection = try opener.open()
  }

  /// Does the work as one transaction. Where the file turns out to be damaged, or not to have its name any more, because it
  /// was deleted or replaced, another one is opened, and the work done again.
  func write<R>(_ work: (Connection) throws -> R, ended: (Bool) -> Void) throws -> R {
    var isStored = false
    defer { ended(isStored) }
    var failures = FailureCount()
    while true {
      do {
        let result = try transaction(work)
        isStored = true
        return result
      } catch {
        try replace(connection.identity, isDamaged: failures.isDamage(error))
      }
    }
  }

  /// - Throws: also where the transaction went into a file that nobody will find: SQLite does not notice.
  private func transaction<R>(_ work: (Connection) throws -> R) throws -> R {
    let result = try connection.transaction { try work(connection) }
    guard opener.file.identity == connection.identity else { throw SQLiteFailure.fileMoved }
    return result
  }

  /// Gives some free pages back to the disk, where there are many.
  ///
  /// - Returns: Whether there are still many.
  func shrink() throws -> Bool {
    let pages = try connection.first("PRAGMA page_count") { $0.integer(0) } ?? 0
    let free = try connection.first("PRAGMA freelist_count") { $0.integer(0) } ?? 0
    guard free > max(1_024, pages / 4) else { return false }
    // Rows that are ignored: the statement gives a page back with each.
    try connection.run("PRAGMA incremental_vacuum(1024)")
    return true
  }

  /// Opens the file anew: another one where it is the damaged one still, else what its name means by now.
  ///
  /// - Parameter file: the file whose connection failed. Whoever comes second finds it replaced already.
  func replace(_ file: FileIdentity, isDamaged: Bool) throws {
    guard [connection.identity, opener.identity].contains(file) else { return }
    connection = try opener.open(replacing: isDamaged ? file : nil)
  }
}
