#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// libcurl sends a request again by itself, up to five times, when a connection from the pool ends before any byte of a
/// response, and when an HTTP/2 server refuses a stream. It asks nobody whether the request may be repeated: that is decided
/// here, where each new beginning and each rewound body passes. So is over which connection it goes: libcurl takes any that
/// is open, also one over which something has come that no request asked for.
extension Transfer {
  /// The request is about to go out, for the first time or again.
  func mayBegin(between ends: ConnectionTable.Ends) -> Bool {
    if isSent {
      guard allowsResend() else { return false }
      if !isAnswered { tell("sent again on another connection: \(reasonOfResend)") }
      sendCount += 1
      wasRefused = false
      leftConnectionIntact = false
      restartHead()  // what it answered is over: it is no answer to what goes out now
    }
    let found = connections?[ends]
    if let found, hasUnaskedInput(found) { return giveUpConnection() }
    use(found)
    isSent = true
    return true
  }

  /// libcurl wants to send the body again. Only bytes can; anything else the session has to open anew.
  func rewindBody(to offset: Int64) -> Bool {
    guard allowsResend() else { return false }
    if rewindBytes(to: offset) { return true }
    if !isAnswered { failure = failure ?? failureOfResend }
    return false
  }

  /// A line of what libcurl tells of its work.
  func learn(from text: UnsafeRawBufferPointer) {
    switch VerboseLine(text) {
    case .stream(let id): streamID = id
    case .goAway(let last): connection?.lastAnsweredStream = last
    case .refused:
      // libcurl says so of a second sending too, where only the first was refused
      if sendCount == 0 { wasRefused = true }
    case .excess: handle.set(CURLOPT_FORBID_REUSE, 1)
    case .evicted: sawEviction = true
    case .leftIntact:
      leftConnectionIntact = true
      connection?.wasLeftIntact = true
    case nil: break
    }
  }
}

// MARK: - The connection

extension Transfer {
  /// Whether something has come over an idle connection of HTTP/1: bytes that answer no request, or its end
  /// (RFC 9112 §9.2, §9.5). Over HTTP/2 these may be frames that concern the connection.
  private func hasUnaskedInput(_ connection: Connection) -> Bool {
    guard connection.hasServed, connection.isIdle, connection.version != .http2 else { return false }
    return connection.hasInput || martlet_has_pending_records(handle.raw) != 0
  }

  /// Nothing was sent yet, so that the request can begin anew on a fresh connection.
  private func giveUpConnection() -> Bool {
    if !hasFreshConnection, rewindBytes(to: 0) {
      wantsFreshConnection = true
    } else {
      let message = "\(CurlFailure.peer(of: handle)): the server sends on connections that wait for no response"
      failure = HTTPError(.protocolViolation, message, phase: .sending)
    }
    return false
  }

  private func use(_ connection: Connection?) {
    leaveConnection()
    self.connection = connection
    streamID = nil
    guard let connection else { return }
    connection.transferCount += 1
    connection.hasServed = true
    connection.wasLeftIntact = false
    connection.version = connection.version ?? agreedVersion
    // the text is about streams; where there are none, it would only cost
    handle.set(CURLOPT_VERBOSE, connection.version == .http1_1 ? 0 : 1)
    // after one stale connection of HTTP/1, no other of the pool is tried
    if connection.version == .http1_1 { handle.set(CURLOPT_FRESH_CONNECT, 1) }
  }

  /// Remembers of an HTTP/2 connection that it was lost, and did not fail for a fault in what came over it.
  func noteLoss() {
    let error = handle.lastError
    guard !error.isEmpty else { return }
    if error.contains("end of the underlying stream") || error.contains("Failed receiving HTTP2") {
      connection?.isLost = true
    }
  }

  /// The transfer is over, or goes to another connection.
  func leaveConnection() {
    connection?.transferCount -= 1
    connection = nil
  }

  /// The version that the connection speaks, where that is known before the first response.
  private var agreedVersion: HTTPVersion? {
    switch martlet_agreed_on_http2(handle.raw) {
    case 1: .http2
    case 0: limits.assumesHTTP2 ? nil : .http1_1
    default: limits.assumesHTTP2 || limits.isSecure ? nil : .http1_1
    }
  }
}

// MARK: - Whether it may go out again

extension Transfer {
  /// It may after an answer that libcurl deals with itself (a proxy's challenge, 417), when the server wants the same over
  /// HTTP/1.1, when the server refused the request, and when the request may be repeated; never where the response was wrong.
  ///
  /// Stopping a transfer here is not without risk over HTTP/2: libcurl 7.88 then resets the stream that has the old one's
  /// number on the new connection, which may be another transfer's. That is better than an order placed twice.
  private func allowsResend() -> Bool {
    noteLoss()
    let fault = CurlFailure(code: CURLE_RECV_ERROR, handle: handle, hasHead: false)
    guard !fault.blamesHTTP2 else {
      failure = failure ?? fault.error
      return false
    }
    if isAnswered || isRefused || limits.mayRepeat { return true }
    failure = failure ?? failureOfResend
    return false
  }

  private var isAnswered: Bool { isHoldingHead || handle.lastError.contains("HTTP_1_1_REQUIRED") }

  /// Whether the server has said that it did not act on the request (RFC 9113 §8.7): with a GOAWAY below its stream, or with
  /// REFUSED_STREAM, which libcurl 7.88 mentions on new connections only. A connection that merely broke refused nothing.
  var isRefused: Bool {
    if wasRefused { return true }
    guard let last = connection?.lastAnsweredStream, let streamID else { return false }
    return streamID > last
  }

  private var reasonOfResend: String {
    isRefused
      ? "the server refused it unread"
      : "the one it went over had served before, and ended before any byte of a response"
  }

  private var failureOfResend: HTTPError {
    let message = "\(CurlFailure.peer(of: handle)): to be sent again on another connection: \(reasonOfResend)"
    var error = HTTPError(.connectionLost, message, phase: .waiting)
    error.delivery = isRefused ? .refused : .staleConnection
    return error
  }
}
#endif
