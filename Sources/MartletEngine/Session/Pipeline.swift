import MartletSemantics

/// The order of everything, written once. See "How a request flows" in ARCHITECTURE.md.
///
/// Interceptors prepare from top to bottom and review from bottom to top; transports nest, the wire at the bottom.
struct Pipeline: Sendable {
  let loop: AttemptLoop

  init(transport: any Transport, configuration: SessionConfiguration) {
    var interceptors: [any Interceptor] = []  // behind the session's, and behind those of the request
    if let userAgent = configuration.userAgent { interceptors.append(UserAgentInterceptor(value: userAgent)) }
    interceptors.append(AuthenticationInterceptor(configuration.credentials))
    interceptors.append(
      RetryInterceptor(
        budget: configuration.retryBudget, attemptLimit: max(1, configuration.attemptLimit),
        clock: configuration.clock))
    interceptors.append(RedirectInterceptor())  // reviews first: the caller's interceptors see where a redirect led

    var stack: any Transport = ObstacleTransport(base: ObservedTransport(base: transport))
    if let cache = configuration.cache {
      stack = CachingTransport(base: stack, cache: cache, clock: configuration.clock)
    } else {
      stack = UncachedTransport(base: stack)
    }
    if let jar = configuration.cookies { stack = CookieTransport(base: stack, jar: jar) }

    loop = AttemptLoop(
      interceptors: (configuration.interceptors, interceptors), transport: stack,
      limit: max(1, configuration.attemptLimit),
      clock: configuration.clock)
  }
}

/// Fails what must not reach the network, because its credentials could not be had without one: as if the origin could not be
/// reached either. The cache above it may have an answer, and the retries above both may try again.
struct ObstacleTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    if let obstacle = request.options.obstacle { throw obstacle }
    return try await base.send(request, in: exchange)
  }
}

/// Stands in the place of a cache: without one, a request that must not reach the network has no answer.
struct UncachedTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    guard request.options.cachePolicy != .returnCacheDataDontLoad else {
      throw HTTPError(.notCached, "the request may only be answered from a cache, and the session has none")
    }
    return try await base.send(request, in: exchange)
  }
}
