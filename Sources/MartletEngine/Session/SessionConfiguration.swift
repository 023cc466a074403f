public import MartletSemantics

/// What a session is made of, besides its transport. Copied when the session is made: later changes have no effect.
public struct SessionConfiguration: Sendable {
  /// What changes requests and reviews outcomes, in this order; see ``Interceptor``. None by default.
  public var interceptors: [any Interceptor] = []
  /// Where credentials come from, each for its own origins, in this order; see ``CredentialSource``. None by default.
  public var credentials: [any CredentialSource] = []
  /// What watches every exchange, in this order; see ``EventListener``. None by default.
  public var listeners: [any EventListener] = []
  /// The jar that takes the cookies of responses and sends them back; nil for none. By default one in memory, which is made
  /// with the configuration: sessions made from the same configuration, or from copies of it, share it.
  public var cookies: CookieJar? = CookieJar()
  /// The options of requests that do not set their own.
  public var options = RequestOptions()
  /// What is sent again when it fails: ``RequestOptions/retryPolicy`` of the session's ``options``. By default a stale
  /// connection is replaced, and nothing else is retried.
  public var retry: RetryPolicy {
    get { options.retryPolicy }
    set { options.retryPolicy = newValue }
  }
  /// How many retries all exchanges of the session may make together: by default one for every five requests, and ten at
  /// any time.
  public var retryBudget = RetryBudget()
  /// What requests without a `User-Agent` say in it: `Martlet` by default; nil for no such field. RFC 9110 §10.1.5 wants a
  /// product, most significant first: `MyApp/2.1 Martlet`.
  public var userAgent: String? = "Martlet"
  /// Where answers are kept and looked for; nil for nowhere. By default a cache of this configuration's own, in memory, of
  /// at most 32 MiB. Sessions that are given the same one share it; see ``HTTPCache``.
  public var cache: HTTPCache? = HTTPCache()
  /// How often one exchange may send: the first attempt and all redirects, retries, challenges and other resends
  /// together. 21 by default: one, and twenty more. One more is an error of kind ``HTTPError/Kind/tooManyAttempts``.
  public var attemptLimit = 21
  /// The clock of deadlines and delays; a test may set one that it moves itself.
  public var clock: any Clock<Duration> = ContinuousClock()

  /// Makes the default configuration.
  public init() {}
}
