import MartletEngine
import MartletSemantics
import Dispatch
import Synchronization

/// A SQLite file that several tasks, stores and processes use concurrently.
///
/// Reads run on the caller's thread: usually the data is in the file system cache, and they take microseconds. With a
/// write-ahead log they do not wait for writes. Writes run one after another on a thread that may block, because a
/// write may wait for another process or for the disk.
struct Database: Sendable {
  private let opener: DatabaseOpener
  private let writer: Writer
  /// Connections for reads.
  private let readers = IdleConnections()
  /// Connections for writes on callers' threads. The first one is here until the writer needs one.
  private let writers = IdleConnections()

  /// Opens the file; creates it and its folder if they do not exist. If the disk is full, or another process has locked
  /// the file, later calls try this again.
  ///
  /// - Parameter patience: how long calls wait for other processes.
  init(
    at url: URL, _ schema: Schema, _ patience: LockPatience = .long,
    onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) throws(HTTPError) {
    let file = try DatabaseFile(url, of: schema.application)
    opener = DatabaseOpener(file, schema, patience, onSetAside: onSetAside)
    writer = Writer(opener, writers)
    do {
      writers.give(back: try opener.open())
    } catch let failure as SQLiteFailure where failure.isTemporary {
      return
    } catch {
      throw Self.wrap(error, file)
    }
  }

