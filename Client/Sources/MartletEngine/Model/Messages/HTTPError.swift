@_spi(Toolkit) public import MartletSemantics

/// The error that all methods of a session throw, with the failed call and the cause.
///
/// ```swift
/// do {
///   let (data, response) = try await session.data(for: request)
/// } catch {                       // error is an HTTPError: the verbs have typed throws
///   if error.isTimeout { print("try again later") }
///   if error.kind == .tooManyRedirects { print("this leads nowhere") }
/// }
/// ```
///
/// A status such as 404 or 500 is an error only if the caller expects other statuses: see ``StatusExpectation``.
/// Descriptions never show credentials: they leave out user information and queries of URLs, and all field values.
public struct HTTPError: Error, Sendable {
  private var content: Shared<Values>

  /// The kind of failure, for the program's decisions.
  public var kind: Kind {
    get { content.value.kind }
    set { content.value.kind = newValue }
  }
  /// What happened and what to do about it, as a human-readable sentence.
  public var message: String {
    get { content.value.message }
    set { content.value.message = newValue }
  }
  /// The phase of the attempt that failed; nil if it is not known.
  public var phase: Phase? {
    get { content.value.phase }
    set { content.value.phase = newValue }
  }
  /// Whether the server has acted on the request, if that is known; ``Delivery/unknown`` by default.
  public var delivery: Delivery {
    get { content.value.delivery }
    set { content.value.delivery = newValue }
  }
  /// How many times the transport has sent the request on another connection before it failed. They count as
  /// replacements of the call.
  package var replacements: Int {
    get { content.value.replacements }
    set { content.value.replacements = newValue }
  }
  /// The request that failed, as it was sent; nil until the session has added it.
  public var request: RequestHead? {
    get { content.value.request }
    set { content.value.request = newValue }
  }
  /// The response's head; nil if none was received.
  public var response: ResponseHead? {
    get { content.value.response }
    set { content.value.response = newValue }
  }
  /// The first bytes of the response's body, at most 64 KiB, if the error is about its content. Descriptions leave it
  /// out.
  public var body: Data? {
    get { content.value.body }
    set { content.value.body = newValue }
  }
  /// Continues a ``HTTPSession/resumableDownload(for:to:resuming:)``; nil if the download cannot be continued.
  public var resumption: DownloadResumption? {
    get { content.value.resumption }
    set { content.value.resumption = newValue }
  }
  /// The attempts before the failed one.
  public var history: [AttemptRecord] {
    get { content.value.history }
    set { content.value.history = newValue }
  }
  /// The cause: the error of an interceptor, a stream or a decoder.
  public var underlying: (any Error)? {
    get { content.value.underlying }
    set { content.value.underlying = newValue }
  }

  /// Makes an error for a transport or an interceptor to throw. The session adds request, response and history.
  public init(_ kind: Kind, _ message: String, phase: Phase? = nil, underlying: (any Error)? = nil) {
    content = Shared(Values(kind: kind, message: message, phase: phase, underlying: underlying))
  }

  /// Converts any error. An ``HTTPError`` stays unchanged, a cancellation becomes ``Kind/cancelled``, a refused field
  /// ``Kind/invalidRequest``, and any other error ``Kind/other`` with the original in ``underlying``.
  public init(wrapping error: any Error) {
    switch error {
    case let error as HTTPError: self = error
    case is CancellationError: self.init(.cancelled, "the task was cancelled", underlying: error)
    case let error as HTTPFields.Refusal: self.init(.invalidRequest, error.description, underlying: error)
    default: self.init(.other, String(describing: error), underlying: error)
    }
  }

  /// Converts any error like ``init(wrapping:)``. Nothing of the request was sent: if the error has no phase, it gets
  /// this one.
  package init(beforeSending error: any Error, _ phase: Phase = .preparing) {
    self.init(wrapping: error)
    self.phase = self.phase ?? phase
  }
}

/// The properties of an ``HTTPError``.
private struct Values: Sendable {
  var kind: HTTPError.Kind
  var message: String
  var phase: HTTPError.Phase?
  var delivery = HTTPError.Delivery.unknown
  var replacements = 0
  var request: RequestHead?
  var response: ResponseHead?
  var body: Data?
  var resumption: DownloadResumption?
  var history: [AttemptRecord] = []
  var underlying: (any Error)?
}

