@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// The state that a cache store shares with its writers and sources.
final class CacheFile: Sendable {
  let pins = BodyPins()
  let bodiesRead = BodiesRead()
  let headsRead = HeadsRead()
  let entryLimit: Int64
  let now: @Sendable () -> Date
  private let capacity: Int64
  private let database: Database
  private let uses = PendingUses()
  private let cleanUps = Mutex(CleanUps.none)
  /// The data that the last removal could not erase. It exists from the opening on, for leftovers of a killed process.
  private let erasure = Mutex<PendingErasure?>(PendingErasure(bodies: []))

  private enum CleanUps { case none, running, another }
  private struct PendingErasure {
    let id = UUID()
    /// The entries that this process read or wrote at the time.
    let bodies: Set<CacheEntry.ID>
  }

  /// How long a body that another process writes may not grow before it counts as abandoned, in seconds. Bodies written
  /// by this process are tracked separately.
  static let writerTimeout = 600.0
  /// How long another process may continue reading a body that was replaced, in seconds.
  static let readerGracePeriod = 60.0
  /// The maximum number of chunks that one transaction deletes: 1 MiB, which is first overwritten in the journal.
  private static let sweepLimit: Int64 = 8

  init(_ database: Database, capacity: Int64, entryLimit: Int64, now: @escaping @Sendable () -> Date) {
    self.database = database
    self.capacity = capacity
    self.entryLimit = entryLimit
    self.now = now
  }

  func read<R: Sendable>(_ work: (CacheTable) throws -> R) async throws(HTTPError) -> R {
    try await database.read { try work(CacheTable($0)) }
  }

  /// Reads immediately; nil if the file has to be repaired first: ``read(_:)`` does that.
  func readIfUsable<R>(_ work: (CacheTable) throws -> R) -> R? { database.readIfUsable { try work(CacheTable($0)) } }

  /// Writes, and keeps the file within its capacity and within the free space of its disk.
  ///
  /// Only bodies that lost their entry in an earlier transaction are deleted. During the transaction that removes the
  /// entry, a reader may still find it and pin the body too late.
  func write<R: Sendable>(_ work: @Sendable (CacheTable) throws -> R) async throws(HTTPError) -> R {
    let (used, now) = (uses.take(), now())
    do {
      let (result, isClean) = try await database.write { connection in
        let table = CacheTable(connection)
        try table.sweep(Self.sweepLimit, now: now, pins: pins)
        try table.use(used)
        let result = try work(table)
        let limit = try limit(in: table, now: now)
        try table.evict(limit, now: now)
        return (result, try limit == capacity && table.isClean(now: now, pins: pins))
      }
      if !isClean || dueErasure() != nil { scheduleCleanUp() }
      return result
    } catch {
      if error.isFullDisk { await relieve() }
      throw error
    }
  }

  /// Returns how many bytes may be stored: less than the capacity if the disk is nearly full.
  private func limit(in table: CacheTable, now: Date) throws -> Int64 {
    guard let free = database.freeBytes, free < DiskReserve.size else { return capacity }
    return DiskReserve.limit(
      capacity: capacity, stored: try table.storedBytes(now: now), unused: try table.unusedBytes(now: now), free: free)
  }

  /// Whether bodies can be written: false while a program that reads an earlier state makes the journal grow.
  var isWritable: Bool { database.journalSize < DiskReserve.journalLimit }

  /// Makes room on a full disk: evicts an eighth of the entries, deletes due chunks, and empties the journal. If there
  /// is no room even for that, the cache starts again with an empty file.
  private func relieve() async {
    let now = now()
    try? await database.maintain { connection in
      let table = CacheTable(connection)
      let stored = try table.storedBytes(now: now)
      try table.evict(max(0, stored - max(stored / 8, 1 << 20)), now: now)
    }
    try? await cleanUp()
    try? await database.discardIfStuck()
  }

  // MARK: - Removing

  /// Removes entries. Removing all entries, those of a partition or those of an age also erases them from the files.
  func remove(_ selection: CacheSelection) async throws(HTTPError) {
    forgetRead()
    guard selection.isErased else { return try await write { try $0.remove(selection) } }
    let step = step(removing: selection)
    if case .all = selection {
      try await database.removeAll(step)
    } else {
      while try await !database.write(waiting: .long, step) {}
    }
    eraseLater()
  }

