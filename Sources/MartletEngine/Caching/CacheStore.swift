public import MartletSemantics

/// Where a cache keeps answers: in memory, in a data base, on another machine.
///
/// A store knows nothing of HTTP: what may be stored, for how long, and for whom is decided above it. It is asked by many
/// tasks at once. It is bounded: it makes room by forgetting the entries that were used longest ago (``open(_:range:)``,
/// ``update(_:)`` and ``CacheWriter/commit()`` are uses), and it may forget anything at any time. An error that it throws
/// never fails a request: the cache goes on as if nothing were stored.
///
/// What a store owes the cache:
/// - An entry is found once it is committed, and then whole; until then, and after an abort, it is as if it had never been.
/// - Committing replaces, in one step, the entry of the same key with the same variant.
/// - Bodies pass in chunks. Neither writing nor reading takes memory in proportion to a body, unless memory is the store.
/// - A body that was opened can be read to its end, whatever becomes of its entry meanwhile. Where that cannot be, reading
///   throws; it never ends early without an error.
public protocol CacheStore: Sendable {
  /// All entries of a key, in any order: its variants. Their bodies are not touched.
  func entries(for key: CacheKey) async throws -> [CacheEntry]

  /// Opens the body of an entry.
  ///
  /// - Parameters:
  ///   - id: the entry.
  ///   - range: which of its bytes; within the body's length.
  /// - Returns: nil if there is no such entry, or not any more.
  func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)?

  /// Begins to write an entry.
  ///
  /// - Parameter entry: the entry; its length is what the sender announced, and may be wrong or nil.
  /// - Returns: what takes the body; nil if the store does not want the entry: because it is too large, for one.
  func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)?

  /// Replaces the response of the entry with this identifier: head, variant and times. Its key and body stay.
  ///
  /// Where the variant changes, the entry replaces the one that had it. An entry that is gone stays gone, without an error.
  func update(_ entry: CacheEntry) async throws

  /// Forgets entries. Those being written are not affected.
  func remove(_ selection: CacheSelection) async throws

  /// How much is stored.
  func usage() async throws -> CacheUsage
}

/// Takes the body of one entry, chunk by chunk, from one task at a time.
///
/// A writer that nobody keeps has been aborted.
public protocol CacheWriter: Sendable {
  /// Adds bytes. Throws where the entry cannot be stored after all; it is then aborted.
  func append(_ chunk: Data) async throws

  /// The body is whole: the entry can be found from now on, and replaces the one with the same key and variant.
  func commit() async throws

  /// Forgets what was written. May be called more than once; after a commit it does nothing.
  func abort() async
}
