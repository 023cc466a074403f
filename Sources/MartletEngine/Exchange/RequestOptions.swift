public import MartletSemantics

/// The options of one request.
///
/// What is not set on a request is taken from the session's ``SessionConfiguration/options``; what is set on neither has
/// the default that is stated here.
public struct RequestOptions: Sendable {
  /// The longest wait for the head of a response, connecting included; sending a body restarts it with every byte that
  /// moves. nil waits for ever. 60 seconds by default.
  @Setting public var responseTimeout: Duration? = .seconds(60)
  /// The longest silence within a response's body while the reader waits for more; a reader that pauses does not count.
  /// nil waits for ever. 60 seconds by default.
  @Setting public var idleTimeout: Duration? = .seconds(60)
  /// The time for everything: interceptors, redirects, retries and the body's last byte. None by default.
  @Setting public var deadline: Duration? = nil
  /// What a cache may do for this request. By default, what the protocol says.
  @Setting public var cachePolicy: CachePolicy = .useProtocolCachePolicy
  /// Whose answers a cache may use and keep for this request: those of one partition are never seen from another. Name the
  /// user, together with the tenant where there are several. The empty one by default.
  ///
  /// The name stands for the user's credentials: answers to requests with an `Authorization` are given again within the
  /// partition whatever token a request has, so that they outlive its renewal; and without one where it cannot be had
  /// because there is no network. Only where an answer's `Vary` names `Authorization` the same one is needed. In the empty
  /// partition such answers are for the same `Authorization` alone, unless they are `public`.
  @Setting public var cachePartition: String = ""
  /// What happens on a redirect. By default up to 20 are followed.
  @Setting public var redirectPolicy: RedirectPolicy = .follow
  /// What is sent again when it fails. By default a stale connection is replaced, and nothing else is retried.
  @Setting public var retryPolicy: RetryPolicy = RetryPolicy()
  /// Whether sending the request twice does what sending it once does. nil, the default, leaves that to the method and to
  /// an `Idempotency-Key` field (RFC 9110 §9.2.2); set it where the request's meaning says otherwise.
  @Setting public var isIdempotent: Bool? = nil
  /// The most bytes of a response's body, counted after decompression; more is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``. No limit by default, except for verbs that collect: see ``collectLimit``.
  @Setting public var bodyLimit: Int64? = nil
  /// How many times as many bytes as came over the network a decoded body may have; more is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``. It counts beyond 10 MiB decoded. None by default, because a body is decoded only as fast as
  /// it is read, and honest ones reach 1000:1 with zstd and brotli.
  @Setting public var decompressionRatioLimit: Int? = nil
  /// The most bytes that `data` and `upload` collect in memory, 1 GiB by default. Larger things are for `bytes` and
  /// `download`.
  @Setting public var collectLimit: Int = 1 << 30
  /// The most bytes of a response's heads and trailers together, 256 KiB by default.
  @Setting public var headerLimit: Int = 256 << 10
  /// Whether the session's cookies go with the request, and those of its responses are taken. True by default. A request
  /// that has a `Cookie` field of its own gets no other, but responses may still set cookies.
  @Setting public var handlesCookies = true
  /// What is known of the request, as far as cookies depend on it; see ``CookieContext``. By default the request is
  /// same-site. The method is that of the request, whatever this says.
  @Setting public var cookieContext = CookieContext()
  /// How long the body waits for the server's consent (`Expect: 100-continue`, RFC 9110 §10.1.1) before it is sent all the
  /// same. It does so if it has more than 1 MiB, an unknown length, or is there only once. An answer that comes instead, a 401 or
  /// a 413 say, leaves the body unsent, and a single-use one untouched for the next attempt.
  ///
  /// nil, the default, sends at once: few servers refuse, and waiting costs the time to the server and back. Worth it where a
  /// challenge is to be expected, or uploads are refused by size. A request with a field `Expect` of its own waits as long as
  /// is said here, a second by default. Only for transports that can wait: the URLSession transport cannot.
  @Setting public var continueTimeout: Duration? = nil
  /// How often one call of a download verb goes on after its connection was lost; 0 by default. It waits before it tries again
  /// only where nothing came since the last time: a second, and twice as long each time, up to 30.
  ///
  /// See ``HTTPSession/resumableDownload(for:to:resuming:)`` for what can be gone on with.
  @Setting public var downloadResumptions: Int = 0
  /// Decides on every redirect that is about to be followed; nil, the default, follows as ``redirectPolicy`` says.
  @Setting public var redirectDecision: RedirectDecision? = nil
  /// Decides on every answer that is about to be stored in the cache; nil, the default, stores what the protocol allows.
  @Setting public var storageDecision: StorageDecision? = nil
  /// Why the request must not reach the network: its credentials could not be had. Only what is stored may answer it.
  package var obstacle: HTTPError? {
    get { obstacleBox?.error }
    set { obstacleBox = newValue.map(Obstacle.init) }
  }
  private var obstacleBox: Obstacle?

