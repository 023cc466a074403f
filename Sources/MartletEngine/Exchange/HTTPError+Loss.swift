extension HTTPError {
  /// Whether the network failed: a new connection may bring what is missing.
  var isLoss: Bool {
    switch kind {
    case .connectionLost, .idleTimeout, .responseTimeout, .connectTimeout, .cannotConnect, .cannotResolveHost: true
    case .protocolViolation: phase == .receiving  // an HTTP/2 stream that was reset
    default: false
    }
  }

  /// Whether nobody was reached, or fell silent before there was a response to hand on: a transport may wait for the whole of
  /// a small one. Not where somebody answered and was not trusted.
  var meansUnreachable: Bool {
    [
      .cannotResolveHost, .cannotConnect, .connectTimeout, .responseTimeout, .idleTimeout, .proxyFailed,
      .connectionLost,
    ].contains(kind)
  }

  /// The error of credentials that could not be had. A failure for want of a network keeps its kind, so that it is retried
  /// like any other, and nobody takes it for a logout; all else is ``Kind/authenticationFailed``.
  package init(credentialsFailed what: String, with error: any Error) {
    let cause = error as? HTTPError
    let isOutside = cause.map { $0.meansUnreachable || $0.isConnectionFailure || $0.isTimeout } ?? false
    // Only our own errors are known to show no secret.
    let reason = cause.map { ": \($0.message)" } ?? ", see the error beneath"
    self.init(
      isOutside ? cause?.kind ?? .authenticationFailed : .authenticationFailed, what + reason, phase: .preparing,
      underlying: error)
  }
}
