import MartletSemantics

// What a program decides by. The questions are independent: an error may answer several with yes, or none.
extension HTTPError {
  /// Whether the task was cancelled.
  public var isCancelled: Bool { kind == .cancelled }

  /// Whether a time limit was exceeded, whichever it was.
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

  /// Whether the server cannot be reached, stopped answering, or is not asked because it fails: there may be no network.
  /// False if a server answered that is not trusted. The cache answers such a failure with a stored response, where it
  /// may.
  public var isUnreachable: Bool {
    switch kind {
    case .cannotResolveHost, .cannotConnect, .connectTimeout, .responseTimeout, .idleTimeout, .proxyFailed,
      .connectionLost, .circuitOpen:
      true
    default: false
    }
  }

  /// Whether the same request may succeed later: the server cannot be reached, was too slow or too busy, or a limit held
  /// the request back. Whether it may be *sent* again depends on its method (RFC 9110 §9.2.2) and on ``isUnsent``.
  ///
  /// Of statuses, those that ``RetryPolicy/statuses`` has by default: 408, 429, 502, 503 and 504.
  public var isTransient: Bool {
    if kind == .unexpectedResponse, let response { return RetryPolicy().statuses.contains(response.status) }
    return isUnreachable || isTimeout || isHeldBack
  }

  /// Whether the server, or a program between, is at fault: it is not the one that was meant, violates the protocol, or
  /// says so with a status of 500 or above. To send the request again does not help, unless it is ``isTransient`` too.
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
  /// it.
  public var isCallerFault: Bool {
    switch kind {
    case .invalidRequest, .addressRefused, .badClientCertificate, .badClientCertificatePassword, .bodyAlreadyRead,
      .bodyNotReplayable, .redirectRefused, .shutDown:
      true
    case .unexpectedResponse: response?.status.class == .clientError && !isTransient
    default: false
    }
  }

  /// Whether a limit of this program held the request back.
  var isHeldBack: Bool { [.rateLimited, .concurrencyLimit, .circuitOpen, .poolTimeout].contains(kind) }

  /// Whether the network failed, so that a new connection may bring the rest.
  var isLoss: Bool {
    switch kind {
    case .connectionLost, .idleTimeout, .responseTimeout, .connectTimeout, .cannotConnect, .cannotResolveHost: true
    case .protocolViolation: phase == .receiving  // an HTTP/2 stream that was reset
    default: false
    }
  }
}
