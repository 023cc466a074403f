import MartletEngine
import MartletSemantics

/// A file of SQLite's that any number of tasks, stores and processes use at once.
///
/// Reads run on the caller's thread: what they want is in the system's memory as a rule, they take microseconds, and
/// with a journal written ahead they do not wait for writes. Writes run one after another on a thread that may block,
/// because a write may wait for another process or for the disk.
struct Database: Sendable {
  private let opener: DatabaseOpener
  private let writer: Writer
  private let readers = ReaderPool()
  /// Connections that write on their callers' threads.
  private let blocking = ReaderPool()

  /// Opens the file; makes it, and its folder, where they are missing.
  init(at url: URL, _ schema: Schema, onSetAside: @escaping @Sendable (SetAsideFile) -> Void) throws(HTTPError) {
    let file = try DatabaseFile(url)
    opener = DatabaseOpener(file, schema, onSetAside: onSetAside)
    do {
      writer = try Writer(opener)
    } catch {
      throw Self.wrap(error, file)
    }
  }

  /// Reads. Where the file has to be replaced the work is done again, so it must do nothing else.
  func read<R: Sendable>(_ work: (Connection) throws -> R) async throws(HTTPError) -> R {
    do {
      var failures = FailureCount()
      while true {
        let identity = opener.identity
        do { return try attempt(work, on: identity) } catch {
          try await writer.replace(identity, isDamaged: failures.isDamage(error))
        }
      }
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Writes, in one transaction: all of it is stored, or nothing. Where the file has to be replaced the work is done
  /// again on an empty one, so it must have no effect but on the file.
  ///
  /// - Parameter ended: told before any other write begins whether it was stored.
  func write<R: Sendable>(
    _ work: @Sendable (Connection) throws -> R, ended: @Sendable (_ isStored: Bool) -> Void = { _ in }
  ) async throws(HTTPError) -> R {
    do {
      return try await writer.write(work, ended: ended)
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Reads on the writing connection, after all writes that were begun before.
  func readInTurn<R: Sendable>(_ work: @Sendable (Connection) throws -> R) async throws(HTTPError) -> R {
    try await write(work)
  }

  /// Reads at once, for callers that cannot suspend.
  func readNow<R>(_ work: (Connection) throws -> R) throws(HTTPError) -> R {
    do {
      var failures = FailureCount()
      while true {
        let identity = opener.identity
        do { return try attempt(work, on: identity) } catch {
          blocking.give(back: try opener.open(replacing: failures.isDamage(error) ? identity : nil))
        }
      }
    } catch { throw Self.wrap(error, opener.file) }
  }

  /// Writes at once, in one transaction, on the caller's thread, which waits for other writes, five seconds at most: for
  /// callers that cannot suspend. Like ``write(_:ended:)`` otherwise.
  func writeNow<R>(_ work: (Connection) throws -> R) throws(HTTPError) -> R {
    do {
      var failures = FailureCount()
      var connection = try blocking.take(for: opener.identity) ?? opener.openFurther()
      while true {
        do { return try transaction(work, on: connection) } catch {
          connection = try opener.open(replacing: failures.isDamage(error) ? connection.identity : nil)
        }
      }
    } catch { throw Self.wrap(error, opener.file) }
  }

  private func transaction<R>(_ work: (Connection) throws -> R, on connection: Connection) throws -> R {
    let result = try connection.transaction { try work(connection) }
    guard opener.file.identity == connection.identity else { throw SQLiteFailure.fileMoved }
    blocking.give(back: connection)
    return result
  }

  /// Gives free pages back to the disk where they are more than a quarter of the file and a few mebibytes, in steps that
  /// let other writes pass. For a file that was laid out with `auto_vacuum`.
  func shrink() async throws(HTTPError) {
    do {
      while try await writer.shrink() {}
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  private func attempt<R>(_ work: (Connection) throws -> R, on identity: FileIdentity) throws -> R {
    guard opener.file.identity == identity else { throw SQLiteFailure.fileMoved }
    let connection = try readers.take(for: identity) ?? opener.openForReading()
    let result = try work(connection)
    readers.give(back: connection)
    return result
  }

  private static func wrap(_ error: any Error, _ file: DatabaseFile) -> HTTPError {
    (error as? SQLiteFailure)?.error(file: file.path) ?? HTTPError(wrapping: error)
  }
}