  /// Removes entries on the caller's thread, which waits for other writes.
  func blockingRemove(_ selection: CacheSelection) throws(HTTPError) {
    forgetRead()
    guard selection.isErased else {
      try database.blockingWrite { try CacheTable($0).remove(selection) }
      return scheduleCleanUp()
    }
    let step = step(removing: selection)
    if case .all = selection {
      try database.blockingRemoveAll(step)
    } else {
      while try !database.blockingWrite(waiting: .long, step) {}
    }
    eraseLater()
  }

  /// Erases the bodies that this process reads or writes once it no longer does, in a clean-up. Also retries an erasure
  /// that another process's write prevented.
  private func eraseLater() {
    let bodies = pins.all
    erasure.withLock { $0 = PendingErasure(bodies: bodies.union($0?.bodies ?? [])) }
    scheduleCleanUp()
  }

  /// Returns the pending erasure if none of its bodies is being read or written any more.
  private func dueErasure() -> UUID? {
    erasure.withLock { $0.flatMap { pins.all.isDisjoint(with: $0.bodies) ? $0.id : nil } }
  }

  /// Returns a step of a removal, which returns whether it was the last.
  private func step(removing selection: CacheSelection) -> @Sendable (DatabaseConnection) throws -> Bool {
    { [self] connection in
      let (table, now) = (CacheTable(connection), now())
      try table.endGrace(now: now)
      if case .all = selection, try table.removeAllInOneTransaction(now: now, pins: pins) { return true }
      try table.remove(selection)
      try table.sweep(Self.sweepLimit, now: now, pins: pins)
      guard try table.isClean(now: now, pins: pins) else { return false }
      table.eraseAfterCommit()
      return true
    }
  }

  /// Evicts entries within a transaction.
  ///
  /// - Throws: ``CacheEntry/Refusal`` if that does not suffice because too much is being written; an ``HTTPError`` if
  ///   the disk has no room.
  func evict(in table: CacheTable, now: Date) throws {
    let limit = try limit(in: table, now: now)
    guard isWritable, try table.evict(limit, now: now) else {
      guard isWritable, limit == capacity else { throw HTTPError.noRoomForBody }
      throw CacheEntry.Refusal("the bodies that are being written fill the \(capacity) bytes of the cache")
    }
  }

  /// Drops data that was read before a removal.
  private func forgetRead() {
    bodiesRead.removeAll()
    headsRead.removeAll()
  }

  /// Records that an entry was used.
  func note(_ entry: Int64) { if uses.note(entry) { scheduleCleanUp() } }

  /// Schedules a clean-up: it writes the pending uses, deletes due chunks, and frees space.
  func scheduleCleanUp() {
    let isFirst = cleanUps.withLock { cleanUps in
      defer { cleanUps = cleanUps == .none ? .running : .another }
      return cleanUps == .none
    }
    guard isFirst else { return }
    Task.detached(priority: .utility) { [self] in
      // If it fails, the next write tries again.
      repeat { try? await cleanUp() } while isAnotherCleanUpDue()
    }
  }

  /// Whether a scheduled clean-up has yet to end.
  var isCleaningUp: Bool { cleanUps.withLock { $0 != .none } }

  private func isAnotherCleanUpDue() -> Bool {
    cleanUps.withLock { cleanUps in
      defer { cleanUps = cleanUps == .another ? .running : .none }
      return cleanUps == .another
    }
  }

  func cleanUp() async throws {
    var isClean = false
    while !isClean {
      let (used, now, erased) = (uses.take(), now(), dueErasure())
      isClean = try await database.maintain { connection in
        let table = CacheTable(connection)
        try table.use(used)
        try table.sweep(Self.sweepLimit, now: now, pins: pins)
        guard try table.isClean(now: now, pins: pins) else { return false }
        if erased != nil { table.eraseAfterCommit() }
        return true
      }
      if isClean { erasure.withLock { if $0?.id == erased { $0 = nil } } }
    }
    try await database.shrink()
  }
}

extension CacheSelection {
  /// Whether the selection is a user's data, which has to be erased from the files. Single URLs are also removed by
  /// requests that change them (RFC 9111 §4.4), too often to empty the journal each time.
  fileprivate var isErased: Bool {
    switch self {
    case .all, .partition, .olderThan: true
    case .entry, .key, .url: false
    }
  }
}

