public import MartletSemantics

/// The options of a request.
///
/// An option that is not set on a request is taken from the session's ``SessionConfiguration/options``. If it is not
/// set there either, it has the default stated here.
public struct RequestOptions: Sendable {
  /// The maximum wait for the head of the response, including the time to connect. While a body is sent, every byte
  /// restarts the wait. nil for no limit. 60 seconds by default.
  @Option public var responseTimeout: Duration? = .seconds(60)
  /// The maximum wait for more bytes of the response's body. It does not run while the reader is not reading. nil for
  /// no limit. 60 seconds by default.
  @Option public var idleTimeout: Duration? = .seconds(60)
  /// How often an HTTP/2 PING (RFC 9113 §6.7) tests a connection while the request uses it and nothing arrives. If the
  /// peer does not answer within five seconds, the connection is closed, and its requests fail with
  /// ``HTTPError/Kind/connectionLost``. An interval of less than a millisecond counts as one millisecond. nil, the
  /// default, for never: the timeouts above notice a dead connection.
  ///
  /// Set it for responses that may be silent for longer than a timeout, such as a long poll. Event streams use 30
  /// seconds, unless their request sets it. Some gRPC servers refuse more than one PING every five minutes. Over
  /// HTTP/1.1 it has no effect. Over both versions the system also probes a silent connection every 15 seconds, but
  /// that finds only unreachable hosts, and not programs that are stuck.
  @Option public var pingInterval: Duration? = nil
  /// The maximum rate of the request's body and of the response's; see ``RateShare``. nil, the default, for no limit.
  @Option public var maximumRate: RateShare? = nil
  /// The rate below which a transfer fails with ``HTTPError/Kind/tooSlow``; see ``MinimumRate``. Of a response, the
  /// decoded bytes count, which a decoder may give in large blocks (Zstandard: 128 KiB). Only time counts in
  /// which the program waits for the network: neither a slow reader nor ``maximumRate`` makes a transfer too slow, nor
  /// the wait for the response's head. A stalled download can be resumed (``downloadResumptions``), and a request
  /// whose body stalled is retried if ``retryPolicy`` names the kind. nil, the default, for no limit.
  @Option public var minimumRate: MinimumRate? = nil
  /// The time limit of the whole call: interceptors, redirects, retries, and the body until its last byte. None by
  /// default.
  @Option public var deadline: Duration? = nil
  /// How the cache is used for this request. By default the protocol decides.
  @Option public var cachePolicy: CachePolicy = .useProtocolCachePolicy
  /// The partition of the cache and of the cookies that the request uses: responses stored in another partition are not
  /// found, and its cookies are not sent. Name the user, together with the tenant if there are several. Empty by
  /// default.
  ///
  /// ```swift
  /// request.options.partition = "tenant-7/anna"
  /// …
  /// try await cache.removePartition("tenant-7/anna")  // when the user signs out
  /// try await jar.removePartition("tenant-7/anna")
  /// ```
  ///
  /// In the cache, the name stands for the user's credentials. Within a named partition, a response to a request with
  /// `Authorization` is reused whatever token a later request has, even if its `Vary` names `Authorization`. The
  /// response therefore remains usable after the token was renewed, and when no token can be obtained because there is
  /// no network. If `Vary` names `Cookie`, cookies must match as usual, because they identify more than the user; if
  /// they have changed, the origin can still confirm a response that has an entity tag. In the empty partition,
  /// responses to requests with `Authorization` are used only for the same credentials, unless they are `public`.
  @Option public var partition: String = ""
  /// Which redirects are followed. By default up to 20.
  @Option public var redirectPolicy: RedirectPolicy = .follow
  /// Which failed requests are sent again. By default only a request whose pooled connection was closed, or that an
  /// HTTP/2 server refused without processing it, is sent again.
  @Option public var retryPolicy: RetryPolicy = RetryPolicy()
  /// Whether the request has the same effect if it is sent twice. With nil, the default, the method and an
  /// `Idempotency-Key` field decide (RFC 9110 §9.2.2).
  @Option public var isIdempotent: Bool? = nil
  /// The maximum number of bytes of a response's body, after decompression. A larger one is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``. nil, the default, for no limit, except for verbs that collect: see
  /// ``collectLimit``.
  @Option public var bodyLimit: Int64? = nil
  /// The maximum ratio of a body's decoded bytes to its bytes on the network. A larger one is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``; the first 10 MiB are not checked. nil, the default, for no limit: a body is
  /// decoded only as fast as it is read, and with zstd and brotli ratios of 1000:1 are normal.
  @Option public var decompressionRatioLimit: Int? = nil
  /// The maximum number of bytes that a verb collects in memory (`data`, `upload`, `text`, `value`, `pages`); 1 GiB by
  /// default. Use `bytes` or `download` for larger bodies.
  @Option public var collectLimit: Int = 1 << 30
  /// The maximum number of bytes of a response's heads and trailers together; 256 KiB by default.
  @Option public var headLimit: Int = 256 << 10
  /// Whether the session's cookies are sent with the request, and the cookies in its responses are stored. True by
  /// default. A request that has its own `Cookie` field gets no others, but its responses may still set some.
  @Option public var handlesCookies: Bool = true
  /// Whether the session's ``SessionConfiguration/credentials`` and the user information in the URL may authorize the
  /// request. True by default. If false, the request is sent with its own fields only, and the caller gets any 401.
  @Option public var usesCredentials: Bool = true
  /// The circumstances besides the URL that affect cookies; see ``Cookie/Context``. By default the request is
  /// same-site. The method is always the request's.
  @Option public var cookieContext: Cookie.Context = Cookie.Context()
  /// How long the body waits for a `100 Continue` (`Expect: 100-continue`, RFC 9110 §10.1.1) before it is sent anyway.
  /// It waits if it has more than 1 MiB or an unknown length, or is a single-use stream. If the server answers with a
  /// final response instead, such as 401 or 413, the body is not sent, and a single-use stream can still be sent by the
  /// next attempt. After a 417 the request is sent again without `Expect`.
  ///
  /// nil, the default, sends the body at once: few servers refuse one, and waiting costs a round trip. Set it if
  /// challenges are likely, or if uploads are refused because of their size. A request with its own `Expect` field
  /// waits for this time, or a second if it is nil; the URLSession transport decides itself how long it waits.
  @Option public var continueTimeout: Duration? = nil
  /// How many times a download is resumed after its connection was lost; 0 by default. There is a delay only if nothing
  /// was received since the last resumption: a random time of at most a second, doubled each time, up to 30 seconds.
  ///
  /// See ``HTTPSession/resumableDownload(for:to:resuming:)`` for which downloads can be resumed.
  @Option public var downloadResumptions: Int = 0
  /// Decides on each redirect before it is followed. nil, the default, follows the redirects that ``redirectPolicy``
  /// allows.
  ///
  /// It gets the next request, the redirect's response and the call. It returns the request to send, or nil to return
  /// the redirect's response to the caller. An error that it throws ends the call.
  @Option public var redirectDecision:
    (@Sendable (_ next: HTTPRequest, _ response: HTTPResponse, _ call: Call) async throws -> HTTPRequest?)? = nil
  /// Decides on each response before it is stored in the cache. nil, the default, stores what the protocol allows.
  ///
  /// It gets the complete response, with its body in memory, and returns the response to store, or nil to store
  /// nothing. If it reads the body, it must return a response with a new one. If it throws, nothing is stored.
  @Option public var storageDecision: (@Sendable (_ answer: HTTPResponse) async throws -> HTTPResponse?)? = nil
  /// The algorithm of the `Content-Digest` that is sent with the request's body (RFC 9530 §2); nil, the default, for
  /// none.
  ///
  /// The digest is that of the bytes that are sent: of compressed ones if the body is ``RequestBody/compressed(_:)``.
  /// It is computed once, before the interceptors run, so that a signature can cover it. If an interceptor replaces the
  /// body, the digest is removed with it. A request that has the field keeps it.
  ///
  /// - Bytes and forms have the digest as a field. So does a file, which is read once more for that.
  /// - Any other body is a stream, whose digest follows it as a trailer field (§6.4); a `Trailer` field announces it.
  ///   Over HTTP/1.1 such a body is chunked, and only `SocketTransport` can send it: over another transport the request
  ///   fails with ``HTTPError/Kind/invalidRequest``. Intermediaries may drop trailers.
  @Option public var contentDigest: IntegrityDigest.Algorithm? = nil
  /// The algorithm of the `Repr-Digest` that is sent with the request's body, like ``contentDigest``; nil, the default,
  /// for none. Set it if the body is the whole representation, and the server stores its digest (RFC 9530 §3.1).
  @Option public var reprDigest: IntegrityDigest.Algorithm? = nil
  /// Whether the digests that the server sends are checked while a body is read (RFC 9530). False by default. If the
  /// bytes have another digest, reading them fails with ``HTTPError/Kind/digestMismatch``, and the cache stores
  /// nothing.
  ///
  /// - The request asks for digests with `Want-Content-Digest` and `Want-Repr-Digest`. A response without any is
  ///   accepted: see ``FileDigest/sent`` for a download that requires one.
  /// - `Content-Digest` is checked in every response, and `Repr-Digest` in one to GET that is not a part; both also in
  ///   the trailer section, if a `Trailer` field announces them there. A download that was resumed is checked as a
  ///   whole.
  /// - A digest is that of the bytes before any content coding is decoded. Over URLSession, which decodes bodies
  ///   itself, decoded bodies are not checked. A response from the cache was checked when it was stored.
  /// - If the length of the body is known, its last bytes are withheld if the check fails. Otherwise the reader has
  ///   received them: do not act on a body before its end.
  @Option public var checksDigests: Bool = false
  /// The statuses that the caller expects; any other is an error of kind ``HTTPError/Kind/unexpectedResponse``. nil,
  /// the default, uses the verb's own expectation: `download`, `value` and `pages` expect
  /// ``StatusExpectation/successful``, the others ``StatusExpectation/any``. It does not apply to event streams, whose
  /// status is 200.
  @Option public var expecting: StatusExpectation? = nil
  /// Whether the responses of downloads are stored in the cache. False by default: their files are large, and the
  /// caller keeps them. A response that is already stored is used in any case.
  @Option public var storesDownloads: Bool = false
  /// Whether the URL's path is sent with its segments `.` and `..`, like curl's `--path-as-is`. False by default: they
  /// are removed at the beginning of the call (RFC 3986 §5.2.4), even if their dots are encoded (`%2e`). Cookies and
  /// credentials are then chosen by the path that the server sees. This option does not affect relative references:
  /// resolving them against ``SessionConfiguration/baseURL``, or a `Location` against the URL of its response, always
  /// removes such segments.
  @Option public var keepsDotSegments: Bool = false
  /// The names of fields that are left out although they would be added by default: `Accept`, `Accept-Encoding` and
  /// `User-Agent`. Empty by default. A field that the request has is sent. The URLSession transport adds fields of its
  /// own in any case.
  ///
  /// ```swift
  /// request.options.omittedFields = [.accept]
  /// ```
  @Option public var omittedFields: Set<FieldName> = []
  /// The purpose of the request, such as the name of an API operation: logs and traces show it as ``Call/label``. It is
  /// not sent. nil, the default, for none.
  ///
  /// Use few different labels, without identifiers: traces are grouped by them.
  @Option public var label: String? = nil
  /// The interceptors of this request, after ``SessionConfiguration/interceptors``.
  public var interceptors: [any Interceptor] = []
  /// The listeners of this request, after those of the session.
  public var listeners: [any EventListener] = []

