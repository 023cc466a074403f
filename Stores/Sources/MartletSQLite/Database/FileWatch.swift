import Synchronization

/// Notices changes of a file, whoever made them: another connection of this process or another process.
///
/// SQLite counts the commits that one connection has not made itself (`PRAGMA data_version`). So the watch has a
/// connection of its own, which only reads. A look takes a few microseconds.
final class FileWatch: Sendable {
  private struct State {
    var connection: DatabaseConnection?
    var version: Int64?
  }

  private let state = Mutex(State())

  /// Does the work if the file has changed since the last successful work, one thread at a time; otherwise returns nil.
  ///
  /// - Parameter always: does the work even if the file has not changed.
  func read<R>(_ opener: DatabaseOpener, always: Bool, _ work: (DatabaseConnection) throws -> R) throws -> R? {
    try state.withLock { state in
      let (old, identity) = (state, opener.identity)
      state = State()
      guard opener.file.identity == identity else { throw SQLiteFailure.fileMoved }
      let isKnown = old.connection?.identity == identity
      let connection = isKnown ? old.connection : nil
      let watching = try connection ?? opener.openForReading()
      let version = try watching.first("PRAGMA data_version") { $0.integer(0) }
      let isUnchanged = isKnown && version == old.version
      let result = isUnchanged && !always ? nil : try work(watching)
      if !watching.isExclusive { state = State(connection: watching, version: version) }
      return result
    }
  }
}
