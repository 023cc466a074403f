public import MartletSemantics

/// The options of a request.
///
/// An option that is not set on a request is taken from the session's ``SessionConfiguration/options``. If it is not
/// set there either, it has the default stated here.
public struct RequestOptions: Sendable {
  /// The longest wait for the head of the response, including the time to connect. While a body is sent, every byte
  /// restarts the wait. nil for no limit. 60 seconds by default.
  public var responseTimeout: Duration? {
    get { content.values.responseTimeout }
    set { change { $0.responseTimeout = newValue } }
  }
  /// The longest wait for more bytes of the response's body. Time in which the reader does not read is not counted. nil
  /// for no limit. 60 seconds by default.
  public var idleTimeout: Duration? {
    get { content.values.idleTimeout }
    set { change { $0.idleTimeout = newValue } }
  }
  /// How often an HTTP/2 PING (RFC 9113 §6.7) tests a connection while the request uses it and nothing arrives. If the
  /// peer does not answer within five seconds, the connection is closed, and its requests fail with
  /// ``HTTPError/Kind/connectionLost``. nil, the default, for never: the timeouts above notice a dead connection.
  ///
  /// Set it for responses that may be silent for longer than a timeout, such as a long poll. Event streams use 30
  /// seconds, unless their request sets it. Some gRPC servers refuse more than one PING every five minutes. Over
  /// HTTP/1.1 it has no effect. Over both versions the system also probes a silent connection every 15 seconds, but
  /// that finds only unreachable hosts, and not programs that are stuck.
  public var pingInterval: Duration? {
    get { content.values.pingInterval }
    set { change { $0.pingInterval = newValue } }
  }
  /// The time limit of the whole call: interceptors, redirects, retries, and the body until its last byte. None by
  /// default.
  public var deadline: Duration? {
    get { content.values.deadline }
    set { change { $0.deadline = newValue } }
  }
  /// How the cache is used for this request. By default the protocol decides.
  public var cachePolicy: CachePolicy {
    get { content.values.cachePolicy }
    set { change { $0.cachePolicy = newValue } }
  }
  /// The partition of the cache and of the cookies that the request uses: responses stored in another partition are not
  /// found, and its cookies are not sent. Name the user, together with the tenant if there are several. Empty by
  /// default.
  ///
  /// ```swift
  /// request.options.partition = "tenant-7/anna"
  /// …
  /// try await cache.removePartition("tenant-7/anna")  // when the user signs out
  /// try await jar.partition("tenant-7/anna").removeAll()
  /// ```
  ///
  /// In the cache, the name stands for the user's credentials. Within the partition, a response to a request with
  /// `Authorization` is used again whatever token a later request has. So it remains usable when the token is renewed,
  /// and also without a token if none can be obtained because there is no network. That holds even if its `Vary` names
  /// `Authorization`. If `Vary` names `Cookie`, cookies count as usual, because they identify more than the user; if
  /// they have changed, the origin can confirm a response with an entity tag. In the empty partition, responses to
  /// requests with `Authorization` are used only for the same credentials, unless they are `public`.
  public var partition: String {
    get { content.values.partition }
    set { change { $0.partition = newValue } }
  }
  /// Which redirects are followed. By default up to 20.
  public var redirectPolicy: RedirectPolicy {
    get { content.values.redirectPolicy }
    set { change { $0.redirectPolicy = newValue } }
  }
  /// Which failed requests are sent again. By default a stale connection is replaced, and nothing else is retried.
  public var retryPolicy: RetryPolicy {
    get { content.values.retryPolicy }
    set { change { $0.retryPolicy = newValue } }
  }
  /// Whether the request has the same effect if it is sent twice. With nil, the default, the method and an
  /// `Idempotency-Key` field decide (RFC 9110 §9.2.2).
  public var isIdempotent: Bool? {
    get { content.values.isIdempotent }
    set { change { $0.isIdempotent = newValue } }
  }
  /// The largest number of bytes of a response's body, after decompression. A larger one is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``. nil, the default, for no limit, except for verbs that collect: see
  /// ``collectLimit``.
  public var bodyLimit: Int64? {
    get { content.values.bodyLimit }
    set { change { $0.bodyLimit = newValue } }
  }
  /// The largest ratio of a body's decoded bytes to its bytes on the network. A larger one is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``; the first 10 MiB are not checked. nil, the default, for no limit: a body is
  /// decoded only as fast as it is read, and with zstd and brotli ratios of 1000:1 are normal.
  public var decompressionRatioLimit: Int? {
    get { content.values.decompressionRatioLimit }
    set { change { $0.decompressionRatioLimit = newValue } }
  }
  /// The largest number of bytes that `data` and `upload` collect in memory; 1 GiB by default. Use `bytes` or
  /// `download` for larger bodies.
  public var collectLimit: Int {
    get { content.values.collectLimit }
    set { change { $0.collectLimit = newValue } }
  }
  /// The largest number of bytes of a response's heads and trailers together; 256 KiB by default.
  public var headerLimit: Int {
    get { content.values.headerLimit }
    set { change { $0.headerLimit = newValue } }
  }
  /// Whether the session's cookies are sent with the request, and those of its responses are stored. True by default.
  /// If a request has a `Cookie` field, no other cookies are sent, but its responses may still set some.
  public var handlesCookies: Bool {
    get { content.values.handlesCookies }
    set { change { $0.handlesCookies = newValue } }
  }
  /// The circumstances besides the URL that affect cookies; see ``Cookie/Context``. By default the request is same-site.
  /// The method is always the request's.
  public var cookieContext: Cookie.Context {
    get { content.values.cookieContext }
    set { change { $0.cookieContext = newValue } }
  }
  /// How long the body waits for a `100 Continue` (`Expect: 100-continue`, RFC 9110 §10.1.1) before it is sent anyway.
  /// It waits if it has more than 1 MiB or an unknown length, or is a single-use stream. If the server answers with a
  /// final response instead, such as 401 or 413, the body is not sent, and a single-use stream can still be sent by the
  /// next attempt. After a 417 the request is sent again without `Expect`.
  ///
  /// nil, the default, sends the body at once: few servers refuse one, and waiting costs a round trip. Set it if
  /// challenges are likely, or if uploads are refused because of their size. A request with its own `Expect` field
  /// waits for this time, or a second if it is nil; the URLSession transport decides itself how long it waits.
  public var continueTimeout: Duration? {
    get { content.values.continueTimeout }
    set { change { $0.continueTimeout = newValue } }
  }
  /// How often a download is resumed after its connection was lost; 0 by default. There is a delay only if nothing was
  /// received since the last resumption: one second, doubled each time, up to 30 seconds.
  ///
  /// See ``HTTPSession/resumableDownload(for:to:resuming:)`` for which downloads can be resumed.
  public var downloadResumptions: Int {
    get { content.values.downloadResumptions }
    set { change { $0.downloadResumptions = newValue } }
  }
  /// Decides on each redirect before it is followed. nil, the default, follows those that ``redirectPolicy`` allows.
  public var redirectDecision: RedirectDecision? {
    get { content.values.redirectDecision }
    set { change { $0.redirectDecision = newValue } }
  }
  /// Decides on each response before it is stored in the cache. nil, the default, stores what the protocol allows.
  public var storageDecision: StorageDecision? {
    get { content.values.storageDecision }
    set { change { $0.storageDecision = newValue } }
  }
  /// The statuses that the caller expects; any other is an error of kind ``HTTPError/Kind/unexpectedResponse``. nil,
  /// the default, uses the verb's own expectation: `download` and `value` expect ``StatusExpectation/successful``, the
  /// others ``StatusExpectation/any``. It does not apply to event streams, whose status is 200.
  public var expecting: StatusExpectation? {
    get { content.values.expecting }
    set { change { $0.expecting = newValue } }
  }
  /// Whether the responses of downloads are stored in the cache. False by default: their files are large, and the
  /// caller keeps them. A response that is already stored is used in any case.
  public var storesDownloads: Bool {
    get { content.values.storesDownloads }
    set { change { $0.storesDownloads = newValue } }
  }
  /// Whether the URL's path is sent with its segments `.` and `..`, like curl's `--path-as-is`. False by default: they
  /// are removed at the beginning of the call (RFC 3986 §5.2.4), even if their dots are encoded (`%2e`), so that
  /// cookies and credentials are those of the path that the server gets. A reference is always resolved against
  /// ``SessionConfiguration/baseURL``, and a redirect's against the URL of its response, without such segments.
  public var keepsDotSegments: Bool {
    get { content.values.keepsDotSegments }
    set { change { $0.keepsDotSegments = newValue } }
  }
  /// Whether the response may be stored in the cache.
  package var storesResponse = true
  /// The error that forbids sending the request over the network: its credentials could not be obtained. Only a stored
  /// response may answer it.
  package var credentialsError: HTTPError? {
    get { content.values.credentialsError }
    set { change { $0.credentialsError = newValue } }
  }
  /// The URL that the caller requested, for a request that continues another one; nil if it is the request's own.
  package var askedURL: URL? {
    get { content.values.askedURL }
    set { change { $0.askedURL = newValue } }
  }
  /// Whether the caller collects the body: a transport may then return a small body in one piece.
  package var isCollected = false
  /// The purpose of the request, such as the name of an API operation: logs and traces show it as ``Call/label``. It is
  /// not sent. nil, the default, for none.
  ///
  /// Use few different labels, without identifiers: traces are grouped by them.
  public var label: String? {
    get { content.values.label }
    set { change { $0.label = newValue } }
  }
  /// The interceptors of this request, after ``SessionConfiguration/interceptors``.
  public var interceptors: [any Interceptor] {
    get { content.values.interceptors }
    set { change { $0.interceptors = newValue } }
  }
  /// The listeners of this request, after those of the session.
  public var listeners: [any EventListener] {
    get { content.values.listeners }
    set { change { $0.listeners = newValue } }
  }

