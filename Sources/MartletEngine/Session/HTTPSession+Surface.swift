import MartletSemantics

// What a surface has to know of a session that keeps something beside the session's own cache.
extension HTTPSession {
  /// The options that a request has in this session: its own, and the session's where it sets none.
  package func options(of request: HTTPRequest) -> RequestOptions {
    request.options.inheriting(from: configuration.options)
  }

  /// Which requests of this session's callers are the same as that one, or nil where its answer is for it alone.
  package func route(of request: HTTPRequest) -> RequestRoute? {
    guard RequestRoute.isShared(by: request) else { return nil }
    return RequestRoute(CacheKey(request.url, partition: options(of: request).cachePartition), all: request.fields)
  }

  /// The session's cache.
  package var cache: HTTPCache? { configuration.cache }
}