extension HTTPError {
  /// Whether the server has acted on a failed request, if the transport can tell. This decides whether the request may
  /// be sent again.
  @nonexhaustive public enum Delivery: Sendable, Hashable {
    /// Nothing is known beyond ``HTTPError/kind``: the server may have acted on the request.
    case unknown
    /// The request was sent over a reused connection, which ended before any byte of the response: most likely the
    /// server had closed it before. It may be sent again if it is idempotent (RFC 9112 §9.3.1).
    case staleConnection
    /// The server has reported by REFUSED_STREAM, or by a GOAWAY below the request's stream, that it has not acted on
    /// the request: it may be sent again whatever its method (RFC 9113 §8.7).
    case refused
  }

  /// The phases of an attempt, in order.
  @nonexhaustive public enum Phase: String, Sendable, Hashable {
    /// Before anything was sent: the request itself, its body, the configuration.
    case preparing
    /// Waiting for a connection: all connections that the limits allow are in use; or the call was cancelled, or
    /// reached its deadline, before a connection could send the request.
    case queued
    /// Resolving the host's name.
    case resolving
    /// Opening the connection, through a proxy if there is one.
    case connecting
    /// The TLS handshake.
    case securing
    /// Sending the request.
    case sending
    /// Waiting for the response's head.
    case waiting
    /// Receiving the response's body.
    case receiving
  }
}

extension HTTPError {
  /// The kinds of failure. Later versions may add some: a `switch` over them needs a `default`. They are constants and
  /// not cases so that a `catch` can name them.
  ///
  /// A `catch` may name a kind, even beside calls that throw other errors:
  ///
  /// ```swift
  /// do {
  ///   let (data, _) = try await session.data(for: request)
  ///   try data.write(to: file)
  /// } catch HTTPError.Kind.connectTimeout {
  ///   print("the server does not answer")
  /// } catch let error as HTTPError where error.isTimeout {
  ///   print("too slow")
  /// }
  /// ```
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name of the constant.
    public let name: String

    /// The kind's answers to the questions about an error.
    let traits: Traits

    /// Only the constants below are kinds, so each name has one set of traits.
    private init(_ name: String, _ traits: Traits = []) {
      self.name = name
      self.traits = traits
    }

    public var description: String { name }

    /// Whether the error is an ``HTTPError`` of this kind, for `catch` and `case`.
    public static func ~= (kind: Kind, error: any Error) -> Bool { (error as? HTTPError)?.kind == kind }