  private var content: Content

  /// Makes options, none of which is set.
  public init() { content = .standard }

  private mutating func change(_ change: (inout Values) -> Void) {
    var values = content.values
    change(&values)
    content = Content(values)
  }
}

/// Decides on a redirect. It gets the next request and the redirect's response. It returns the request to send, or nil
/// to return the redirect's response to the caller. An error that it throws ends the call.
public typealias RedirectDecision =
  @Sendable (_ next: HTTPRequest, _ response: HTTPResponse, _ call: Call) async throws -> HTTPRequest?

/// Decides what is stored in the cache. It gets the complete response, with its body in memory, and returns the
/// response to store, or nil to store nothing. If it reads the body, it must return a response with a new one. If it
/// throws, nothing is stored.
public typealias StorageDecision = @Sendable (_ answer: HTTPResponse) async throws -> HTTPResponse?

extension RequestOptions {
  /// The values of the options. They are large and copied far more often than changed, so options only refer to them.
  private final class Content: Sendable {
    static let standard = Content(Values())
    let values: Values

    init(_ values: Values) { self.values = values }
  }

  fileprivate struct Values: Sendable {
    var responseTimeout: Duration? = .seconds(60) { didSet { assigned.insert(.responseTimeout) } }
    var idleTimeout: Duration? = .seconds(60) { didSet { assigned.insert(.idleTimeout) } }
    var pingInterval: Duration? { didSet { assigned.insert(.pingInterval) } }
    var deadline: Duration? { didSet { assigned.insert(.deadline) } }
    var cachePolicy: CachePolicy = .useProtocolCachePolicy { didSet { assigned.insert(.cachePolicy) } }
    var partition = "" { didSet { assigned.insert(.partition) } }
    var redirectPolicy: RedirectPolicy = .follow { didSet { assigned.insert(.redirectPolicy) } }
    var retryPolicy = RetryPolicy() { didSet { assigned.insert(.retryPolicy) } }
    var isIdempotent: Bool? { didSet { assigned.insert(.isIdempotent) } }
    var bodyLimit: Int64? { didSet { assigned.insert(.bodyLimit) } }
    var decompressionRatioLimit: Int? { didSet { assigned.insert(.decompressionRatioLimit) } }
    var collectLimit = 1 << 30 { didSet { assigned.insert(.collectLimit) } }
    var headerLimit = 256 << 10 { didSet { assigned.insert(.headerLimit) } }
    var handlesCookies = true { didSet { assigned.insert(.handlesCookies) } }
    var cookieContext = Cookie.Context() { didSet { assigned.insert(.cookieContext) } }
    var continueTimeout: Duration? { didSet { assigned.insert(.continueTimeout) } }
    var downloadResumptions = 0 { didSet { assigned.insert(.downloadResumptions) } }
    var redirectDecision: RedirectDecision? { didSet { assigned.insert(.redirectDecision) } }
    var storageDecision: StorageDecision? { didSet { assigned.insert(.storageDecision) } }
    var expecting: StatusExpectation? { didSet { assigned.insert(.expecting) } }
    var storesDownloads = false { didSet { assigned.insert(.storesDownloads) } }
    var keepsDotSegments = false { didSet { assigned.insert(.keepsDotSegments) } }
    var credentialsError: HTTPError?
    var askedURL: URL?
    var label: String?
    var interceptors: [any Interceptor] = []
    var listeners: [any EventListener] = []
    /// The options that were set.
    private(set) var assigned: Assigned = []

    /// Whether nothing is set that could change a session's options.
    var isEmpty: Bool {
      assigned.isEmpty && interceptors.isEmpty && listeners.isEmpty && credentialsError == nil && askedURL == nil
        && label == nil
    }
  }

