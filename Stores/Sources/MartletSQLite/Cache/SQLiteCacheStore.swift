@_spi(Stores) public import MartletEngine
public import MartletSemantics

/// A ``Martlet/CacheStore`` in a SQLite file.
///
/// ```swift
/// let store = try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"), capacity: 512 << 20)
/// configuration.cache = HTTPCache(store: store)
/// ```
///
/// Several processes can use the file at the same time. Bodies are read and written in chunks of 128 KiB, so large ones
/// need little memory. Writing an entry is atomic, even if the process is killed; incomplete bodies are removed after
/// ten minutes. Heads and bodies have checksums, and damaged entries are treated as missing. Only the owner of the file
/// can read it. It must be on a local disk, because SQLite shares memory between processes. A file that is damaged,
/// foreign or of a later version is set aside: ``SetAsideFile``.
///
/// Removing everything, a partition, or entries older than a time erases them from the files before the call returns; a
/// partition of 100 MB can take seconds. A body that is being read is erased at its end. An entry that is removed in
/// another way is overwritten in the file by the next clean-up. A copy may remain in the journal until the next such
/// removal, or until the last store of the file is closed. If another process uses the file in the meantime for longer
/// than a quarter of a second, copies remain until the next write after it, or until a store opens the file. A file of
/// more than 1 MiB is not rewritten when only a part is removed: a few heads and URLs may then remain in unused parts
/// of its pages, until everything is removed.
///
/// The cache leaves 4 MiB of its disk free for other files, and evicts entries earlier if the disk has no more. On a
/// full disk it can be opened and read; writing throws an error that names the disk. If nothing can be removed for lack
/// of space, the cache starts again with an empty file.
///
/// If another process locks the file for longer than a second, the store pauses for ten seconds: look-ups
/// that the lock prevents find nothing, and responses are not stored. Opening such a file is no error. Only removing
/// everything, a partition or entries of an age waits longer, up to five seconds.
///
/// The least recently used entries are evicted. The file stays as large as its largest content; free space is reused,
/// and returned to the file system if it is more than a quarter of the file. A body that another process is reading can
/// be removed a minute after it was replaced, or at once if its entry was evicted or removed; reading then throws.
/// Errors are ``Martlet/HTTPError`` of kind `.file`, with the file and the remedy. An entry that is too large, or for
/// which other bodies leave no room while they are written, is a ``Martlet/CacheEntry/Refusal``. Reads run off the
/// caller's actor.
public struct SQLiteCacheStore: CacheStore {
  let file: CacheFile

  public var storesQueries: Bool { true }

  /// Opens the store, and creates its file and folder if they do not exist. This blocks for a few milliseconds.
  ///
  /// - Parameters:
  ///   - file: a file URL. SQLite keeps two more files beside it, with `-wal` and `-shm` appended to its name.
  ///   - capacity: the maximum number of bytes of bodies and heads, 256 MiB by default. It should be the same in all
  ///     processes that share the file.
  ///   - entryLimit: the maximum number of bytes of one body; a quarter of the capacity by default.
  ///   - onSetAside: called when a file could not be used and was replaced by an empty one.
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public init(
    at file: URL, capacity: Int64 = 256 << 20, entryLimit: Int64? = nil,
    onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    let database = try Database(at: file, CacheStatement.schema, .short, onSetAside: onSetAside)
    self.init(database, capacity: capacity, entryLimit: entryLimit, now: { Date() })
  }

  init(_ database: Database, capacity: Int64, entryLimit: Int64?, now: @escaping @Sendable () -> Date) {
    let capacity = max(0, capacity)
    let limit = min(capacity, entryLimit ?? capacity / 4)
    file = CacheFile(database, capacity: capacity, entryLimit: limit, now: now)
    file.scheduleCleanUp()
  }

  @concurrent public func entries(for key: CacheKey) async throws -> [CacheEntry] {
    try await file.read { try $0.entries(for: key) }
  }

  @concurrent public func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)? {
    // Pinned before the look-up, so that the chunks are not deleted in between.
    let pin = BodyPin(id, in: file)
    guard let body = try await file.read({ try $0.body(of: id) }) else { return nil }
    file.note(body.entry)
    let range = range.clamped(to: 0..<body.length)
    switch body.bytes {
    case .whole(let bytes):
      return DataSource(Self.part(range, of: bytes))
    case .chunks(let number):
      return ChunkSource(number, length: body.length, range: range, pin: pin, in: file)
    }
  }

  private static func part(_ range: Range<Int64>, of bytes: Data) -> Data {
    let range = range.clamped(to: 0..<Int64(bytes.count))
    return range.count == bytes.count ? bytes : bytes.dropFirst(Int(range.lowerBound)).prefix(range.count)
  }

  public func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)? {
    entry.length ?? 0 <= file.entryLimit && file.isWritable ? SQLiteCacheWriter(entry, in: file) : nil
  }

  public func update(_ entry: CacheEntry) async throws {
    try await file.write { [now = file.now()] in try $0.update(entry, now: now) }
  }

  public func remove(_ selection: CacheSelection) async throws {
    try await file.remove(selection)
  }

  @concurrent public func usage() async throws -> HTTPCache.Usage {
    try await file.read { try $0.usage() }
  }
}

@_spi(Stores) extension SQLiteCacheStore: ImmediateCacheStore {
  public func immediateEntries(for key: CacheKey) -> [CacheEntry]? {
    file.readIfUsable { table in
      try table.entries(for: key, bodyLimit: BodiesRead.lengthLimit, heads: file.headsRead) { id, body in
        file.bodiesRead.keep(body, of: id)
      }
    }
  }

  public func immediateBytes(of id: CacheEntry.ID, range: Range<Int64>) -> Data? {
    guard let body = file.bodiesRead.take(id) ?? file.readIfUsable({ try $0.body(of: id) }) ?? nil,
      case .whole(let bytes) = body.bytes
    else {
      return nil
    }
    file.note(body.entry)
    return Self.part(range, of: bytes)
  }

  public func blockingRemove(_ selection: CacheSelection) throws { try file.blockingRemove(selection) }
}
