/// What a cache may do for a request. The names are Foundation's.
public enum CachePolicy: Sendable, Hashable {
  /// As RFC 9111 says.
  case useProtocolCachePolicy
  /// Ask the origin, whatever is stored.
  case reloadIgnoringCacheData
  /// Use what is stored, fresh or not; ask the origin only if there is nothing.
  case returnCacheDataElseLoad
  /// Use what is stored, fresh or not; never ask the origin. Without a stored answer, or without a cache, this is an
  /// error of kind ``HTTPError/Kind/notCached``.
  case returnCacheDataDontLoad
  /// Use what is stored only after the origin has confirmed it.
  case reloadRevalidatingCacheData
}
