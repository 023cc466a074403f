/// The options of one request. A session's own defaults are in ``SessionConfiguration``; what is set here is obeyed for
/// this request alone.
public struct RequestOptions: Sendable {
  /// The longest wait for the head of a response, connecting included; sending a body restarts it with every byte that
  /// moves. nil waits for ever. 60 seconds by default.
  public var responseTimeout: Duration? = .seconds(60)
  /// The longest silence within a response's body while the reader waits for more; a reader that pauses does not count.
  /// nil waits for ever. 60 seconds by default.
  public var idleTimeout: Duration? = .seconds(60)
  /// The time for everything: interceptors, redirects, retries and the body's last byte. None by default.
  public var deadline: Duration?
  /// What a cache may do for this request. By default, what the protocol says.
  public var cachePolicy: CachePolicy = .useProtocolCachePolicy
  /// What happens on a redirect. By default up to 20 are followed.
  public var redirectPolicy: RedirectPolicy = .follow
  /// The most bytes of a response's body, counted after decompression; more is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``. No limit by default, except for verbs that collect: see ``collectLimit``.
  public var bodyLimit: Int64?
  /// The most bytes that `data` and `upload` collect in memory, 1 GiB by default. Larger things are for `bytes` and
  /// `download`.
  public var collectLimit: Int = 1 << 30
  /// The most bytes of a response's heads and trailers together, 256 KiB by default.
  public var headerLimit: Int = 256 << 10
  /// Watchers of this request, told after those of the session.
  public var listeners: [any EventListener] = []

  /// Makes the default options.
  public init() {}
}

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
