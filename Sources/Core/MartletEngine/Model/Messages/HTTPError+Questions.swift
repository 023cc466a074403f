import MartletSemantics

// Properties for a program's decisions. They are independent: several of them may be true for one error, or none.
extension HTTPError {
  /// Whether the task was cancelled.
  public var isCancelled: Bool { kind == .cancelled }

  /// Whether any time limit was exceeded.
  public var isTimeout: Bool {
    switch kind {
    case .responseTimeout, .idleTimeout, .poolTimeout, .connectTimeout, .deadlineExceeded: true
    default: false
    }
  }

  /// Whether TLS failed: the server's certificate, the handshake, or the client certificate.
  public var isTLSFailure: Bool {
    switch kind {
    case .untrustedCertificate, .pinMismatch, .tlsFailed, .badClientCertificate, .badClientCertificatePassword: true
    default: false
    }
  }

  /// Whether no byte of the request was sent in the last attempt, so that the server cannot have acted on it: it may be
  /// sent again whatever its method. Earlier attempts are in ``attempts``.
  ///
  /// False if it is not known. A server may refuse a client certificate only after the request was sent (TLS 1.3).
  public var isUnsent: Bool {
    switch phase {
    case .preparing, .queued, .resolving, .connecting, .securing: true
    case .sending, .waiting, .receiving: false
    case nil:
      switch kind {
      case .invalidRequest, .notCached, .cannotResolveHost, .cannotConnect, .connectTimeout, .poolTimeout,
        .addressRefused, .untrustedCertificate, .pinMismatch, .badClientCertificatePassword:
        true
      default: isHeldBack
      }
    }
  }

  /// Whether the server cannot be reached, stopped answering, or gets no requests because it fails: there may be no
  /// network. False if an untrusted server answered. After such a failure the cache answers with a stored response if
  /// it may.
  public var isUnreachable: Bool {
    switch kind {
    case .cannotResolveHost, .cannotConnect, .connectTimeout, .responseTimeout, .idleTimeout, .proxyFailed,
      .connectionLost, .circuitOpen:
      true
    default: false
    }
  }

  /// Whether the same request may succeed later: the server cannot be reached, was too slow or too busy, or a limit
  /// held the request back. Whether it may be *sent* again depends on its method (RFC 9110 §9.2.2) and on ``isUnsent``.
  ///
  /// The transient statuses are the defaults of ``RetryPolicy/statuses``: 408, 429, 502, 503 and 504.
  public var isTransient: Bool {
    if kind == .unexpectedResponse, let response { return RetryPolicy().statuses.contains(response.status) }
    return isUnreachable || isTimeout || isHeldBack
  }

  /// Whether the server, or an intermediary, is at fault: it is not the intended server, it violates the protocol, or
  /// it returns an unexpected status outside the range of client errors (below 400, or 500 and above). Sending the
  /// request again does not help, unless the error is also ``isTransient``.
  public var isServerFault: Bool {
    switch kind {
    case .protocolViolation, .untrustedCertificate, .pinMismatch, .tlsFailed, .headersTooLarge, .undecodableBody,
      .tooManyRedirects, .digestMismatch:
      true
    case .unexpectedResponse: response.map { $0.status.code < 400 || $0.status.class == .serverError } ?? false
    default: false
    }
  }

  /// Whether the program has to change something: the request, a setting, or the order of its calls. A test should find
  /// such an error.
  public var isCallerFault: Bool {
    switch kind {
    case .invalidRequest, .addressRefused, .badClientCertificate, .badClientCertificatePassword, .bodyAlreadyRead,
      .bodyNotReplayable, .redirectRefused, .shutDown:
      true
    case .unexpectedResponse: response?.status.class == .clientError && !isTransient
    default: false
    }
  }

  /// Whether the error ends only this call, because it was cancelled or reached its deadline. Work that it waited for
  /// goes on.
  var isCancellationOrDeadline: Bool { isCancelled || kind == .deadlineExceeded }

  /// Whether a limit of this program held the request back.
  var isHeldBack: Bool { [.rateLimited, .concurrencyLimit, .circuitOpen, .poolTimeout].contains(kind) }

  /// Whether the network failed, so that a new connection may deliver the rest.
  var isLoss: Bool {
    switch kind {
    case .connectionLost, .idleTimeout, .responseTimeout, .connectTimeout, .cannotConnect, .cannotResolveHost: true
    case .protocolViolation: phase == .receiving  // The bytes before the violation are valid.
    default: false
    }
  }
}
