/// How the cache is used for a request. The names are Foundation's, except for the last one.
@nonexhaustive public enum CachePolicy: Sendable, Hashable {
  /// Follow RFC 9111.
  case useProtocolCachePolicy
  /// Ask the origin without using stored responses, here or in other caches. The response is stored.
  case reloadIgnoringCacheData
  /// Use a stored response, fresh or stale; send a request only if there is none.
  case returnCacheDataElseLoad
  /// Use a stored response, fresh or stale; never send a request. Without a stored response, or without a cache, the
  /// request fails with `HTTPError.Kind.notCached`.
  case returnCacheDataDontLoad
  /// Use a stored response only after the origin has validated it. A fresh response that is `immutable` needs no
  /// validation (RFC 8246).
  case reloadRevalidatingCacheData
  /// Follow RFC 9111. If the network cannot be reached, or the connection fails, use a stored response of any age
  /// (§4.2.4), unless the origin requires validation (`must-revalidate`, `no-cache`), or the response is an error that
  /// was never fresh.
  case returnCacheDataIfOffline
}

extension CachePolicy {
  /// Whether to use stale responses beyond what RFC 9111 allows.
  package var wantsStale: Bool {
    switch self {
    case .returnCacheDataElseLoad, .returnCacheDataDontLoad, .returnCacheDataIfOffline: true
    default: false
    }
  }
}
