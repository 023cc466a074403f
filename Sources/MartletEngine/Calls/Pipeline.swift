import MartletSemantics

/// The order of interceptors and transports. See "The path of a call" in ARCHITECTURE.md.
///
/// Interceptors prepare a request from first to last and review its outcome from last to first. Each transport calls
/// the next one; the session's own, which uses the network, is the last.
struct Pipeline: Sendable {
  let loop: AttemptLoop

  init(transport: any Transport, configuration: SessionConfiguration) {
    var interceptors: [any Interceptor] = []  // after those of the session and of the request
    if let userAgent = configuration.userAgent { interceptors.append(UserAgentInterceptor(value: userAgent)) }
    interceptors.append(AuthenticationInterceptor(configuration.credentials))
    interceptors.append(
      RetryInterceptor(
        budget: configuration.retryBudget, attemptLimit: max(1, configuration.attemptLimit),
        clock: configuration.clock))
    interceptors.append(ExpectationInterceptor())  // prepares when the body is known
    interceptors.append(RedirectInterceptor())  // reviews first: the caller's interceptors see where a redirect led

    var stack: any Transport = MissingCredentialsTransport(base: ObservedTransport(base: transport))
    if let cache = configuration.cache {
      stack = CachingTransport(base: stack, cache: cache, clock: configuration.clock)
    } else {
      stack = UncachedTransport(base: stack)
    }
    if let jar = configuration.cookies { stack = CookieTransport(base: stack, jar: jar) }

    loop = AttemptLoop(
      interceptors: (configuration.interceptors, interceptors), transport: stack,
      limit: max(1, configuration.attemptLimit), clock: configuration.clock)
  }
}

/// Fails a request that must not be sent over the network, because its credentials could not be obtained without one,
/// as if the origin could not be reached either. The cache above this transport may have a response, and retries may
/// send the request again.
struct MissingCredentialsTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    if let error = request.options.credentialsError { throw error }
    return try await base.send(request, in: call)
  }
}

/// Replaces the cache in a session without one: a request that may only be answered from a cache fails.
struct UncachedTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard request.options.cachePolicy != .returnCacheDataDontLoad else {
      throw HTTPError(.notCached, "the request may only be answered from a cache, and the session has none")
    }
    return try await base.send(request, in: call)
  }
}