  /// Reads. The work is repeated if the file had to be replaced, so it must not have side effects.
  func read<R: Sendable>(_ work: (DatabaseConnection) throws -> R) async throws(HTTPError) -> R {
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

  /// Writes in one transaction. The work is repeated with an empty file if the file had to be replaced, so it must not
  /// have other side effects.
  ///
  /// - Parameter patience: how long the caller waits; nil for the patience of the store.
  func write<R: Sendable>(
    waiting patience: LockPatience? = nil, _ work: @Sendable (DatabaseConnection) throws -> R
  ) async throws(HTTPError) -> R {
    do {
      return try await writer.write(patience, work)
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Removes everything.
  ///
  /// It works on a full disk, too: the file is then deleted and replaced by an empty one. Files of this store that were
  /// set aside are deleted, too. It waits for other processes, whatever the patience of the store.
  ///
  /// - Parameter step: removes a part in one transaction, and returns whether nothing is left.
  func removeAll(_ step: @Sendable (DatabaseConnection) throws -> Bool) async throws(HTTPError) {
    do {
      try await writer.removeAll(step)
      closeIdleConnections()
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Removes everything synchronously, like ``removeAll(_:)``.
  func blockingRemoveAll(_ step: (DatabaseConnection) throws -> Bool) throws(HTTPError) {
    do {
      while try !blockingWrite(waiting: .long, step) {}
    } catch  where error.isFullDisk {
      do { try opener.discard() } catch { throw Self.wrap(error, opener.file) }
    }
    closeIdleConnections()
    opener.file.removeSetAside()
  }

  /// Deletes the file, whose data can be fetched again, if the disk has no space to write its journal into it: nothing
  /// could then be written or removed any more.
  func discardIfStuck() async throws(HTTPError) {
    do {
      try await writer.discardIfStuck()
      closeIdleConnections()
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Closes unused connections: a deleted file takes up its space until it is closed.
  private func closeIdleConnections() {
    readers.removeAll()
    writers.removeAll()
  }

  /// The free bytes on the file's disk; nil if they are not known.
  var freeBytes: Int64? { DiskSpace(of: opener.file.folder)?.free }

  /// The size of the journal in bytes.
  var journalSize: Int64 { opener.file.journalSize }

  /// Reads synchronously; nil if the file cannot be read as it is, or has to be replaced.
  func readIfUsable<R>(_ work: (DatabaseConnection) throws -> R) -> R? { try? attempt(work, on: opener.identity) }

  /// Reads synchronously, for callers that cannot suspend.
  func blockingRead<R>(_ work: (DatabaseConnection) throws -> R) throws(HTTPError) -> R {
    do {
      var failures = FailureCount()
      while true {
        let identity = opener.identity
        do { return try attempt(work, on: identity) } catch {
          writers.give(back: try opener.open(replacing: failures.isDamage(error) ? identity : nil))
        }
      }
    } catch { throw Self.wrap(error, opener.file) }
  }

  /// Reads synchronously if the file has changed since the last read through this watch; otherwise returns nil.
  ///
  /// - Parameter always: reads even if the file has not changed.
  func blockingRead<R>(
    ifChangedSince watch: FileWatch, always: Bool = false, _ work: (DatabaseConnection) throws -> R
  ) throws(HTTPError) -> R? {
    do {
      var failures = FailureCount()
      while true {
        let identity = opener.identity
        do { return try watch.read(opener, always: always, work) } catch {
          writers.give(back: try opener.open(replacing: failures.isDamage(error) ? identity : nil))
        }
      }
    } catch { throw Self.wrap(error, opener.file) }
  }

  /// Whether the file has not changed since the last read through this watch. Within a transaction that writes, the
  /// answer holds until the commit.
  func isCurrent(_ watch: FileWatch) -> Bool { watch.isCurrent(opener) }

  /// Takes the changes so far as known to the watch; see ``FileWatch/adopt(_:unless:_:)``.
  func adopt(in watch: FileWatch, unless isChanged: () -> Bool, _ work: () -> Void) {
    watch.adopt(opener, unless: isChanged, work)
  }

  /// Writes synchronously on the caller's thread, for callers that cannot suspend. Otherwise like
  /// ``write(waiting:_:)``.
  ///
  /// - Parameter committed: called after the commit, with the connection that has made it.
  func blockingWrite<R>(
    waiting patience: LockPatience? = nil, committed: (DatabaseConnection, R) -> Void = { _, _ in },
    _ work: (DatabaseConnection) throws -> R
  ) throws(HTTPError) -> R {
    do {
      var failures = FailureCount()
      var connection = try writers.take(for: opener.identity, at: opener.file.stamp) ?? opener.openFurther(patience)
      while true {
        do {
          let result = try opener.transaction(on: connection, patience, work)
          committed(connection, result)
          writers.give(back: connection)
          return result
        } catch {
          connection = try opener.open(replacing: failures.isDamage(error) ? connection.identity : nil, patience)
        }
      }
    } catch { throw Self.wrap(error, opener.file) }
  }

  /// Writes in one transaction what only makes sense in this file. It fails, unlike ``write(_:)``, if the file was
  /// deleted, replaced or damaged: what follows is up to the next write.
  func maintain<R: Sendable>(_ work: @Sendable (DatabaseConnection) throws -> R) async throws(HTTPError) -> R {
    do {
      return try await writer.maintain(work)
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  /// Returns free pages to the file system if they are more than a quarter of the file and a few MiB, or if the disk is
  /// nearly full. It works in steps, between which other writes can run. For files with `auto_vacuum`.
  func shrink() async throws(HTTPError) {
    do {
      while try await writer.shrink() {}
    } catch {
      throw Self.wrap(error, opener.file)
    }
  }

  private func attempt<R>(_ work: (DatabaseConnection) throws -> R, on identity: FileIdentity) throws -> R {
    guard opener.file.identity == identity else { throw SQLiteFailure.fileMoved }
    return try opener.reading {
      let connection = try readers.take(for: identity) ?? opener.openForReading()
      let result = try work(connection)
      if !connection.isExclusive { readers.give(back: connection) }
      return result
    }
  }

  private static func wrap(_ error: any Error, _ file: DatabaseFile) -> HTTPError {
    (error as? SQLiteFailure)?.error(file: file.path) ?? HTTPError(wrapping: error)
  }
}

/// The writing connection of a store.
actor Writer {
  private nonisolated let queue = WriterQueue()
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private let opener: DatabaseOpener
  private let idle: IdleConnections
  /// nil until the first write, and until the disk has room to open the file for writing.
  private var connection: DatabaseConnection?

  /// - Parameter idle: the open connections, of which it takes one.
  init(_ opener: DatabaseOpener, _ idle: IdleConnections) { (self.opener, self.idle) = (opener, idle) }

  private func connected(_ patience: LockPatience? = nil) throws -> DatabaseConnection {
    let stamp = opener.file.stamp
    if let connection, connection.stamp?.isOutdated(by: stamp) == false { return connection }
    connection = nil
    let connected = try idle.take(for: stamp.identity, at: stamp) ?? opener.openFurther(patience)
    connection = connected
    return connected
  }

  /// Runs the work in one transaction. If the file is damaged, or its name refers to another file because it was
  /// deleted or replaced, a file is opened anew and the work is repeated.
  func write<R>(_ patience: LockPatience?, _ work: (DatabaseConnection) throws -> R) throws -> R {
    var failures = FailureCount()
    while true {
      do { return try opener.transaction(on: connected(patience), patience, work) } catch {
        try replace(connection?.identity ?? .none, isDamaged: failures.isDamage(error), patience)
      }
    }
  }

  /// Does the work in one transaction, if the store still uses the same file.
  func maintain<R>(_ work: (DatabaseConnection) throws -> R) throws -> R {
    guard opener.file.identity == opener.identity else { throw SQLiteFailure.fileMoved }
    return try opener.transaction(on: connected(), nil, work)
  }

  func removeAll(_ step: (DatabaseConnection) throws -> Bool) throws {
    do {
      while try !write(.long, step) {}
    } catch let failure as SQLiteFailure where failure.isFull {
      connection = nil
      try opener.discard()
    }
    opener.file.removeSetAside()
  }

  func discardIfStuck() throws {
    do { _ = try connected().emptyJournal() } catch let failure as SQLiteFailure where failure.isFull {
      guard opener.file.journalSize > 0 else { return }
      connection = nil
      try opener.discard()
    }
  }

  /// How many pages are returned at once: 1 MiB.
  private static let shrinkStep: Int64 = 256

  /// Returns free pages to the file system if there are many.
  ///
  /// - Returns: whether some were returned, so that there may still be many.
  func shrink() throws -> Bool {
    let connection = try connected()
    let (pages, free) = try connection.pages()
    let isDiskFull = DiskSpace(of: opener.file.folder).map { $0.free < DiskReserve.size } ?? false
    guard free > (isDiskFull ? Self.shrinkStep : max(1_024, pages / 4)) else { return false }
    // The statement frees one page for each row, which is ignored. Moved data is first written to the journal.
    try connection.run("PRAGMA incremental_vacuum(\(Self.shrinkStep))")
    if isDiskFull { _ = try connection.emptyJournal() }
    return try connection.pages().free < free  // Otherwise a further step would not help either.
  }

  /// Opens a file again: a new one if the file is damaged, otherwise the one to which the name refers now.
  ///
  /// - Parameters:
  ///   - file: the file of the connection that failed. If it was already replaced, nothing is done.
  ///   - patience: how long the caller waits; nil for the patience of the store.
  func replace(_ file: FileIdentity, isDamaged: Bool, _ patience: LockPatience? = nil) throws {
    guard [connection?.identity ?? .none, opener.identity].contains(file) else { return }
    connection = try opener.open(replacing: isDamaged ? file : nil, patience)
  }
}

/// The serial executor of writes. Its threads may block, unlike those of the cooperative thread pool.
final class WriterQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "martlet-sqlite")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Idle connections, for reading or for writing on callers' threads.
///
/// A connection is taken for one piece of work, which does not suspend. So there are never more connections than
/// threads, and none waits for another.
final class IdleConnections: Sendable {
  private let idle = Mutex<[DatabaseConnection]>([])

  /// The number of threads that work concurrently on most machines.
  private static let capacity = 16

  /// Returns a connection to this file; nil if there is none. Connections to other files are closed.
  ///
  /// - Parameter stamp: the files now, for a connection that writes. If what it remembers of them is outdated, all are
  ///   closed, because only the last used one may know more.
  func take(for file: FileIdentity, at stamp: FileStamp? = nil) -> DatabaseConnection? {
    let (connection, others) = idle.withLock { idle in
      let last = idle.popLast()
      let isUsable = stamp.map { last?.stamp?.isOutdated(by: $0) == false } ?? true
      if last == nil || (last?.identity == file && isUsable) { return (last, [DatabaseConnection]()) }
      defer { idle = [] }
      return (nil, idle)
    }
    _ = others  // Closed here, outside the lock.
    return connection
  }

  func removeAll() {
    let connections = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    _ = connections  // Closed here, outside the lock.
  }

  func give(back connection: DatabaseConnection) {
    idle.withLock { idle in
      if idle.count < Self.capacity { idle.append(connection) }
    }
  }
}

extension HTTPError {
  /// Whether a store failed because its disk is full.
  var isFullDisk: Bool { (underlying as? SQLiteFailure)?.isFull == true }
}
