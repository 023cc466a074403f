import MartletEngine
import MartletSemantics
import Synchronization

/// The state that a cache store shares with its writers and sources.
final class CacheFile: Sendable {
  let pins = BodyPins()
  let entryLimit: Int64
  let now: @Sendable () -> Date
  private let capacity: Int64
  private let database: Database
  private let uses = PendingUses()
  private let isCleaningUp = Mutex(false)

  /// How long a body that another process writes may not grow before it counts as abandoned, in seconds. Bodies written
  /// by this process are known.
  static let writerTimeout = 600.0
  /// How long another process may continue reading a body that was replaced, in seconds.
  static let readerGracePeriod = 60.0
  /// The maximum number of chunks that one transaction deletes: 8 MiB, so that other writes do not wait for long.
  private static let sweepLimit: Int64 = 64

  init(_ database: Database, capacity: Int64, entryLimit: Int64, now: @escaping @Sendable () -> Date) {
    self.database = database
    self.capacity = capacity
    self.entryLimit = entryLimit
    self.now = now
  }

  func read<R: Sendable>(_ work: (CacheTable) throws -> R) async throws(HTTPError) -> R {
    try await database.read { try work(CacheTable($0)) }
  }

  /// Reads without suspending the caller; nil if the file cannot be read as it is, which ``read(_:)`` mends.
  func readNow<R>(_ work: (CacheTable) throws -> R) -> R? { database.readIfUsable { try work(CacheTable($0)) } }

  /// Writes, and keeps the file within its capacity.
  ///
  /// Only those bodies are deleted that lost their entry in an earlier transaction. In the transaction that removes the
  /// entry, a reader may still find it and pin the body too late.
  func write<R: Sendable>(_ work: @Sendable (CacheTable) throws -> R) async throws(HTTPError) -> R {
    let (used, now) = (uses.take(), now())
    let (result, isClean) = try await database.write { [capacity, pins] connection in
      let table = CacheTable(connection)
      try table.sweep(Self.sweepLimit, now: now, pins: pins)
      try table.use(used)
      let result = try work(table)
      try table.evict(capacity, now: now)
      return (result, try table.isClean(now: now, pins: pins))
    }
    if !isClean { scheduleCleanUp() }
    return result
  }

  /// Writes on the caller's thread, which waits for other writes. Chunks that are due are deleted by a later clean-up.
  func writeNow(_ work: (CacheTable) throws -> Void) throws(HTTPError) {
    try database.writeNow { try work(CacheTable($0)) }
    scheduleCleanUp()
  }

  /// Evicts entries within a transaction; throws if that is not enough because too much is being written.
  func evict(in table: CacheTable, now: Date) throws {
    guard try table.evict(capacity, now: now) else { throw HTTPError.notStored(limit: capacity) }
  }

  /// Records that an entry was used.
  func note(_ entry: Int64) { if uses.note(entry) { scheduleCleanUp() } }

  /// Schedules a clean-up: it writes the pending uses, deletes due chunks, and returns free space.
  func scheduleCleanUp() {
    let isFirst = isCleaningUp.withLock { isCleaningUp in
      defer { isCleaningUp = true }
      return !isCleaningUp
    }
    guard isFirst else { return }
    Task.detached(priority: .utility) { [self] in
      // If it fails, the next write tries again.
      try? await cleanUp()
      isCleaningUp.withLock { $0 = false }
    }
  }

  func cleanUp() async throws {
    var isClean = false
    while !isClean {
      let (used, now) = (uses.take(), now())
      isClean = try await database.write { [pins] connection in
        let table = CacheTable(connection)
        try table.use(used)
        try table.sweep(Self.sweepLimit, now: now, pins: pins)
        return try table.isClean(now: now, pins: pins)
      }
    }
    try await database.shrink()
  }
}

extension HTTPError {
  static func notStored(limit: Int64) -> HTTPError {
    HTTPError(.bodyTooLarge, "the body is larger than the \(limit) bytes that the store accepts, or was aborted")
  }
}

/// The entries whose bodies this process reads or writes. Their chunks are not deleted, even if the entry is.
final class BodyPins: Sendable {
  private struct State {
    var counts: [CacheEntry.ID: Int] = [:]
    /// The pinned bodies that are due to be deleted.
    var deletable: Set<CacheEntry.ID> = []
  }

  private let state = Mutex(State())

  func hold(_ id: CacheEntry.ID) { state.withLock { $0.counts[id, default: 0] += 1 } }

  /// - Returns: Whether the body is due to be deleted, and not pinned any more.
  func release(_ id: CacheEntry.ID) -> Bool {
    state.withLock { state in
      guard let count = state.counts[id], count <= 1 else {
        state.counts[id]? -= 1
        return false
      }
      state.counts[id] = nil
      return state.deletable.remove(id) != nil
    }
  }

  /// The number of pinned entries.
  var count: Int { state.withLock { $0.counts.count } }

  /// Returns the bodies that are not pinned. For the others, ``release(_:)`` returns true at the end.
  func free(_ bodies: [(body: Int64, owner: CacheEntry.ID)]) -> [Int64] {
    state.withLock { state in
      bodies.compactMap { body, owner in
        guard state.counts[owner] != nil else { return body }
        state.deletable.insert(owner)
        return nil
      }
    }
  }
}

/// Pins a body for as long as it exists.
final class BodyPin: Sendable {
  private let id: CacheEntry.ID
  private let file: CacheFile

  init(_ id: CacheEntry.ID, in file: CacheFile) {
    self.id = id
    self.file = file
    file.pins.hold(id)
  }

  deinit { if file.pins.release(id) { file.scheduleCleanUp() } }
}

/// The entries that were used since the order of use was last written, so that a hit is not a write.
///
/// They are written with the next write, or when there are many, or after a delay. Uses that a process has not written
/// when it ends are lost, which only makes the order less precise.
final class PendingUses: Sendable {
  private struct State {
    var entries: [Int64] = []
    var first: ContinuousClock.Instant?
  }

  private let state = Mutex(State())
  private static let capacity = 256
  private static let maximumDelay = Duration.seconds(10)

  /// - Returns: Whether they should be written now.
  func note(_ entry: Int64) -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      if !state.entries.contains(entry) { state.entries.append(entry) }
      let first = state.first ?? now
      state.first = first
      return state.entries.count >= Self.capacity || now - first > Self.maximumDelay
    }
  }

  /// Removes and returns the entries in order.
  func take() -> [Int64] {
    state.withLock { state in
      defer { state = State() }
      return state.entries
    }
  }
}