    /// The request cannot be sent in this form: its URL, a field or its body's length is invalid.
    public static let invalidRequest = Kind("invalidRequest", [.unsent, .callerFault])
    /// The task was cancelled.
    public static let cancelled = Kind("cancelled")
    /// The response's head was not received in time: ``RequestOptions/responseTimeout``.
    public static let responseTimeout = Kind("responseTimeout", [.timeout, .unreachable, .loss])
    /// The response's body stalled: no byte arrived within ``RequestOptions/idleTimeout``.
    public static let idleTimeout = Kind("idleTimeout", [.timeout, .unreachable, .loss])
    /// A body was transferred more slowly than ``RequestOptions/minimumRate``.
    public static let tooSlow = Kind("tooSlow", [.timeout, .loss])
    /// No connection became free within the transport's limit: ``ConnectionConfiguration/poolTimeout``.
    public static let poolTimeout = Kind("poolTimeout", [.timeout, .unsent, .heldBack])
    /// The connection was not made within the transport's limit.
    public static let connectTimeout = Kind(
      "connectTimeout", [.timeout, .unsent, .unreachable, .loss, .noConnection])
    /// The whole call took longer than ``RequestOptions/deadline``.
    public static let deadlineExceeded = Kind("deadlineExceeded", [.timeout])
    /// The name of the host or of the proxy cannot be resolved.
    public static let cannotResolveHost = Kind("cannotResolveHost", [.unsent, .unreachable, .loss, .noConnection])
    /// The host does not accept connections on the port.
    public static let cannotConnect = Kind("cannotConnect", [.unsent, .unreachable, .loss, .noConnection])
    /// The ``ConnectionConfiguration/addressPolicy`` refuses the server: all its addresses, its port or its scheme, or
    /// a proxy that hides its address. Nothing was sent.
    public static let addressRefused = Kind("addressRefused", [.unsent, .callerFault])
    /// The origin had as many requests as ``ConcurrencyLimit`` allows, and this request's turn did not come in time.
    /// Nothing was sent.
    public static let concurrencyLimit = Kind("concurrencyLimit", [.unsent, .heldBack])
    /// A ``RateLimit`` would delay the request for longer than it may wait. Nothing was sent.
    public static let rateLimited = Kind("rateLimited", [.unsent, .heldBack])
    /// The ``CircuitBreaker`` is open because the origin fails. Nothing was sent.
    public static let circuitOpen = Kind("circuitOpen", [.unsent, .unreachable, .heldBack])
    /// The proxy refused the request or cannot be reached.
    public static let proxyFailed = Kind("proxyFailed", [.unreachable])
    /// The connection was lost before the response was complete.
    public static let connectionLost = Kind("connectionLost", [.unreachable, .loss])
    /// The server sent something that is not HTTP or violates its rules.
    public static let protocolViolation = Kind("protocolViolation", [.serverFault])
    /// The server's certificate is not trusted, has expired, or is for another host.
    public static let untrustedCertificate = Kind("untrustedCertificate", [.tlsFailure, .unsent, .serverFault])
    /// The server's public key is not one of the pinned keys.
    public static let pinMismatch = Kind("pinMismatch", [.tlsFailure, .unsent, .serverFault])
    /// The TLS handshake failed for another reason: no common version or cipher, a missing client certificate.
    public static let tlsFailed = Kind("tlsFailed", [.tlsFailure, .serverFault])
    /// The client certificate cannot be read, or the server refused it.
    public static let badClientCertificate = Kind("badClientCertificate", [.tlsFailure, .callerFault])
    /// The password of the client certificate is wrong.
    public static let badClientCertificatePassword = Kind(
      "badClientCertificatePassword", [.tlsFailure, .unsent, .callerFault])
    /// The response's heads are larger than ``RequestOptions/headLimit``.
    public static let headTooLarge = Kind("headTooLarge", [.serverFault])
    /// The response's body is larger than ``RequestOptions/bodyLimit`` or the limit for collecting it.
    public static let bodyTooLarge = Kind("bodyTooLarge")
    /// The body cannot be decoded: its `Content-Encoding` is unknown, or the data is damaged.
    public static let undecodableBody = Kind("undecodableBody", [.serverFault])
    /// The verb or the caller does not accept the response's status, type or JSON. If its body was read, the first
    /// bytes are in ``HTTPError/body``.
    public static let unexpectedResponse = Kind("unexpectedResponse")
    /// The response's body was read a second time.
    public static let bodyAlreadyRead = Kind("bodyAlreadyRead", [.callerFault])
    /// The request's body cannot be sent a second time because it is a single-use stream.
    public static let bodyNotReplayable = Kind("bodyNotReplayable", [.callerFault])
    /// There were more redirects than ``RedirectPolicy/limit``.
    public static let tooManyRedirects = Kind("tooManyRedirects", [.serverFault])
    /// The policy or the protocol does not allow the redirect to be followed.
    public static let redirectRefused = Kind("redirectRefused", [.callerFault])
    /// The call needed more attempts than ``SessionConfiguration/attemptLimit``.
    public static let tooManyAttempts = Kind("tooManyAttempts")
    /// The credentials for the request cannot be obtained or sent: a token could not be renewed, a password could not
    /// be requested, a user name is not allowed by the scheme. A 401 by itself is a response and not an error. If a
    /// network failure is the cause, the error has the kind of that failure.
    public static let authenticationFailed = Kind("authenticationFailed")
    /// The cache has no response, and the request must not use the network.
    public static let notCached = Kind("notCached", [.unsent])
    /// A file cannot be read or written.
    public static let file = Kind("file")
    /// A body does not have the digest that the server sent (RFC 9530; ``RequestOptions/checksDigests``), or a
    /// downloaded file not the required one, or the server sent none to check.
    public static let digestMismatch = Kind("digestMismatch", [.serverFault])
    /// The transport or the session was shut down.
    public static let shutDown = Kind("shutDown", [.callerFault])
    /// Another failure: see ``HTTPError/underlying``.
    public static let other = Kind("other")

