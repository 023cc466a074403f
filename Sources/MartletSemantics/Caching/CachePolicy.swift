/// What a cache may do for a request. The names are Foundation's, but for the last.
public enum CachePolicy: Sendable, Hashable {
  /// As RFC 9111 says.
  case useProtocolCachePolicy
  /// Ask the origin, whatever is stored, and let no cache on the way answer either. The answer is stored.
  case reloadIgnoringCacheData
  /// Use what is stored, fresh or not; ask the origin only if there is nothing.
  case returnCacheDataElseLoad
  /// Use what is stored, fresh or not; never ask the origin. Without a stored answer, or without a cache, the request
  /// fails with `HTTPError.Kind.notCached`.
  case returnCacheDataDontLoad
  /// Use what is stored only after the origin has confirmed it. What is fresh and `immutable` needs no confirmation
  /// (RFC 8246).
  case reloadRevalidatingCacheData
  /// As RFC 9111 says; where the network cannot be reached, or breaks off, use what is stored, however old (§4.2.4).
  /// Only what the origin says must be validated (`must-revalidate`, `no-cache`) is then not used.
  case returnCacheDataIfOffline
}

extension CachePolicy {
  /// Whether answers are welcome that the protocol alone would never serve again.
  package var wantsStale: Bool {
    switch self {
    case .returnCacheDataElseLoad, .returnCacheDataDontLoad, .returnCacheDataIfOffline: true
    default: false
    }
  }
}