  /// An option for each bit, in the order of the properties.
  fileprivate struct Assigned: OptionSet, Sendable {
    let rawValue: UInt32

    static let responseTimeout = Assigned(rawValue: 1)
    static let idleTimeout = Assigned(rawValue: 1 << 1)
    static let deadline = Assigned(rawValue: 1 << 2)
    static let cachePolicy = Assigned(rawValue: 1 << 3)
    static let partition = Assigned(rawValue: 1 << 4)
    static let redirectPolicy = Assigned(rawValue: 1 << 5)
    static let retryPolicy = Assigned(rawValue: 1 << 6)
    static let isIdempotent = Assigned(rawValue: 1 << 7)
    static let bodyLimit = Assigned(rawValue: 1 << 8)
    static let decompressionRatioLimit = Assigned(rawValue: 1 << 9)
    static let collectLimit = Assigned(rawValue: 1 << 10)
    static let headerLimit = Assigned(rawValue: 1 << 11)
    static let handlesCookies = Assigned(rawValue: 1 << 12)
    static let cookieContext = Assigned(rawValue: 1 << 13)
    static let continueTimeout = Assigned(rawValue: 1 << 14)
    static let downloadResumptions = Assigned(rawValue: 1 << 15)
    static let redirectDecision = Assigned(rawValue: 1 << 16)
    static let storageDecision = Assigned(rawValue: 1 << 17)
    static let expecting = Assigned(rawValue: 1 << 18)
    static let storesDownloads = Assigned(rawValue: 1 << 19)
    static let pingInterval = Assigned(rawValue: 1 << 20)
    static let keepsDotSegments = Assigned(rawValue: 1 << 21)
  }