/// The entries used since the order of use was last written, so that a hit does not require a write.
///
/// They are written with the next write. They are written separately when many entries have no recent use on disk, or a
/// while after the first such use. An entry whose use was written within the last minute does not count for that, so a
/// program that only reads seldom writes. If a process ends before it has written uses, they are lost, which only makes
/// the order less precise.
final class PendingUses: Sendable {
  fileprivate struct State {
    /// The number of all uses so far.
    var count: UInt64 = 0
    /// The entries that were used, each with the number of its last use.
    var entries: [Int64: UInt64] = [:]
    /// How many of them have no use on disk from the last minute, and when the first of these was used.
    var overdue = 0
    var firstOverdue: ContinuousClock.Instant?
    /// The entries whose use was written since a time.
    var written: Set<Int64> = []
    var writtenSince: ContinuousClock.Instant?
  }

  private let state = Mutex(State())
  private static let capacity = 256
  private static let delayLimit = Duration.seconds(10)
  /// How long a written use counts as the last, and how many such uses are remembered.
  private static let precision = Duration.seconds(60)
  private static let writtenCapacity = 4_096
  /// The maximum number of entries that one write updates.
  private static let entryCapacity = 1_024

  /// - Returns: whether they should be written now.
  func note(_ entry: Int64) -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      state.count += 1
      let isNew = state.entries.updateValue(state.count, forKey: entry) == nil
      if let since = state.writtenSince, now - since > Self.precision { state.forgetWritten() }
      if isNew, !state.written.contains(entry) {
        state.overdue += 1
        state.firstOverdue = state.firstOverdue ?? now
      }
      if let first = state.firstOverdue, now - first > Self.delayLimit { return true }
      return state.overdue >= Self.capacity || state.entries.count >= Self.entryCapacity
    }
  }

  /// Removes and returns the entries, the most recently used at the end.
  func take() -> [Int64] {
    let now = ContinuousClock.now
    let uses = state.withLock { state in
      let uses = state.entries
      state.entries = [:]
      state.overdue = 0
      state.firstOverdue = nil
      if state.written.count + uses.count > Self.writtenCapacity { state.forgetWritten() }
      if !uses.isEmpty { state.writtenSince = state.writtenSince ?? now }
      state.written.formUnion(uses.keys)
      return uses
    }
    return uses.sorted { $0.value < $1.value }.map(\.key)
  }
}

extension PendingUses.State {
  fileprivate mutating func forgetWritten() {
    written = []
    writtenSince = nil
  }
}

/// Small bodies that were read with their heads, until they are requested, usually at once and on the same thread. One
/// statement thus finds and reads a response.
final class BodiesRead: Sendable {
  private let bodies = Mutex<[(id: CacheEntry.ID, body: CacheTable.Body)]>([])

  /// The maximum length of a body that is read with its head, in bytes.
  static let lengthLimit: Int64 = 32 << 10
  /// The number of threads that look up simultaneously on most machines.
  private static let capacity = 16

  /// Keeps a body, and drops the oldest one if there are too many.
  func keep(_ body: CacheTable.Body, of id: CacheEntry.ID) {
    bodies.withLock { bodies in
      if bodies.count >= Self.capacity { bodies.removeFirst() }
      bodies.append((id, body))
    }
  }

  /// Removes and returns a body.
  func take(_ id: CacheEntry.ID) -> CacheTable.Body? {
    bodies.withLock { bodies in
      guard let index = bodies.lastIndex(where: { $0.id == id }) else { return nil }
      return bodies.remove(at: index).body
    }
  }

  func removeAll() { bodies.withLock { $0 = [] } }
}

/// Heads that were read and checked, each with its checksum. While the checksum is the same, neither the head nor the
/// facts derived from it need to be read again. There are a thousand at most, about 2 MB.
final class HeadsRead: Sendable {
  private struct Head: Sendable {
    let sum: Int64
    let entry: CacheEntry
  }

  private let heads = Mutex(LRUStorage<CacheEntry.ID, Head>(countLimit: 1024))

  /// Returns an entry that was read, if it has not changed.
  func entry(_ id: CacheEntry.ID, sum: Int64) -> CacheEntry? {
    guard let head = heads.withLock({ $0.use(id) }), head.sum == sum else { return nil }
    return head.entry
  }

  func keep(_ entry: CacheEntry, sum: Int64) {
    heads.withLock { _ = $0.set(Head(sum: sum, entry: entry), for: entry.id) }
  }

  func removeAll() { heads.withLock { _ = $0.removeAll { _ in true } } }
}
