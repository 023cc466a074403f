extension HTTPError {
  /// Whether the network failed: a new connection may bring what is missing.
  var isLoss: Bool {
    switch kind {
    case .connectionLost, .idleTimeout, .responseTimeout, .connectTimeout, .cannotConnect, .cannotResolveHost: true
    case .protocolViolation: phase == .receiving  // an HTTP/2 stream that was reset
    default: false
    }
  }
}