  /// A reference, because errors are large and options are copied often.
  private final class Obstacle: Sendable {
    let error: HTTPError
    init(_ error: HTTPError) { self.error = error }
  }

  /// Whether the caller will collect the body: a transport may then hand a small one over in one piece.
  package var isCollected = false
  /// What changes this request and reviews its outcomes, at its place behind ``SessionConfiguration/interceptors``.
  public var interceptors: [any Interceptor] = []
  /// Watchers of this request, told after those of the session.
  public var listeners: [any EventListener] = []

  /// Makes options of which none is set.
  public init() {}

  /// For an exchange that is meant to last: what would end it holds only if it is set here, and not on the session.
  mutating func letLast() {
    var lasting = RequestOptions()
    (lasting.idleTimeout, lasting.deadline, lasting.bodyLimit) = (nil, nil, nil)
    self = inheriting(from: lasting)
  }

  /// Fills what is not set here with what is set there.
  func inheriting(from defaults: RequestOptions) -> RequestOptions {
    var options = self
    options._responseTimeout.inherit(defaults._responseTimeout)
    options._idleTimeout.inherit(defaults._idleTimeout)
    options._deadline.inherit(defaults._deadline)
    options._cachePolicy.inherit(defaults._cachePolicy)
    options._cachePartition.inherit(defaults._cachePartition)
    options._redirectPolicy.inherit(defaults._redirectPolicy)
    options._retryPolicy.inherit(defaults._retryPolicy)
    options._isIdempotent.inherit(defaults._isIdempotent)
    options._bodyLimit.inherit(defaults._bodyLimit)
    options._decompressionRatioLimit.inherit(defaults._decompressionRatioLimit)
    options._collectLimit.inherit(defaults._collectLimit)
    options._headerLimit.inherit(defaults._headerLimit)
    options._handlesCookies.inherit(defaults._handlesCookies)
    options._cookieContext.inherit(defaults._cookieContext)
    options._continueTimeout.inherit(defaults._continueTimeout)
    options._downloadResumptions.inherit(defaults._downloadResumptions)
    options._redirectDecision.inherit(defaults._redirectDecision)
    options._storageDecision.inherit(defaults._storageDecision)
    options.interceptors = defaults.interceptors + interceptors
    options.listeners = defaults.listeners + listeners
    return options
  }
}

/// Decides on a redirect: given what would follow and the response that asks for it, returns the request to follow with, or
/// nil to make the redirect itself the response. What it throws ends the exchange.
public typealias RedirectDecision =
  @Sendable (_ next: HTTPRequest, _ response: HTTPResponse, _ exchange: Exchange) async throws -> HTTPRequest?

/// Decides on what is stored: given the whole answer, its body in memory, returns what to store in its place, or nil to store
/// nothing; who reads the body puts one in its place again. What it throws means nil, too.
public typealias StorageDecision = @Sendable (_ answer: HTTPResponse) async throws -> HTTPResponse?

/// An option that knows whether it was set or only has its default.
@propertyWrapper
public struct Setting<Value: Sendable>: Sendable {
  private var value: Value
  private var isSet = false

  /// Makes an option that is not set.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// The value; writing it sets the option.
  public var wrappedValue: Value {
    get { value }
    set {
      value = newValue
      isSet = true
    }
  }

  mutating func inherit(_ other: Setting) {
    if !isSet { self = other }
  }
}
