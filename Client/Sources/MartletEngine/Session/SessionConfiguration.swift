public import MartletSemantics

/// The configuration of a session. The session copies it: later changes have no effect.
public struct SessionConfiguration: Sendable {
  /// The URL against which relative URLs of requests are resolved; nil, the default, for none.
  ///
  /// ```swift
  /// configuration.baseURL = URL(string: "https://api.example.com/v1")
  /// // HTTPRequest(.get, "orders")       https://api.example.com/v1/orders
  /// // HTTPRequest(.get, "/health")      https://api.example.com/health
  /// // HTTPRequest(.get, "?page=2")      https://api.example.com/v1/?page=2
  /// ```
  ///
  /// It is a folder, whether or not it ends with a slash. References are resolved by RFC 3986 §5.2, so one such as
  /// `//other.example/a` leads to another origin. Without a base, a relative URL is an error of kind
  /// ``HTTPError/Kind/invalidRequest``.
  public var baseURL: URL?
  /// The fields that are sent with every request, unless it sets a field of the same name. None by default.
  ///
  /// With a ``baseURL``, only its origin gets them. Without one, the origin of every request gets them, so they must
  /// not be secret. The target of a redirect to another origin never gets them. Use a ``DefaultFieldsInterceptor`` for
  /// fields that only certain origins should get.
  public var fields: HTTPFields = [:]
  /// Decodes JSON for verbs that are called without a decoder. By default a `JSONDecoder` with Foundation's settings.
  /// Do not change the decoder once a session uses it.
  public var decoder = JSONDecoder()
  /// The interceptors, which change requests and review outcomes, in order; see ``Interceptor``. None by default.
  public var interceptors: [any Interceptor] = []
  /// The interceptors that prepare a request after all others, and review its outcome before all others. None by
  /// default.
  ///
  /// They see the fields of ``credentials`` and of every other interceptor: for signatures of requests, which nothing
  /// may change afterwards. Only the fields of ``cookies``, ``cache`` and the transport are added later. In a review
  /// they see each response before redirects, retries and challenges are handled.
  public var finalInterceptors: [any Interceptor] = []
  /// The sources of credentials, each for its own origins, in order; see ``CredentialSource``. None by default.
  public var credentials: [any CredentialSource] = []
  /// The listeners, which receive the events of every call, in order; see ``EventListener``. None by default.
  public var listeners: [any EventListener] = []
  /// The jar that stores the cookies of responses and sends them with requests; nil for none. By default a jar in
  /// memory, made with the configuration: sessions with the same configuration, or copies of it, share it.
  public var cookies: CookieJar?
  /// The options for requests that do not set them. Their interceptors and listeners follow the session's own.
  @inlinable public var options: RequestOptions {
    _read { yield sharedOptions.value }
    _modify { yield &sharedOptions.value }
  }
  @usableFromInline var sharedOptions = Shared<RequestOptions>.standard
  /// Limits the retries of all calls of the session together. By default, every five requests allow one retry, and a
  /// reserve of ten retries is refilled within ten seconds.
  public var retryBudget = RetryBudget()
  /// The `User-Agent` of requests that do not set one; `Martlet` by default, nil to send none. RFC 9110 §10.1.5 defines
  /// it as a list of products, the most significant first: `MyApp/2.1 Martlet`.
  public var userAgent: String? = "Martlet"
  /// The cache of responses; nil for none. By default a cache in memory of at most 32 MiB, made with the configuration.
  /// Several sessions may share a cache; see ``HTTPCache``.
  ///
  /// Requests of a GET that are identical and start together wait for the first one's head. If that forbids storing the
  /// response, they are sent then: the first time they take two round trips, and later ones of that URL do not wait.
  public var cache: HTTPCache?
  /// Limits for each origin: on simultaneous requests and on requests per period, with a circuit breaker, and with
  /// hedging (a second request when the first is slow). None by default.
  public var limits = OriginLimits()
  /// The hosts that require https (HTTP Strict Transport Security); nil, the default, to use http if a URL says so. See
  /// ``StrictTransportSecurity``.
  public var strictTransport: StrictTransportSecurity?
  /// The maximum number of attempts of a call: the first one and all redirects, retries, challenges and other resends.
  /// 21 by default; one more is an error of kind ``HTTPError/Kind/tooManyAttempts``.
  public var attemptLimit = 21
  /// The clock for deadlines and delays; a test can set one that it controls.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// Returns the current time, for dates in responses and lifetimes of OAuth tokens; a test can set its own. The cache
  /// and the cookie jar have theirs.
  @_spi(Toolkit) public var now: @Sendable () -> Date = { .now }

  /// Makes the default configuration.
  public init() { self.init(cookies: CookieJar(), cache: HTTPCache()) }

  /// Makes a configuration with this jar and this cache, without making the default ones, which takes time.
  @_spi(Toolkit) public init(cookies: CookieJar?, cache: HTTPCache?) { (self.cookies, self.cache) = (cookies, cache) }

  /// Moves the interceptors and the listeners of ``options`` to the end of the session's own. A request that takes the
  /// session's options does not take them too, so a request that an interceptor sends on has each of them once.
  mutating func adoptInterceptorsAndListeners() {
    guard !options.interceptors.isEmpty || !options.listeners.isEmpty else { return }
    interceptors += options.interceptors
    listeners += options.listeners
    (options.interceptors, options.listeners) = ([], [])
  }
}
