import Synchronization

/// Notices changes of a file by another connection of this process or by another process.
///
/// SQLite counts the commits that one connection has not made itself (`PRAGMA data_version`). So the watch has a
/// connection of its own, which only reads. A look takes a few microseconds.
///
/// A writer of this process may adopt its own commit, so that it is no change: ``isCurrent(_:)`` within the transaction
/// says that nothing was changed before, and ``adopt(_:unless:_:)`` after the commit.
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
      let version = try watching.dataVersion()
      let isUnchanged = isKnown && version == old.version
      let result = isUnchanged && !always ? nil : try work(watching)
      if !watching.isExclusive { state = State(connection: watching, version: version) }
      return result
    }
  }

  /// Whether the file has not changed since the last successful work.
  func isCurrent(_ opener: DatabaseOpener) -> Bool {
    state.withLock { state in
      guard let connection = Self.usable(state, opener), let version = try? connection.dataVersion() else {
        return false
      }
      return version == state.version
    }
  }

  /// Takes the changes so far as known, after a commit of this process, and does what the work of ``read(_:always:_:)``
  /// would do for it.
  ///
  /// - Parameter isChanged: whether others have changed the file meanwhile. It is asked after the version was read, so
  ///   the version contains no change of others if the answer is no. Otherwise nothing is done, and the next read
  ///   notices the changes.
  func adopt(_ opener: DatabaseOpener, unless isChanged: () -> Bool, _ work: () -> Void) {
    state.withLock { state in
      guard let connection = Self.usable(state, opener), let version = try? connection.dataVersion(), !isChanged()
      else {
        return
      }
      work()
      state.version = version
    }
  }

  private static func usable(_ state: State, _ opener: DatabaseOpener) -> DatabaseConnection? {
    guard let connection = state.connection, connection.identity == opener.identity,
      opener.file.identity == opener.identity
    else { return nil }
    return connection
  }
}

extension DatabaseConnection {
  /// A number that changes with the commits of other connections, but not with this connection's own.
  func dataVersion() throws -> Int64? { try first("PRAGMA data_version") { $0.integer(0) } }
}
