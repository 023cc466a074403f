public import MartletSemantics

/// The place where a cache stores responses: memory, a database, a server.
///
/// A store does not apply the rules of HTTP: ``HTTPCache`` decides what is stored, for how long and for whom. Many
/// tasks call it at the same time. Its capacity is limited: it removes the least recently used entries to make room
/// (``open(_:range:)``, ``update(_:)`` and ``CacheWriter/commit()`` count as uses), and may remove any entry at any
/// time. An error of the store never fails a request: the cache continues as if nothing were stored.
///
/// Requirements:
/// - An entry can be found when it is committed, and is complete then. Before that, and after an abort, it does not
///   exist.
/// - Committing an entry replaces the one with the same key and variant in one step.
/// - Bodies are written and read in chunks. Only a store in memory uses memory in proportion to the size of a body.
/// - A body that was opened can be read completely, even if its entry is removed. If that is not possible, reading
///   throws; it never ends early without an error.
public protocol CacheStore: Sendable {
  /// Returns all entries of a key, which are its variants, in any order. Their bodies are not read.
  func entries(for key: CacheKey) async throws -> [CacheEntry]

  /// Opens the body of an entry.
  ///
  /// - Parameters:
  ///   - id: the entry.
  ///   - range: the bytes to read, within the length of the body.
  /// - Returns: nil if there is no such entry.
  func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)?

  /// Begins to write an entry.
  ///
  /// - Parameter entry: the entry; its length is what the origin announced, and may be wrong or nil.
  /// - Returns: the writer of the body; nil if the store does not accept the entry, for example because it is too
  ///   large.
  func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)?

  /// Replaces the response of the entry with this identifier: head, variant and times. Its key and body do not change.
  ///
  /// If the variant changes, the entry replaces the one with that variant. If there is no such entry, nothing happens.
  func update(_ entry: CacheEntry) async throws

  /// Removes entries. Entries that are being written are not affected.
  func remove(_ selection: CacheSelection) async throws

  /// Returns how much is stored.
  func usage() async throws -> HTTPCache.Usage

  /// Whether the store may have responses to QUERY requests: ``remove(_:)`` removes them with their target, as
  /// ``CacheSelection`` says. False by default: QUERY requests are then sent without the cache.
  var storesQueries: Bool { get }
}

extension CacheStore {
  public var storesQueries: Bool { false }
}

/// A store that can usually find and read entries immediately.
@_spi(Stores) public protocol ImmediateCacheStore: CacheStore {
  /// Returns all entries of a key; nil if that fails or would take long, and ``CacheStore/entries(for:)`` has to be
  /// called.
  func immediateEntries(for key: CacheKey) -> [CacheEntry]?

  /// Returns a part of the body of an entry; nil if that fails or would take long, and ``CacheStore/open(_:range:)``
  /// has to be called.
  func immediateBytes(of id: CacheEntry.ID, range: Range<Int64>) -> Data?

  /// Removes entries, on the caller's thread.
  func blockingRemove(_ selection: CacheSelection) throws
}

/// Writes the body of one entry, chunk by chunk, from one task at a time.
///
/// A writer that is deallocated before ``commit()`` is aborted.
public protocol CacheWriter: Sendable {
  /// Adds bytes. Throws if the entry is not stored; it is aborted then.
  ///
  /// - Throws: ``CacheEntry/Refusal`` if the store does not accept the entry, for example because the body turns out to
  ///   be too large. Any other error means that the store has failed.
  func append(_ chunk: Data) async throws

  /// Completes the entry: it can be found from now on, and replaces the one with the same key and variant. Throws if
  /// the entry is not stored.
  ///
  /// - Throws: ``CacheEntry/Refusal`` if the store does not accept the entry. Any other error means that the store has
  ///   failed.
  func commit() async throws

  /// Removes everything that was written. May be called more than once; after ``commit()`` it does nothing.
  func abort() async
}

/// One stored response: its key and its head. The body stays in the store until it is opened.
public struct CacheEntry: Sendable, Hashable, Identifiable {
  /// The identifier, which the cache creates. It never changes, and is not used for another entry.
  public let id: UUID
  /// The key: URL and partition.
  public let key: CacheKey
  /// Head, variant and times.
  public var response: StoredResponse
  /// The number of bytes of the body. While the entry is written, this is the length that the origin announced, or nil;
  /// afterwards it is the number of bytes that were written.
  public var length: Int64?

  /// Makes an entry.
  public init(id: UUID = UUID(), key: CacheKey, response: StoredResponse, length: Int64? = nil) {
    self.id = id
    self.key = key
    self.response = response
    self.length = length
  }
}

extension CacheEntry {
  /// Thrown by a ``CacheWriter`` if its store does not accept the entry, for example because the body is too large. It
  /// is not a failure of the store: the cache continues without storing the response, and does not count it in
  /// ``HTTPCache/Statistics/storeFailures``.
  public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// Why the entry is not stored.
    public let reason: String

    /// Makes an error with this reason.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }

    /// The body has more bytes than the store accepts, or its writer was aborted.
    @_spi(Stores) public static func bodyTooLarge(limit: Int64) -> Refusal {
      Refusal("the body is larger than the \(limit) bytes that the store accepts, or was aborted")
    }
  }
}

/// Selects entries of a cache. The cases are final, because every store has to handle each of them.
public enum CacheSelection: Sendable, Hashable {
  /// One entry.
  case entry(CacheEntry.ID)
  /// All variants of one URL in one partition, and those of all QUERY requests whose ``CacheKey/target`` it is; see
  /// ``CacheStore/storesQueries``.
  case key(CacheKey)
  /// All variants of one URL in all partitions, and those of all QUERY requests to it. The URL has the form of
  /// ``CacheKey/url``.
  case url(String)
  /// All entries of a partition.
  case partition(String)
  /// The entries that were received or last validated before this time: ``StoredResponse/responseTime``.
  case olderThan(Date)
  /// All entries.
  case all
}

extension HTTPCache {
  /// How much a cache stores.
  public struct Usage: Sendable, Hashable {
    /// The number of entries that can be found.
    public var entries: Int
    /// The bytes of bodies and heads that the store counts against its capacity.
    public var bytes: Int64

    /// Makes a value.
    public init(entries: Int, bytes: Int64) {
      self.entries = entries
      self.bytes = bytes
    }
  }
}
