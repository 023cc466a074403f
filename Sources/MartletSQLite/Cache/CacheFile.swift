import MartletEngine
import MartletSemantics
import Synchronization

/// What the store, its writers and its sources share.
final class CacheFile: Sendable {
  let pins = BodyPins()
  let entryLimit: Int64
  let now: @Sendable () -> Date
  private let capacity: Int64
  private let database: Database
  private let uses = PendingUses()
  private let isTidying = Mutex(false)

  /// How long a body that is being written may not grow before it counts as left behind, in seconds. Within one process
  /// nobody has to guess.
  static let writersTime = 600.0
  /// How long another process may go on reading a body that was replaced.
  static let readersTime = 60.0
  /// How many chunks are deleted within one transaction: 8 MiB, so that other writes do not wait for long.
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

  /// Writes, and keeps the file within its bounds.
  ///
  /// What is deleted lost its entry in an earlier transaction: whoever holds on to a body from now on does not find the
  /// entry any more. In the transaction that takes the entry away, somebody might still find it and hold on too late.
  func write<R: Sendable>(_ work: @Sendable (CacheTable) throws -> R) async throws(HTTPError) -> R {
    let (used, now) = (uses.take(), now())
    let (result, isTidy) = try await database.write { [capacity, pins] connection in
      let table = CacheTable(connection)
      try table.sweep(Self.sweepLimit, now: now, pins: pins)
      try table.use(used)
      let result = try work(table)
      try table.makeRoom(capacity, now: now)
      return (result, try table.isTidy(now: now, pins: pins))
    }
    if !isTidy { tidySoon() }
    return result
  }

  /// Makes room within a transaction; throws where that is not enough, because too much is being written at once.
  func makeRoom(in table: CacheTable, now: Date) throws {
    guard try table.makeRoom(capacity, now: now) else { throw HTTPError.notStored(limit: capacity) }
  }

  /// An entry was used.
  func note(_ entry: Int64) { if uses.note(entry) { tidySoon() } }

  /// Writes the uses, deletes what is due, and gives free space back, some time from now.
  func tidySoon() {
    let isFirst = isTidying.withLock { isTidying in
      defer { isTidying = true }
      return !isTidying
    }
    guard isFirst else { return }
    Task.detached(priority: .utility) { [self] in
      // Where that fails, the next write tries again.
      try? await tidy()
      isTidying.withLock { $0 = false }
    }
  }

  func tidy() async throws {
    var isTidy = false
    while !isTidy {
      let (used, now) = (uses.take(), now())
      isTidy = try await database.write { [pins] connection in
        let table = CacheTable(connection)
        try table.use(used)
        try table.sweep(Self.sweepLimit, now: now, pins: pins)
        return try table.isTidy(now: now, pins: pins)
      }
    }
    try await database.shrink()
  }
}

extension HTTPError {
  static func notStored(limit: Int64) -> HTTPError {
    HTTPError(.bodyTooLarge, "the body is larger than the \(limit) bytes that the cache takes, or was given up")
  }
}