    /// All kinds.
    static let all: [Kind] = [
      .invalidRequest, .cancelled, .responseTimeout, .idleTimeout, .tooSlow, .poolTimeout, .connectTimeout,
      .deadlineExceeded, .cannotResolveHost, .cannotConnect, .addressRefused, .concurrencyLimit,
      .rateLimited, .circuitOpen, .proxyFailed, .connectionLost, .protocolViolation,
      .untrustedCertificate, .pinMismatch, .tlsFailed, .badClientCertificate,
      .badClientCertificatePassword, .headTooLarge, .bodyTooLarge, .undecodableBody,
      .unexpectedResponse, .bodyAlreadyRead, .bodyNotReplayable, .tooManyRedirects,
      .redirectRefused, .tooManyAttempts, .authenticationFailed, .notCached, .file, .digestMismatch,
      .shutDown, .other,
    ]

    /// The kind of a name, for example of a recorded error; nil if there is none.
    @_spi(Toolkit) public init?(name: String) {
      guard let kind = Self.all.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }
}

extension HTTPError: CustomStringConvertible, LocalizedError {
  /// The kind and the message, followed by the method, the URL without secrets, the status and the number of attempts.
  public var description: String {
    var text = "\(kind.name): \(message)"
    if let request { text += " (\(request.method) \(request.url.redacted)" }
    if let response { text += request == nil ? " (status \(response.status.code)" : ", status \(response.status.code)" }
    if !history.isEmpty { text += ", attempt \(history.count + 1)" }
    return request == nil && response == nil ? text : text + ")"
  }

  /// The message.
  public var errorDescription: String? { message }
}

extension HTTPError {
  /// Makes the error for credentials that could not be obtained. A network failure keeps its kind, so that it is
  /// retried as usual and is not mistaken for a logout; any other cause becomes ``Kind/authenticationFailed``.
  public init(credentialsFailed what: String, with error: any Error) {
    let cause = error as? HTTPError
    let isNetworkFailure = cause.map { $0.isUnreachable || $0.isTLSFailure || $0.isTimeout || $0.isHeldBack } ?? false
    // Only messages of HTTPError are known to contain no secrets.
    let reason = cause.map { ": \($0.message)" } ?? ", see the underlying error"
    self.init(
      isNetworkFailure ? cause?.kind ?? .authenticationFailed : .authenticationFailed, what + reason,
      phase: .preparing, underlying: error)
  }

  /// Returns the error with the context of its call; values that it already has stay.
  @_spi(Toolkit) public func addingContext(request: RequestHead, response: ResponseHead?, history: [AttemptRecord])
    -> HTTPError
  {
    var error = self
    error.content.value.request = error.request ?? request
    error.content.value.response = error.response ?? response
    if error.history.isEmpty { error.history = history }
    return error
  }

  /// Returns the error with the context of its call, whose response is known.
  @_spi(Toolkit) public func addingContext(of response: HTTPResponse) -> HTTPError {
    addingContext(request: response.request, response: response.head, history: response.history)
  }
}

extension HTTPError {
  /// The maximum number of bytes in ``body``.
  package static let bodyPrefix = 64 << 10

  /// Makes an error about a response that was received.
  static func unexpected(
    _ message: String, _ response: HTTPResponse, _ body: Data? = nil, underlying: (any Error)? = nil
  ) -> HTTPError {
    var error = HTTPError(.unexpectedResponse, message, phase: .receiving, underlying: underlying)
    error.body = body.map { Data($0.prefix(bodyPrefix)) }
    return error.addingContext(of: response)
  }
}

/// The underlying error of a permanent ``HTTPError/Kind/cannotResolveHost``: the name does not exist, or cannot exist.
/// Without this error, the name servers may just be unreachable.
@_spi(Transports) public struct UnknownHostName: Error {
  /// Makes the cause.
  public init() {}
}

/// The underlying error of a failed connection or look-up if the machine has no network.
@_spi(Toolkit) public struct NetworkIsDown: Error {
  /// Makes the cause.
  public init() {}
}

/// The underlying error of an ``HTTPError/Kind/invalidRequest`` whose URL has no scheme or another one than http and
/// https.
@_spi(Toolkit) public struct UnsupportedScheme: Error {
  /// Makes the cause.
  public init() {}
}
