import MartletEngine

/// What an HTTP/1.1 connection is in the middle of, and what may be done with it next (RFC 9112 §9).
///
/// The owner of the connection reports what has happened, and does what is returned. The order of reports is the order
/// in which things happen on the connection; a report that does not fit the state is ignored.
///
/// Decisions:
/// - A connection is used again only if the request and its response are complete, and nothing came after the response.
/// - A final response from 300 on stops the request's body, because the server does not want it (RFC 9110 §10.1.1, RFC
///   9112 §9.5); after a successful head both directions go on, until the response has ended. Either way a body that was
///   not sent to its end costs the connection.
/// - A peer that does not take bytes any more may still have answered: the response is read on.
struct HTTP1ConnectionState: Sendable, Equatable {
  /// What the owner has to do.
  enum Action: Equatable, Sendable {
    case none
    /// Discard what was not sent of the request, and read on.
    case stopSending
    /// The connection is idle: it may be given to the next request.
    case reuse
    /// Close the connection. If a request is using it, its response was delivered or cannot come any more.
    case close
    /// The connection belongs to another protocol now, and to whoever asked for it; with what was left of the input.
    case handOver
  }

  private enum State: Equatable {
    case idle
    case busy(Request, Response)
    case upgraded
    case closed
  }

  /// How much of a request was sent.
  private enum Request: Equatable {
    /// Nothing yet.
    case unsent
    /// The head was sent at least in part.
    case sending
    /// The head was sent; the body waits for a 100 response.
    case held
    case sent
    /// The body was not sent to its end, and will not be.
    case stopped
  }

  /// How much of a response has come.
  private enum Response: Equatable {
    case nothing
    /// Bytes, but not the final head.
    case begun
    case head
  }

  private var state = State.idle
  /// Whether the current request asked to close the connection.
  private var closesAfterwards = false
  /// Whether the connection was open for some time before its first request.
  private var wasOpen = false
  private var hasInputEnded = false
  /// The number of requests whose responses have ended.
  private(set) var servedCount = 0

  /// Whether a request may begin.
  var isIdle: Bool { state == .idle }
  /// Whether all of the current request was sent.
  var hasSentRequest: Bool { if case .busy(.sent, _) = state { true } else { false } }
  /// Whether the connection must not be used any more.
  var isClosed: Bool { state == .closed }

  /// What is known about a request whose connection is lost.
  enum Loss: Equatable, Sendable {
    /// Nothing of it was sent: it can go over another connection, whatever its method.
    case unsent
    /// The connection was open before and ended before any byte of a response: most likely the server had closed it
    /// before it got the request. It may be sent again if it is idempotent (RFC 9112 §9.3.1).
    case stale
    /// The server may have acted on it.
    case unknown
  }

  /// What is known about the current request, if its connection is lost now.
  var loss: Loss {
    switch state {
    case .busy(.unsent, _): .unsent
    case .busy(_, .nothing) where servedCount > 0 || wasOpen: .stale
    default: .unknown
    }
  }
}

// MARK: - The request

extension HTTP1ConnectionState {
  /// Begins a request. Returns false, and changes nothing, if the connection is not idle.
  ///
  /// - Parameters:
  ///   - closesAfterwards: whether the request has the connection option `close` (RFC 9112 §9.6).
  ///   - wasOpen: whether the connection was open for some time before.
  mutating func beginRequest(closesAfterwards: Bool = false, wasOpen: Bool = false) -> Bool {
    guard state == .idle else { return false }
    self.wasOpen = wasOpen
    state = .busy(.unsent, .nothing)
    self.closesAfterwards = closesAfterwards
    return true
  }

  /// Bytes of the request were sent.
  mutating func sentBytes() {
    if case .busy(.unsent, let response) = state { state = .busy(.sending, response) }
  }

  /// The head was sent, and the body waits for a 100 response (RFC 9110 §10.1.1).
  mutating func heldBody() -> Action {
    guard case .busy(.sending, let response) = state else { return .none }
    state = .busy(response == .head ? .stopped : .held, response)
    return response == .head ? .stopSending : .none
  }

  /// The body need not wait any longer: a 100 response has come, or the time for it is over. Returns false if the body
  /// must not be sent.
  mutating func continueBody() -> Bool {
    guard case .busy(.held, let response) = state else { return false }
    state = .busy(.sending, response)
    return true
  }

  /// The request was sent to its end.
  mutating func sentRequest() {
    if case .busy(.sending, let response) = state { state = .busy(.sent, response) }
  }

  /// The peer does not take bytes any more: sending has failed with EPIPE or ECONNRESET.
  mutating func sendingFailed() -> Action {
    switch state {
    case .busy(.unsent, _), .idle: return close()
    case .busy(let request, let response):
      hasInputEnded = true  // never to be used again
      guard request != .sent else { return .none }
      state = .busy(.stopped, response)
      return .stopSending
    case .upgraded, .closed: return .none
    }
  }
}

// MARK: - The response

extension HTTP1ConnectionState {
  /// Bytes have come. They are not asked for on an idle connection, nor before anything of the request was sent: they
  /// cannot be its response (RFC 9112 §9.2).
  mutating func receivedBytes() -> Action {
    switch state {
    case .idle, .busy(.unsent, _): return close()
    case .busy(let request, .nothing): state = .busy(request, .begun)
    case .busy, .upgraded, .closed: break
    }
    return .none
  }

  /// The final head has come.
  mutating func receivedHead(status: Int) -> Action {
    guard case .busy(let request, let response) = state, response != .head else { return .none }
    let stops =
      switch request {
      case .held: true
      case .sending: status >= 300
      case .unsent, .sent, .stopped: false
      }
    state = .busy(stops ? .stopped : request, .head)
    return stops ? .stopSending : .none
  }

  /// The response has ended.
  ///
  /// - Parameters:
  ///   - keepsConnection: ``HTTP1ResponseParser/keepsConnection``.
  ///   - hasUpgraded: ``HTTP1ResponseParser/hasUpgraded``.
  ///   - hasExcess: whether bytes came after the end.
  mutating func receivedEnd(keepsConnection: Bool, hasUpgraded: Bool = false, hasExcess: Bool) -> Action {
    guard case .busy(let request, .head) = state else { return .none }
    servedCount += 1
    if hasUpgraded {
      state = .upgraded
      return .handOver
    }
    guard request == .sent, keepsConnection, !closesAfterwards, !hasExcess, !hasInputEnded else { return close() }
    state = .idle
    return .reuse
  }

  /// The peer has ended its direction of the connection. During a request, ``HTTP1ResponseParser/endOfInput(isClean:)``
  /// says whether the response is complete.
  mutating func receivedEndOfInput() -> Action {
    guard state != .closed else { return .none }
    hasInputEnded = true
    return state == .idle ? close() : .none
  }

  /// The connection has failed, the request was cancelled, or the owner does not need the connection any more.
  mutating func close() -> Action {
    guard state != .closed else { return .none }
    state = .closed
    return .close
  }
}
