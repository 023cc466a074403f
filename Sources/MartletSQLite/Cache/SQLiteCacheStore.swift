public import MartletEngine
public import MartletSemantics

/// A ``Martlet/CacheStore`` in a file.
///
/// ```swift
/// let store = try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"), capacity: 512 << 20)
/// configuration.cache = HTTPCache(store: store)
/// ```
///
/// Any number of processes may use the file at once. Bodies pass in chunks of 128 KiB, so that a large one costs no memory.
/// An entry is whole or not there, also after a process was killed in the middle of writing it; what such a one left behind
/// is removed after ten minutes. Heads and bodies have checksums: where a byte changed on the disk, the entry is gone. Only the file's owner may read it. It must lie on a local disk: SQLite shares memory
/// between the processes. A file that is damaged, foreign or of a later version is set aside: ``SetAsideFile``.
///
/// What was used longest ago makes room. The file is as large as what it held at most; space that became free is used
/// again, and given back to the disk where it is more than a quarter of the file. A body that another process reads can
/// be removed under its hands a minute after it was replaced, or at once where room or a removal asks for it; the reading
/// then throws. Errors are ``Martlet/HTTPError`` of kind `.file`, which name the file and what to do.
public struct SQLiteCacheStore: CacheStore {
  let file: CacheFile

  /// Opens the store, and makes its file and folder where they are missing. This takes a few milliseconds, and blocks.
  ///
  /// - Parameters:
  ///   - file: a file URL; SQLite keeps two more files beside it, with `-wal` and `-shm` added to its name.
  ///   - capacity: the most bytes of bodies and heads, 256 MiB by default. Processes that share a file should agree.
  ///   - entryLimit: the most bytes of one body; a quarter of the capacity by default.
  ///   - onSetAside: told when a file could not be used and an empty one took its place; by default nobody is.
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public init(
    at file: URL, capacity: Int64 = 256 << 20, entryLimit: Int64? = nil,
    onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    let database = try Database(at: file, CacheStatement.schema, onSetAside: onSetAside)
    self.init(database, capacity: capacity, entryLimit: entryLimit, now: { Date() })
  }

  init(_ database: Database, capacity: Int64, entryLimit: Int64?, now: @escaping @Sendable () -> Date) {
    let capacity = max(0, capacity)
    let limit = min(capacity, entryLimit ?? capacity / 4)
    file = CacheFile(database, capacity: capacity, entryLimit: limit, now: now)
    file.tidySoon()
  }

  public func entries(for key: CacheKey) async throws -> [CacheEntry] {
    try await file.read { try $0.entries(for: key) }
  }

  public func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)? {
    // Before the entry is looked up, so that its chunks cannot go between the two.
    let pin = BodyPin(id, in: file)
    guard let body = try await file.read({ try $0.body(of: id) }) else { return nil }
    file.note(body.entry)
    let range = range.clamped(to: 0..<body.length)
    switch body.bytes {
    case .whole(let bytes):
      return DataSource(range.count == bytes.count ? bytes : bytes.dropFirst(Int(range.lowerBound)).prefix(range.count))
    case .chunks(let number):
      return ChunkSource(number, length: body.length, range: range, pin: pin, in: file)
    }
  }

  public func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)? {
    entry.length ?? 0 <= file.entryLimit ? SQLiteCacheWriter(entry, in: file) : nil
  }

  public func update(_ entry: CacheEntry) async throws {
    try await file.write { [now = file.now()] in try $0.update(entry, now: now) }
  }

  public func remove(_ selection: CacheSelection) async throws {
    try await file.write { try $0.remove(selection) }
  }

  public func usage() async throws -> CacheUsage {
    try await file.read { try $0.usage() }
  }
}
