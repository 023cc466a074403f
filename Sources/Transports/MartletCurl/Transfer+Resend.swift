#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Decides whether libcurl may send a request again, and over which connection.
///
/// libcurl sends a request again by itself, up to five times, when a pooled connection ends before any byte of a
/// response, and when an HTTP/2 server refuses a stream, without regard to whether the request may be repeated. It also
/// uses any open connection, even one with unexpected input. Both are decided here, before the request is sent each
/// time, and when its body is rewound.
extension Transfer {
  /// Called before the request is sent, for the first time or again. Returns whether it may be.
  func mayBegin(between ends: ConnectionTable.Ends) -> Bool {
    if isSent {
      guard allowsResend() else { return false }
      if !isAnswered { tell("sent again on another connection: \(reasonOfResend)") }
      sendCount += 1
      wasRefused = false
      leftConnectionIntact = false
      endedBeforeUpload = false
      restartHead()  // the head was the response to the previous sending
    }
    let found = connections?[ends]
    if let found, hasUnaskedInput(found) { return giveUpConnection() }
    guard isChecked(found) else { return false }
    use(found)
    isSent = true
    return true
  }

  /// Called when libcurl wants to send the body again. Returns whether it can: only bytes in memory can, the session
  /// has to open other bodies again.
  func rewindBody(to offset: Int64) -> Bool {
    guard allowsResend() else { return false }
    if rewindBytes(to: offset) { return true }
    if !isAnswered { failure = failure ?? failureOfResend }
    return false
  }

  /// Called with a line of libcurl's log.
  func learn(from text: UnsafeRawBufferPointer) {
    switch VerboseLine(text) {
    case .stream(let id): streamID = id
    case .goAway(let last): connection?.lastAnsweredStream = last
    case .refused:
      // libcurl logs this at a second sending too, if only the first was refused
      if sendCount == 0 { wasRefused = true }
    case .streamClosed: endedBeforeUpload = true
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
  /// Whether an idle HTTP/1 connection has unread input: bytes that are no response, or its end (RFC 9112 §9.2, §9.5).
  /// With HTTP/2 these may be frames that concern the connection.
  private func hasUnaskedInput(_ connection: Connection) -> Bool {
    guard connection.hasServed, connection.isIdle, connection.version != .http2 else { return false }
    return connection.hasInput || martlet_has_pending_records(handle.raw) != 0
  }

  /// Makes the transfer begin again on a new connection, because nothing was sent yet. Returns false.
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
    // the log is needed for streams only, and costs time
    handle.set(CURLOPT_VERBOSE, connection.version == .http1_1 ? 0 : 1)
    // after one stale HTTP/1 connection, no other pooled connection is tried
    if connection.version == .http1_1 { handle.set(CURLOPT_FRESH_CONNECT, 1) }
  }

  /// Notes whether an HTTP/2 connection was lost, and did not fail because of invalid frames.
  func noteLoss() {
    let error = handle.lastError
    guard !error.isEmpty else { return }
    if error.contains("end of the underlying stream") || error.contains("Failed receiving HTTP2") {
      connection?.isLost = true
    }
  }

  /// Called when the transfer ends or uses another connection.
  func leaveConnection() {
    connection?.transferCount -= 1
    connection = nil
  }

  /// The version of HTTP, if it is known before the first response.
  private var agreedVersion: HTTPVersion? {
    switch martlet_agreed_on_http2(handle.raw) {
    case 1: .http2
    case 0: limits.assumesHTTP2 ? nil : .http1_1
    default: limits.assumesHTTP2 || limits.origin.isSecure ? nil : .http1_1
    }
  }
}

// MARK: - Whether it may be sent again

extension Transfer {
  /// Whether the request may be sent again: after a response that libcurl handles itself (a proxy's challenge, 417), if
  /// the server requires HTTP/1.1, if it refused the request, or if the request may be repeated; never if the response
  /// was invalid.
  ///
  /// Over HTTP/2, stopping a transfer here may affect another one: libcurl 7.88 then resets the stream with the old
  /// one's number on the new connection. That is better than sending a request twice.
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

  /// Whether the server has refused to process the request (RFC 9113 §8.7): with a GOAWAY below its stream, or with
  /// REFUSED_STREAM, which libcurl 7.88 logs on new connections only. A lost connection is no refusal.
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
