public import MartletSemantics
import Synchronization

/// A private HTTP cache (RFC 9111, RFC 5861, RFC 8246): keeps answers, and gives them again as long as their origin allows.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.cache = HTTPCache(store: MemoryCacheStore(capacity: 64 << 20))
/// …
/// let (data, response) = try await session.data(for: request)
/// response.source                // .network, and the next time .cache
/// try await cache.removeAll()    // when the user signs out
/// ```
///
/// One user's answers are not for another: give each a partition (``RequestOptions/cachePartition``). Without one, answers
/// to requests with an `Authorization` are given only to requests with the same, unless the origin calls them `public`. A
/// request whose `Host` field names another host than its URL passes the cache by.
///
/// Bodies are kept as the transport hands them over, that is unpacked. Validators still work, because a request that asks
/// with them accepts the same encodings again; parts of such bodies (`Range`) are always fetched from the origin.
///
/// A cache whose store fails is no cache for that moment; requests do not fail with it.
public final class HTTPCache: Sendable {
  /// Where the answers are.
  public let store: any CacheStore
  let now: @Sendable () -> Date
  let flights = CacheFlights()
  let writes = PendingWrites()
  private let counts = Mutex(CacheStatistics())
  private let revalidating = Mutex<Set<CacheEntry.ID>>([])

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: where the answers are kept; by default in memory, 32 MiB at most.
  ///   - now: tells the time, for tests that move it.
  public init(store: any CacheStore = MemoryCacheStore(), now: @escaping @Sendable () -> Date = { Date() }) {
    self.store = store
    self.now = now
  }

  /// What came of the requests so far.
  public var statistics: CacheStatistics { counts.withLock { $0 } }

  /// How much is stored. Throws what the store throws.
  public func usage() async throws -> CacheUsage { try await store.usage() }

  /// Forgets everything, and what is just being stored as well. Throws what the store throws.
  public func removeAll() async throws { try await remove(.all) }

  /// Forgets the answers of a URL, in all partitions. Throws what the store throws.
  public func remove(_ url: URL) async throws { try await remove(.url(CacheKey(url).url)) }

  /// Forgets all answers of a partition: a user who signed out. Throws what the store throws.
  public func removePartition(_ partition: String) async throws { try await remove(.partition(partition)) }

  /// Forgets the answers that arrived, or were confirmed last, longer ago than that. Throws what the store throws.
  public func remove(olderThan age: Duration) async throws {
    let seconds = Double(age.components.seconds) + Double(age.components.attoseconds) * 1e-18
    try await remove(.olderThan(now().addingTimeInterval(-seconds)))
  }

  /// Forgets entries. Throws what the store throws.
  public func remove(_ selection: CacheSelection) async throws {
    writes.invalidate(selection)
    try await store.remove(selection)
  }
}

extension HTTPCache {
  func count(_ change: (inout CacheStatistics) -> Void) { counts.withLock { change(&$0) } }

  /// Asks the store; where it fails, the answer is nil, and the exchange's listeners are told.
  func attempt<Value: Sendable>(in exchange: Exchange, _ work: () async throws -> Value?) async -> Value? {
    do { return try await work() } catch {
      // A reader that is cancelled is no fault of the store.
      guard !Task.isCancelled else { return nil }
      count { $0.storeFailures += 1 }
      exchange.emit(.note("the cache's store failed, and the exchange goes on without it: \(error)"))
      return nil
    }
  }

  /// Claims the revalidation of an entry in the background; false where it is under way.
  func beginRevalidation(of id: CacheEntry.ID) -> Bool { revalidating.withLock { $0.insert(id).inserted } }

  func endRevalidation(of id: CacheEntry.ID) { _ = revalidating.withLock { $0.remove(id) } }
}