  /// Makes options of which none is set.
  public init() {}

  /// The value of an option, and whether it was set. An option that was not set has its default, or the session's
  /// value.
  @propertyWrapper
  public struct Option<Value: Sendable>: Sendable {
    private var value: Value
    private var isSet = false

    /// Makes an option that is not set.
    ///
    /// - Parameter wrappedValue: the default.
    public init(wrappedValue: Value) { value = wrappedValue }

    /// The value. Changing it sets the option.
    public var wrappedValue: Value {
      get { value }
      _modify {
        isSet = true
        yield &value
      }
    }

    /// Takes another option's value, unless this one is set.
    fileprivate mutating func inherit(_ other: Option) { if !isSet { self = other } }
  }
}

extension RequestOptions {
  /// Whether the rate of a body is limited in either direction.
  var limitsRates: Bool { maximumRate != nil || minimumRate != nil }

  /// Whether digests are sent or checked.
  var usesDigests: Bool { checksDigests || contentDigest != nil || reprDigest != nil }

  /// Disables the limits that would end a long-lived call, unless the request sets them itself: the session's limits do
  /// not apply. PINGs detect a dead connection instead.
  mutating func disableSessionTimeouts() {
    var unlimited = RequestOptions()
    (unlimited.idleTimeout, unlimited.deadline, unlimited.bodyLimit) = (nil, nil, nil)
    unlimited.pingInterval = .seconds(30)
    inherit(unlimited)
  }

