import MartletSemantics
import Synchronization

/// The body of a stored answer. Its first bytes are already here, so that a store that fails at once is found out while the
/// network can still answer; one that fails later fails the reading, and the entry is forgotten.
final class StoredBody: BodySource {
  private let base: any BodySource
  private let first: Mutex<Data?>
  private let entry: CacheEntry
  private let cache: HTTPCache
  private let exchange: Exchange

  /// - Returns: nil where the store has the body no more, or cannot read it.
  static func open(_ entry: CacheEntry, range: Range<Int64>, of cache: HTTPCache, in exchange: Exchange) async
    -> StoredBody?
  {
    await cache.attempt(in: exchange) {
      guard let source = try await cache.store.open(entry.id, range: range) else { return nil }
      let first = try await source.next()
      guard first != nil || range.isEmpty else { return nil }
      return StoredBody(source, first: first, of: entry, in: cache, exchange)
    }
  }

  private init(_ base: any BodySource, first: Data?, of entry: CacheEntry, in cache: HTTPCache, _ exchange: Exchange) {
    self.base = base
    self.first = Mutex(first)
    self.entry = entry
    self.cache = cache
    self.exchange = exchange
  }

  func next() async throws -> Data? {
    if let chunk = first.withLock({ $0.take() }) { return chunk }
    do { return try await base.next() } catch {
      if Task.isCancelled { throw error }
      cache.count { $0.storeFailures += 1 }
      _ = await cache.attempt(in: exchange) { try await cache.store.remove(.entry(entry.id)) }
      throw HTTPError(
        .other,
        "the stored body could not be read to its end; it is forgotten now, so that the request can be made anew",
        phase: .receiving, underlying: error)
    }
  }

  func cancel() { base.cancel() }
}
