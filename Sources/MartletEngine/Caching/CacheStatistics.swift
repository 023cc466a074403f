/// How often a cache was asked, and what came of it, since it was made.
public struct CacheStatistics: Sendable, Hashable {
  /// Requests answered from what was stored and fresh.
  public var hits = 0
  /// Requests answered from what was stored and stale: as the origin or the caller allows, or offline.
  public var staleHits = 0
  /// Requests answered from what was stored after the origin had confirmed it.
  public var revalidations = 0
  /// Requests that the network answered, though the cache was asked.
  public var misses = 0
  /// Requests of these that waited for the answer to an identical one instead of going out at once.
  public var collapsed = 0
  /// Answers that were stored whole.
  public var stored = 0
  /// What failed in the store. None of it failed a request.
  public var storeFailures = 0

  /// Makes statistics of nothing.
  public init() {}
}
