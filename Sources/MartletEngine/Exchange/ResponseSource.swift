/// Where a response came from.
public enum ResponseSource: String, Sendable, Hashable {
  /// The network.
  case network
  /// The cache: it is fresh.
  case cache
  /// The cache, after the origin had confirmed that what is stored is still right.
  case revalidated
  /// The cache, though it is stale: the origin or the caller allows that.
  case stale
  /// The cache, though it may be stale, because the network could not be reached; see
  /// `CachePolicy.returnCacheDataIfOffline`.
  case offline
}