  /// Takes the session's value for each option that is not set.
  mutating func inherit(_ defaults: RequestOptions) {
    _responseTimeout.inherit(defaults._responseTimeout)
    _idleTimeout.inherit(defaults._idleTimeout)
    _pingInterval.inherit(defaults._pingInterval)
    _maximumRate.inherit(defaults._maximumRate)
    _minimumRate.inherit(defaults._minimumRate)
    _deadline.inherit(defaults._deadline)
    _cachePolicy.inherit(defaults._cachePolicy)
    _partition.inherit(defaults._partition)
    _redirectPolicy.inherit(defaults._redirectPolicy)
    _retryPolicy.inherit(defaults._retryPolicy)
    _isIdempotent.inherit(defaults._isIdempotent)
    _bodyLimit.inherit(defaults._bodyLimit)
    _decompressionRatioLimit.inherit(defaults._decompressionRatioLimit)
    _collectLimit.inherit(defaults._collectLimit)
    _headLimit.inherit(defaults._headLimit)
    _handlesCookies.inherit(defaults._handlesCookies)
    _usesCredentials.inherit(defaults._usesCredentials)
    _cookieContext.inherit(defaults._cookieContext)
    _continueTimeout.inherit(defaults._continueTimeout)
    _downloadResumptions.inherit(defaults._downloadResumptions)
    _redirectDecision.inherit(defaults._redirectDecision)
    _storageDecision.inherit(defaults._storageDecision)
    _contentDigest.inherit(defaults._contentDigest)
    _reprDigest.inherit(defaults._reprDigest)
    _checksDigests.inherit(defaults._checksDigests)
    _expecting.inherit(defaults._expecting)
    _storesDownloads.inherit(defaults._storesDownloads)
    _keepsDotSegments.inherit(defaults._keepsDotSegments)
    _omittedFields.inherit(defaults._omittedFields)
    _label.inherit(defaults._label)
  }
}

extension HTTPRequest {
  /// Whether the request has a field, or must not get one that would be added by default.
  package func hasOrOmits(_ name: FieldName) -> Bool {
    fields.contains(name) || options.omittedFields.contains(name)
  }
}

extension Shared<RequestOptions> {
  /// Options of which none is set.
  static let standard = Shared(RequestOptions())

  /// Returns the options of a request, with the session's values for options that are not set.
  func inheriting(from defaults: Shared<RequestOptions>) -> Shared<RequestOptions> {
    if defaults.isSame(as: .standard) || defaults.isSame(as: self) { return self }
    if isSame(as: .standard) { return defaults }
    var options = self
    options.value.inherit(defaults.value)
    return options
  }
}
