public import MartletSemantics

extension HTTPError {
  /// What the server says about the problem (RFC 9457); nil if the ``body`` is not of the type
  /// `application/problem+json`, or has more than 64 KiB. For a response that is no error to the session, see
  /// ``ProblemDetails/init(_:fields:)``.
  public var problem: ProblemDetails? {
    guard let response, let body else { return nil }
    return ProblemDetails(body, fields: response.fields)
  }
}

// Properties for a program's decisions. They are independent: several of them may be true for one error, or none.
extension HTTPError {
  /// Whether the task was cancelled.
  public var isCancelled: Bool { kind == .cancelled }

  /// Whether any time limit was exceeded.
  public var isTimeout: Bool { kind.traits.contains(.timeout) }

  /// Whether TLS failed: the server's certificate, the handshake, or the client certificate.
  public var isTLSFailure: Bool { kind.traits.contains(.tlsFailure) }

  /// Whether no byte of the request was sent in the last attempt, so that the server cannot have acted on it: it may be
  /// sent again whatever its method. Earlier attempts are in ``history``.
  ///
  /// False if it is not known. A server may refuse a client certificate only after the request was sent (TLS 1.3).
  public var isUnsent: Bool {
    switch phase {
    case .preparing, .queued, .resolving, .connecting, .securing: true
    case .sending, .waiting, .receiving: false
    case nil: kind.traits.contains(.unsent)
    }
  }

  /// Whether the server cannot be reached, stopped answering, or gets no requests because it fails: there may be no
  /// network. False if an untrusted server answered. After such a failure the cache answers with a stored response if
  /// it may.
  public var isUnreachable: Bool { kind.traits.contains(.unreachable) }

  /// Whether the same request may succeed later: the server cannot be reached, was too slow or too busy, or a limit
  /// held the request back. Whether it may be *sent* again depends on its method (RFC 9110 §9.2.2) and on ``isUnsent``.
  ///
  /// The transient statuses are the defaults of ``RetryPolicy/statuses``: 408, 429, 502, 503 and 504. An error of kind
  /// `.authenticationFailed` is transient if its cause is, for example because the authorization server answered 503:
  /// the user is still logged in.
  public var isTransient: Bool {
    if kind == .authenticationFailed, let cause = underlying as? HTTPError { return cause.isTransient }
    if kind == .unexpectedResponse || kind == .authenticationFailed, let response {
      return RetryPolicy().statuses.contains(response.status)
    }
    return isUnreachable || isTimeout || isHeldBack
  }

  /// Whether the server, or an intermediary, is at fault: it is not the intended server, it violates the protocol, or
  /// it returns an unexpected status outside the range of client errors (below 400, or 500 and above). Sending the
  /// request again does not help, unless the error is also ``isTransient``.
  public var isServerFault: Bool {
    if kind == .unexpectedResponse, let response {
      return response.status.code < 400 || response.status.class == .serverError
    }
    return kind.traits.contains(.serverFault)
  }

  /// Whether the program has to change something: the request, a setting, or the order of its calls. A test should find
  /// such an error.
  public var isCallerFault: Bool {
    if kind == .unexpectedResponse, let response { return response.status.class == .clientError && !isTransient }
    return kind.traits.contains(.callerFault)
  }

  /// Whether the error ends only this call, because it was cancelled or reached its deadline. Work that it waited for
  /// goes on.
  var isCancellationOrDeadline: Bool { isCancelled || kind == .deadlineExceeded }

  /// Whether no connection could be made, whatever the cause: the same request may be sent as soon as there is one.
  @_spi(Toolkit) public var lacksConnection: Bool { isUnsent && kind.traits.contains(.noConnection) }

  /// Whether a limit of this program held the request back.
  var isHeldBack: Bool { kind.traits.contains(.heldBack) }

  /// Whether the network failed, so that a new connection may deliver the rest.
  var isLoss: Bool {
    if kind == .protocolViolation { return phase == .receiving }  // The bytes before the violation are valid.
    return kind.traits.contains(.loss)
  }
}

extension HTTPError.Kind {
  /// A kind's answers to the questions about an error. Where the phase or the response matters too, the question adds
  /// it.
  struct Traits: OptionSet, Sendable, Hashable {
    let rawValue: UInt16

    /// A time limit was exceeded.
    static let timeout = Traits(rawValue: 1)
    /// TLS failed.
    static let tlsFailure = Traits(rawValue: 1 << 1)
    /// No byte of the request was sent. The phase decides if it is known.
    static let unsent = Traits(rawValue: 1 << 2)
    /// The server cannot be reached, stopped answering, or gets no requests because it fails.
    static let unreachable = Traits(rawValue: 1 << 3)
    /// A limit of this program held the request back.
    static let heldBack = Traits(rawValue: 1 << 4)
    /// The server, or an intermediary, is at fault.
    static let serverFault = Traits(rawValue: 1 << 5)
    /// The program has to change something.
    static let callerFault = Traits(rawValue: 1 << 6)
    /// The network failed, so that a new connection may deliver the rest.
    static let loss = Traits(rawValue: 1 << 7)
    /// No connection could be made. The phase decides if it is known, because a body may fail with such an error, too.
    static let noConnection = Traits(rawValue: 1 << 8)
  }
}
