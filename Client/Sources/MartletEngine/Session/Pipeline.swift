import MartletSemantics

// The order of interceptors and transports. See "The path of a call" in ARCHITECTURE.md.
extension AttemptLoop {
  /// Makes the loop of a session. Interceptors prepare a request from first to last and review its outcome from last to
  /// first. Each transport calls the next one; the session's own transport, which uses the network, is the last.
  convenience init(to transport: any Transport, _ configuration: SessionConfiguration) {
    var interceptors: [any Interceptor] = []  // They follow the session's and the request's.
    if !configuration.fields.isEmpty || configuration.fields.refusal != nil {
      interceptors.append(
        configuration.baseURL.map { DefaultFieldsInterceptor(configuration.fields, for: [$0]) }
          ?? DefaultFieldsInterceptor(configuration.fields))
    }
    if let userAgent = configuration.userAgent { interceptors.append(UserAgentInterceptor(value: userAgent)) }
    interceptors.append(AuthenticationInterceptor(configuration.credentials))
    interceptors.append(
      RetryInterceptor(budget: configuration.retryBudget, clock: configuration.clock, now: configuration.now))
    interceptors.append(ExpectationInterceptor())  // prepares once the body is known
    interceptors.append(RedirectInterceptor())  // reviews first: the caller's interceptors see the redirect's target
    var own = configuration.interceptors
    if let security = configuration.strictTransport {
      own.insert(StrictTransportUpgrade(security: security), at: 0)
      interceptors.append(StrictTransportObservation(security: security))  // reviews redirects too
    }
    interceptors += configuration.finalInterceptors

    var stack = configuration.limits.around(
      NetworkTransport(base: transport, clock: configuration.clock), clock: configuration.clock, now: configuration.now)
    if let cache = configuration.cache {
      stack = CachingTransport(base: stack, cache: cache, clock: configuration.clock)
    }
    if let jar = configuration.cookies { stack = CookieTransport(base: stack, jar: jar) }

    self.init(
      interceptors: (own, interceptors), transport: stack,
      limit: max(1, configuration.attemptLimit), clock: configuration.clock)
  }
}