  /// Disables the session's limits that would end a long-lived call; limits that are set here stay. PINGs find dead
  /// connections instead.
  mutating func disableSessionTimeouts() {
    var unlimited = RequestOptions()
    (unlimited.idleTimeout, unlimited.deadline, unlimited.bodyLimit) = (nil, nil, nil)
    unlimited.pingInterval = .seconds(30)
    self = inheriting(from: unlimited)
  }

  /// Returns the options, with the session's value for each unset one.
  func inheriting(from defaults: RequestOptions) -> RequestOptions {
    if defaults.content.values.isEmpty { return self }
    var options = defaults
    if !content.values.isEmpty { options.content = Content(content.values.inheriting(from: defaults.content.values)) }
    options.isCollected = isCollected
    options.storesResponse = storesResponse
    return options
  }
}

extension RequestOptions.Values {
  fileprivate func inheriting(from defaults: Self) -> Self {
    var values = defaults
    if assigned.contains(.responseTimeout) { values.responseTimeout = responseTimeout }
    if assigned.contains(.idleTimeout) { values.idleTimeout = idleTimeout }
    if assigned.contains(.pingInterval) { values.pingInterval = pingInterval }
    if assigned.contains(.deadline) { values.deadline = deadline }
    if assigned.contains(.cachePolicy) { values.cachePolicy = cachePolicy }
    if assigned.contains(.partition) { values.partition = partition }
    if assigned.contains(.redirectPolicy) { values.redirectPolicy = redirectPolicy }
    if assigned.contains(.retryPolicy) { values.retryPolicy = retryPolicy }
    if assigned.contains(.isIdempotent) { values.isIdempotent = isIdempotent }
    if assigned.contains(.bodyLimit) { values.bodyLimit = bodyLimit }
    if assigned.contains(.decompressionRatioLimit) { values.decompressionRatioLimit = decompressionRatioLimit }
    if assigned.contains(.collectLimit) { values.collectLimit = collectLimit }
    if assigned.contains(.headerLimit) { values.headerLimit = headerLimit }
    if assigned.contains(.handlesCookies) { values.handlesCookies = handlesCookies }
    if assigned.contains(.cookieContext) { values.cookieContext = cookieContext }
    if assigned.contains(.continueTimeout) { values.continueTimeout = continueTimeout }
    if assigned.contains(.downloadResumptions) { values.downloadResumptions = downloadResumptions }
    if assigned.contains(.redirectDecision) { values.redirectDecision = redirectDecision }
    if assigned.contains(.storageDecision) { values.storageDecision = storageDecision }
    if assigned.contains(.expecting) { values.expecting = expecting }
    if assigned.contains(.storesDownloads) { values.storesDownloads = storesDownloads }
    if assigned.contains(.keepsDotSegments) { values.keepsDotSegments = keepsDotSegments }
    values.interceptors += interceptors
    values.listeners += listeners
    values.credentialsError = credentialsError
    values.askedURL = askedURL
    values.label = label ?? defaults.label
    return values
  }
}
