public import MartletSemantics

/// The one error of Martlet: what went wrong, in which exchange, and what lay beneath.
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
/// An unwelcome status (404, 500) is no error: it is a response. Descriptions never show credentials: user information
/// and queries of URLs are left out, and so are all field values.
public struct HTTPError: Error, Sendable {
  /// What kind of failure this is: what a program decides by.
  public var kind: Kind
  /// What happened and what to do about it, in a sentence for people.
  public var message: String
  /// The phase of the exchange in which a transport failed.
  public var phase: Phase?
  /// What is known of whether the peer acted on the request; ``Delivery/unknown`` by default.
  public var delivery = Delivery.unknown
  /// The request that failed, as it went out; nil while the error has not reached the session.
  public var request: RequestHead?
  /// The response's head, where one had arrived.
  public var response: ResponseHead?
  /// The beginning of the response's body, at most 64 KiB, where the error is about what it holds. Descriptions leave it out.
  public var body: Data?
  /// How a ``HTTPSession/resumableDownload(for:to:resuming:)`` goes on; nil where there is nothing to go on with.
  public var resumption: DownloadResumption?
  /// The attempts before the one that failed.
  public var attempts: [AttemptRecord] = []
  /// What lay beneath: the error of an interceptor, a stream, a decoder.
  public var underlying: (any Error)?

  /// Makes an error, as a transport or an interceptor throws it. The session adds request, response and attempts.
  public init(_ kind: Kind, _ message: String, phase: Phase? = nil, underlying: (any Error)? = nil) {
    self.kind = kind
    self.message = message
    self.phase = phase
    self.underlying = underlying
  }

  /// Makes any error one of ours: an ``HTTPError`` stays what it is, a cancellation becomes ``Kind/cancelled``, a
  /// refused field ``Kind/invalidRequest``, everything else ``Kind/other`` with the original beneath.
  public init(wrapping error: any Error) {
    switch error {
    case let error as HTTPError: self = error
    case is CancellationError: self.init(.cancelled, "the task was cancelled", underlying: error)
    case let error as FieldError: self.init(.invalidRequest, error.description, underlying: error)
    default: self.init(.other, String(describing: error), underlying: error)
    }
  }

  /// Whether the task was cancelled.
  public var isCancelled: Bool { kind == .cancelled }
  /// Whether time ran out, whichever limit it was.
  public var isTimeout: Bool { [.responseTimeout, .idleTimeout, .connectTimeout, .deadlineExceeded].contains(kind) }
  /// Whether no connection came about: the request was not sent.
  public var isConnectionFailure: Bool {
    [.cannotResolveHost, .cannotConnect, .connectTimeout, .proxyFailed].contains(kind) || isTLSFailure
  }
  /// Whether TLS failed: the peer's certificate, the handshake, or our own certificate.
  public var isTLSFailure: Bool {
    [.untrustedCertificate, .pinMismatch, .tlsFailed, .badClientCertificate, .badClientCertificatePassword]
      .contains(kind)
  }
}

extension HTTPError {
  /// What a transport knows of whether the peer acted on a request that failed: whether it may be sent again.
  public enum Delivery: Sendable, Hashable {
    /// Nothing, beyond what ``HTTPError/kind`` says: the peer may have acted on it.
    case unknown
    /// The request went over a connection that had served before, and that ended before any byte of the response: most
    /// likely the peer had closed it meanwhile. To be sent again if it is idempotent (RFC 9112 §9.3.1).
    case staleConnection
    /// The peer said that it has not acted on it, with REFUSED_STREAM or a GOAWAY below its stream: it may be sent again
    /// whatever the method (RFC 9113 §8.7).
    case refused
  }

  /// The phases of an attempt, in order.
  public enum Phase: String, Sendable, Hashable {
    /// Before anything was sent: the request itself, its body, the configuration.
    case preparing
    /// Looking the host's name up.
    case resolving
    /// Opening the connection, the proxy's included.
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

extension HTTPError: CustomStringConvertible, LocalizedError {
  /// The message, and in which exchange: method, URL without secrets, status, attempts.
  public var description: String {
    var text = "\(kind.name): \(message)"
    if let request { text += " (\(request.method) \(request.url.redacted)" }
    if let response { text += request == nil ? " (status \(response.status.code)" : ", status \(response.status.code)" }
    if !attempts.isEmpty { text += ", attempt \(attempts.count + 1)" }
    return request == nil && response == nil ? text : text + ")"
  }

  /// The message.
  public var errorDescription: String? { message }
}
