import MartletEngine

/// The state of an HTTP/1.1 connection, and what may be done with it next (RFC 9112 §9).
///
/// The owner of the connection reports what it sends and receives, in the order in which that happens, and performs the
/// returned action. A report that does not fit the state is ignored. The owner may also close the connection for other
/// reasons: the peer has ended its direction, or the request was cancelled. It then reports nothing more.
///
/// Decisions:
/// - A connection is used again only if the request and its response are complete, and nothing came after the response.
/// - A final response with a status of 300 or more stops the request's body, because the server does not want it (RFC
///   9110 §10.1.1, RFC 9112 §9.5). After a successful head both directions continue until the response has ended. In
///   either case, the connection is closed if the body was not sent to its end.
/// - A peer that takes no more bytes may already have responded: the response is still read.
struct HTTP1ConnectionState: Sendable, Equatable {
  /// The actions for the owner.
  enum Action: Equatable, Sendable {
    case none
    /// Discard the unsent rest of the request, and continue to read.
    case stopSending
    /// The connection is idle: the next request may use it.
    case reuse
    /// Close the connection. If a request is using it, its response was delivered or can no longer arrive.
    case close
    /// The connection now belongs to another protocol and to the request's caller, with the rest of the input.
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
    /// The body was not sent to its end and will not be.
    case stopped
  }

  /// How much of a response has arrived.
  private enum Response: Equatable {
    case nothing
    /// Some bytes, but not the final head.
    case begun
    case head
  }

  private var state = State.idle
  /// Whether the current request asked to close the connection.
  private var closesAfterwards = false
  /// Whether the connection was open for some time before its first request.
  private var wasOpen = false
  /// Whether the peer takes no more bytes.
  private var hasSendingFailed = false
  /// The number of requests whose responses have ended.
  private(set) var servedCount = 0

  /// Whether all of the current request was sent.
  var hasSentRequest: Bool { if case .busy(.sent, _) = state { true } else { false } }

  /// The situation of a request whose connection is lost.
  enum Loss: Equatable, Sendable {
    /// None of it was sent: it can use another connection, whatever its method.
    case unsent
    /// The connection was open before and ended before any byte of a response: most likely the server closed it before
    /// it got the request. An idempotent request may be sent again (RFC 9112 §9.3.1).
    case stale
    /// The server may have acted on it.
    case unknown
  }

  /// The situation of the current request if its connection is lost now.
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

  /// Notes that bytes of the request were sent.
  mutating func sentBytes() {
    if case .busy(.unsent, let response) = state { state = .busy(.sending, response) }
  }

  /// Notes that the head was sent and the body waits for a 100 response (RFC 9110 §10.1.1).
  mutating func heldBody() -> Action {
    guard case .busy(.sending, let response) = state else { return .none }
    state = .busy(response == .head ? .stopped : .held, response)
    return response == .head ? .stopSending : .none
  }

  /// Ends the wait of the body: a 100 response has arrived, or the time has expired.
  mutating func continueBody() {
    if case .busy(.held, let response) = state { state = .busy(.sending, response) }
  }

  /// Notes that the whole request was sent.
  mutating func sentRequest() {
    if case .busy(.sending, let response) = state { state = .busy(.sent, response) }
  }

  /// Handles a peer that takes no more bytes: sending has failed with EPIPE or ECONNRESET.
  mutating func sendingFailed() -> Action {
    switch state {
    case .busy(.unsent, _), .idle: return close()
    case .busy(let request, let response):
      hasSendingFailed = true  // so that it is never used again
      guard request != .sent else { return .none }
      state = .busy(.stopped, response)
      return .stopSending
    case .upgraded, .closed: return .none
    }
  }
}

// MARK: - The response

extension HTTP1ConnectionState {
  /// Handles received bytes. Bytes on an idle connection, or before any of the request was sent, are unrequested: they
  /// cannot be its response (RFC 9112 §9.2).
  mutating func receivedBytes() -> Action {
    switch state {
    case .idle, .busy(.unsent, _): return close()
    case .busy(let request, .nothing): state = .busy(request, .begun)
    case .busy, .upgraded, .closed: break
    }
    return .none
  }

  /// Handles the final head.
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

  /// Handles the end of the response.
  ///
  /// - Parameters:
  ///   - keepsConnection: ``HTTP1ResponseParser/keepsConnection``.
  ///   - hasUpgraded: ``HTTP1ResponseParser/hasUpgraded``.
  ///   - hasExcess: whether bytes arrived after the end.
  mutating func receivedEnd(keepsConnection: Bool, hasUpgraded: Bool = false, hasExcess: Bool) -> Action {
    guard case .busy(let request, .head) = state else { return .none }
    servedCount += 1
    if hasUpgraded {
      state = .upgraded
      return .handOver
    }
    guard request == .sent, keepsConnection, !closesAfterwards, !hasExcess, !hasSendingFailed else { return close() }
    state = .idle
    return .reuse
  }

  private mutating func close() -> Action {
    state = .closed
    return .close
  }
}
