@_spi(Stores) import MartletEngine
import MartletSemantics

/// The cache file, accessed through one connection, within one transaction or read.
struct CacheTable {
  private let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }

  /// The body of an entry: its bytes, or the number under which its chunks are stored.
  struct Body: Sendable {
    enum Bytes: Sendable {
      case whole(Data)
      case chunks(Int64)
    }
    let entry: Int64
    let length: Int64
    let bytes: Bytes
  }

  /// - Throws: ``SQLiteFailure/inconsistent`` if the two copies of the totals differ or are impossible.
  func usage() throws -> HTTPCache.Usage {
    let copies = try all(.usage) { HTTPCache.Usage(entries: Int($0.integer(0)), bytes: $0.integer(1)) }
    guard let usage = copies.first, copies == [usage, usage], usage.entries >= 0, 0..<1 << 60 ~= usage.bytes,
      usage.entries > 0 || usage.bytes == 0
    else { throw SQLiteFailure.inconsistent }
    return usage
  }

  /// - Parameters:
  ///   - bodyLimit: the maximum number of bytes of a body that is also read; none by default.
  ///   - heads: the heads that were read before.
  ///   - keep: receives the bodies that were read.
  func entries(
    for key: CacheKey, bodyLimit: Int64 = -1, heads: HeadsRead? = nil,
    keep: (CacheEntry.ID, Body) -> Void = { _, _ in }
  ) throws -> [CacheEntry] {
    try all(.entries, .text(key.url), .text(key.partition), .integer(bodyLimit)) { row in
      let entry = Self.entry(row, key, heads)
      if let entry, !row.isNull(8), let body = Self.body(row, of: entry.id, from: 7) { keep(entry.id, body) }
      return entry
    }.compactMap { $0 }
  }

  func body(of id: CacheEntry.ID) throws -> Body? {
    try first(.body, .id(id)) { row in
      guard row.isNull(4) else {
        let (entry, length) = (row.integer(0), row.integer(3))
        return length < 0 ? nil : Body(entry: entry, length: length, bytes: .chunks(row.integer(4)))
      }
      return Self.body(row, of: id, from: 0)
    } ?? nil
  }

  /// - Returns: nil if it was removed or is damaged.
  func chunk(_ index: Int64, of body: Int64) throws -> Data? {
    let key = SQLiteValue.integer(CacheStatement.chunkKey(body, index))
    let chunk = try first(.chunk, key) { row -> Data? in
      let bytes = row.blob(0)
      return row.isNull(1) || row.integer(1) == Checksum.of(key, bytes) ? bytes : nil
    }
    return chunk ?? nil
  }

  // MARK: - Writing

  /// Begins a body.
  ///
  /// - Parameter draw: returns a random number. Called again if a body with that number exists.
  /// - Returns: the number of the body.
  func beginBody(
    of id: CacheEntry.ID, due: Date, draw: () -> Int64 = CacheStatement.makeBody
  ) throws -> Int64 {
    var body = draw()
    while try first(
      .bodyParts, .integer(CacheStatement.chunkKey(body, 0)), .integer(CacheStatement.chunkKey(body + 1, 0)),
      .integer(body),
      read: { _ in true }) != nil
    {
      body = draw()
    }
    try run(.beginBody, .integer(body), .id(id), .date(due))
    return body
  }

  /// - Returns: false if the body was due and was removed, or the file was replaced.
  func addChunk(_ bytes: Data, _ index: Int64, to body: Int64, due: Date) throws -> Bool {
    try run(.growBody, .integer(Int64(bytes.count)), .date(due), .integer(body))
    guard connection.changes == 1 else { return false }
    let key = SQLiteValue.integer(CacheStatement.chunkKey(body, index))
    try run(.addChunk, key, .blob(bytes), .integer(Checksum.of(key, bytes)))
    return true
  }

  func abandonBody(_ body: Int64) throws { try run(.abandonBody, .integer(body)) }

  /// Adds an entry, or replaces the one with its key and variant.
  ///
  /// - Returns: false if the body was removed.
  func add(_ entry: CacheEntry, length: Int64, bytes: Body.Bytes, now: Date) throws -> Bool {
    let (body, whole, sum): (SQLiteValue, SQLiteValue, SQLiteValue)
    switch bytes {
    case .whole(let bytes):
      (body, whole, sum) = (.null, .blob(bytes), .integer(Checksum.of(entry.id, bytes)))
    case .chunks(let number):
      (body, whole, sum) = (.integer(number), .null, .null)
      try run(.endBody, .integer(number))
      guard connection.changes == 1 else { return false }
    }
    try run(.removeEntry, .id(entry.id))
    try removeVariant(of: entry, now: now)
    let head = CheckedHead.write(entry, length: length)
    try run(
      .add, .id(entry.id), .text(entry.key.url), .text(entry.key.partition), .text(entry.response.variant),
      .date(entry.response.requestTime), .date(entry.response.responseTime),
      .integer(entry.response.isDecoded ? 1 : 0), .integer(length),
      .integer(Self.size(of: entry, head: head, length: length)), body, .text(head), whole, sum)
    return true
  }

  func update(_ entry: CacheEntry, now: Date) throws {
    let known = try first(.known, .id(entry.id)) { ($0.integer(0), $0.integer(1)) }
    guard let (number, length) = known else { return }
    try removeVariant(of: entry, now: now)
    let head = CheckedHead.write(entry, length: length)
    try run(
      .change, .text(entry.response.variant), .date(entry.response.requestTime), .date(entry.response.responseTime),
      .integer(entry.response.isDecoded ? 1 : 0), .integer(Self.size(of: entry, head: head, length: length)),
      .text(head), .integer(number))
    try use([number])
  }

  /// Makes these entries the most recently used, in this order. Removed entries are ignored.
  func use(_ entries: [Int64]) throws {
    guard !entries.isEmpty else { return }
    var turn = try first(.turn) { $0.integer(0) } ?? 0
    for entry in entries {
      turn &+= 1
      try run(.use, .integer(turn), .integer(entry))
    }
    try run(.endTurn, .integer(turn))
  }

  /// Erases from the files what this transaction removes: see ``DatabaseConnection/eraseAfterCommit()``.
  func eraseAfterCommit() { connection.eraseAfterCommit() }

  func remove(_ selection: CacheSelection) throws {
    switch selection {
    case .entry(let id): try run(.removeEntry, .id(id))
    case .key(let key):
      try run(.removeKey, .text(key.url), .text(key.partition))
      // The URLs of QUERY keys have a fragment, and `$` is the character after `#`.
      try run(.removeQueriesOfKey, .text(key.url + "#"), .text(key.url + "$"), .text(key.partition))
    case .url(let url):
      try run(.removeURL, .text(url))
      try run(.removeQueriesOfURL, .text(url + "#"), .text(url + "$"))
    case .partition(let partition): try run(.removePartition, .text(partition))
    case .olderThan(let date): try run(.removeOlder, .date(date))
    case .all: try run(.removeAll)
    }
  }

  /// Removes everything without overwriting it, if no body is being read or written. The file is rewritten after the
  /// transaction, or, if the process ends first, by the clean-up at the next opening. That takes a twentieth of the
  /// time.
  ///
  /// - Returns: whether everything was removed.
  func removeAllInOneTransaction(now: Date, pins: BodyPins) throws -> Bool {
    guard try pins.all.isEmpty && orphanedBytes(now: now) == 0 else { return false }
    try connection.run("PRAGMA secure_delete = OFF")
    defer { try? connection.run("PRAGMA secure_delete = ON") }
    try remove(.all)
    try sweep(1 << 40, now: now, pins: pins)
    eraseAfterCommit()
    return true
  }

  /// Removes another entry with the same key and variant. Its body is kept for a while, because this or another process
  /// may be reading it.
  private func removeVariant(of entry: CacheEntry, now: Date) throws {
    let others = try all(
      .sameVariant, .text(entry.key.url), .text(entry.key.partition), .text(entry.response.variant), .id(entry.id)
    ) { ($0.integer(0), $0.isNull(1) ? nil : $0.integer(1)) }
    for (number, body) in others {
      try run(.removeNumber, .integer(number))
      guard let body else { continue }
      try run(.postpone, .date(now.addingTimeInterval(CacheFile.readerGracePeriod)), .integer(body))
    }
  }

  // MARK: - Eviction

  /// Evicts the least recently used entries until the capacity suffices, then recently replaced bodies.
  ///
  /// - Returns: whether it suffices; if not, too much is being written.
  @discardableResult
  func evict(_ capacity: Int64, now: Date) throws -> Bool {
    var excess = try storedBytes(now: now) - capacity
    while excess > 0 {
      let oldest = try all(.leastUsed) { ($0.integer(0), $0.integer(1)) }
      guard !oldest.isEmpty else {
        // The total counts bytes of entries that do not exist, or are missing in the order of use.
        guard try usage().bytes == 0 else { throw SQLiteFailure.inconsistent }
        try endGrace(now: now)
        return try orphanedBytes(now: now) <= capacity
      }
      for (number, size) in oldest where excess > 0 {
        try run(.removeNumber, .integer(number))
        excess -= size
      }
    }
    return true
  }

  /// Makes recently replaced bodies due to be deleted.
  func endGrace(now: Date) throws {
    try run(.endGrace, .date(now), .date(now.addingTimeInterval(CacheFile.readerGracePeriod)))
  }

  /// Returns the size of all stored data that is not due to be deleted.
  func storedBytes(now: Date) throws -> Int64 { try usage().bytes + orphanedBytes(now: now) }

  /// Returns the bytes of the file that are free or will be.
  func unusedBytes(now: Date) throws -> Int64 {
    try bytes(.dueBytes, .date(now)) + connection.pages().free * connection.pageSize()
  }

  /// Returns the size of bodies without an entry that are not due to be deleted.
  private func orphanedBytes(now: Date) throws -> Int64 { try bytes(.orphanedBytes, .date(now)) }

  private func bytes(_ statement: CacheStatement, _ values: SQLiteValue) throws -> Int64 {
    try first(statement, values) { Int64(max(0, min($0.real(0), 0x1p60))) } ?? 0
  }

  /// Deletes some of the due chunks, except chunks of pinned bodies.
  func sweep(_ limit: Int64, now: Date, pins: BodyPins) throws {
    var rest = limit
    for body in try due(limit, now: now, pins: pins) where rest > 0 {
      let (start, end) = (CacheStatement.chunkKey(body, 0), CacheStatement.chunkKey(body &+ 1, 0))
      try run(.deleteChunks, .integer(start), .integer(end), .integer(rest))
      let deleted = connection.changes
      if deleted < rest { try run(.endBody, .integer(body)) }
      rest -= max(1, deleted)
    }
  }

  /// Whether no chunks are due to be deleted.
  func isClean(now: Date, pins: BodyPins) throws -> Bool { try due(1, now: now, pins: pins).isEmpty }

  private func due(_ limit: Int64, now: Date, pins: BodyPins) throws -> [Int64] {
    pins.free(
      try all(.due, .date(now), .integer(limit + Int64(pins.count))) { (body: $0.integer(0), owner: $0.id(1)) })
  }

  // MARK: - Statements

  private func run(_ statement: CacheStatement, _ values: SQLiteValue...) throws {
    try connection.run(statement.rawValue, values)
  }

  private func first<R>(_ statement: CacheStatement, _ values: SQLiteValue..., read: (SQLiteRow) -> R) throws -> R? {
    try connection.first(statement.rawValue, values, read: read)
  }

  private func all<R>(_ statement: CacheStatement, _ values: SQLiteValue..., read: (SQLiteRow) -> R) throws -> [R] {
    try connection.all(statement.rawValue, values, read: read)
  }

  // MARK: - Rows

  private static func entry(_ row: SQLiteRow, _ key: CacheKey, _ heads: HeadsRead?) -> CacheEntry? {
    let (id, sum) = (row.id(0), row.withText(6) { CheckedHead.sum(in: $0) })
    if let sum, let known = heads?.entry(id, sum: sum), known.key == key { return known }
    let response = StoredResponse(
      head: ResponseHead(status: .ok), variant: row.text(1), requestTime: row.date(2), responseTime: row.date(3),
      isDecoded: row.integer(4) != 0)
    var entry = CacheEntry(id: id, key: key, response: response, length: row.integer(5))
    guard let head = row.withText(6, { CheckedHead.read($0, of: entry) }) else { return nil }
    entry.response.head = head
    if let sum { heads?.keep(entry, sum: sum) }
    return entry
  }

  /// Reads the number of an entry and its body, followed by checksum and length.
  ///
  /// - Returns: nil if the body is damaged.
  private static func body(_ row: SQLiteRow, of id: CacheEntry.ID, from column: Int32) -> Body? {
    let bytes = row.blob(column + 1)
    guard row.isNull(column + 2) || row.integer(column + 2) == Checksum.of(id, bytes),
      Int64(bytes.count) == row.integer(column + 3)
    else { return nil }
    return Body(entry: row.integer(column), length: Int64(bytes.count), bytes: .whole(bytes))
  }

  /// Returns the size that counts for an entry: body, head, its key in table and index, and overhead.
  private static func size(of entry: CacheEntry, head: String, length: Int64) -> Int64 {
    let key = entry.key.url.utf8.count + entry.key.partition.utf8.count + entry.response.variant.utf8.count
    return length + Int64(head.utf8.count + 2 * key + 256)
  }
}
