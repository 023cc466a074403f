#if os(Linux)
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

// The limits of a transfer's silence, and the tests of its connection meanwhile.

extension LoopTransfer {
  /// The maximum silence allowed in the current state.
  private var timeout: UInt64? {
    body.discarding != nil ? Self.discardTime : hasHead ? exchange.settings.idle : exchange.settings.response
  }

  /// How long the rest of an abandoned response may take, in nanoseconds.
  private static let discardTime: UInt64 = 1_000_000_000

  func watchSilence() {
    guard !isEnded else { return transport.loop.set(self, to: .max) }
    let due = timeout.map { lastActivity + $0 } ?? .max
    transport.loop.set(self, to: min(due, nextPing ?? .max))
  }

  /// When to test the connection next with a PING, which only HTTP/2 has; nil for never.
  private var nextPing: UInt64? {
    guard let interval = exchange.settings.ping, connection?.facts.version == .http2 else { return nil }
    return max(lastActivity, lastPing) &+ interval
  }

  /// Checks the silence when the timeout may be over.
  func checkSilence() {
    guard !isEnded, !isPaused, !isAsking else { return }  // The answer sets the timer again.
    let now = transport.loop.now
    if let nextPing, nextPing <= now {
      lastPing = now
      connection?.driver?.checkLiveness(after: self, patience: 0)
    }
    guard let timeout else { return watchSilence() }
    // Silence does not count while the reader is not waiting for more.
    let reader = hasHead && body.discarding == nil ? exchange.signals.waitingSince ?? now : 0
    let due = max(lastActivity, reader) + timeout
    guard due <= now else { return transport.loop.set(self, to: min(due, nextPing ?? .max)) }
    connection?.driver?.checkLiveness(after: self, patience: 0)
    let limit = Quantity.text(.nanoseconds(Int64(clamping: timeout)))
    let (phase, reason) =
      connection == nil
      ? transport.pool.reasonOfWait(of: self) : (phase, "no data was received while \(phase.rawValue)")
    let message = "\(exchange.peer): the time limit of \(limit) is over: \(reason)"
    transport.end(self, with: HTTPError(hasHead ? .idleTimeout : .responseTimeout, message, phase: phase))
  }

  /// Adds the wait for a 100 response to the error of a lost connection: the server may have closed the connection
  /// because the waiting body made it look idle.
  func tellingWait(_ error: HTTPError) -> HTTPError {
    guard !hasHead, error.kind == .connectionLost, isAboutWait else { return error }
    var error = error
    error.message += ", and the body waited in vain for 100 Continue: a shorter continueTimeout sends it earlier"
    return error
  }

  /// Whether the body waits for a 100 response, or has stopped waiting recently: the server's own time limit may be as
  /// long as the wait.
  private var isAboutWait: Bool {
    guard !isContinued, let time = exchange.settings.expectation, let start = timing.requestStart else { return false }
    return holdsBody || (transport.loop.now &- start) / 2 < time
  }
}
#endif
