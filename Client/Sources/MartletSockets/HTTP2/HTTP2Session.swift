#if os(Linux)
import CNGHTTP2
import MartletEngine
import MartletSemantics

/// The settings of a session.
struct HTTP2Settings: Sendable {
  /// The maximum number of bytes of one response that may wait for its reader.
  var streamWindow = 2 << 20
  /// The maximum number of bytes of all responses that may be in transit. They are returned to the window on receipt,
  /// so that a slow reader does not stop the other streams.
  var connectionWindow = 16 << 20
  /// The maximum size of a list of fields, as announced to the server. The limit of each request decides how large its
  /// response may be.
  var headLimit = 256 << 10
}

/// The client's side of an HTTP/2 connection (RFC 9113): bytes in, bytes and events out. It uses no socket, clock,
/// thread or lock, and has one owner at a time. nghttp2 handles frames, HPACK and flow control.
///
/// The owner passes received bytes to ``receive(_:now:)`` and sends the bytes that ``pull(into:upTo:)`` appends to its
/// buffer: after every call of another method, and when the buffer has room again. When one of the two throws, or when
/// ``isOver``, the owner sends the rest of the buffer and closes the connection; every stream has had its last event.
///
/// Decisions where RFC 9113 leaves a choice or other clients are lenient:
/// - A value with leading or trailing white space is accepted and trimmed; servers send it. Any other malformed
///   response is a stream error (§8.1.1): an upper-case name, a connection-specific field, a control character, or a
///   `Content-Length` that is not a number, is repeated, or differs from the body.
/// - A response without END_STREAM is incomplete, however its stream or connection ended.
/// - After a complete response the request's body is not needed: the stream is reset with NO_ERROR (§8.1).
/// - A response that ends in the same bytes as its RST_STREAM is complete (§8.1).
/// - Server push is refused (§6.5.2): a PUSH_PROMISE is a connection error.
final class HTTP2Session {
  /// The prefix of every message: host and port.
  let peer: String
  /// Whether ``streamLimit`` or ``isDraining`` may have changed, or a stream was closed, since the owner last looked.
  var hasNewCapacity = false
  /// The reason why the connection is no longer usable.
  var failure: HTTPError?
  /// The streams that are open or wait to be opened.
  var streams = NumberTable<HTTP2Stream>()
  /// The stream of the last event, which usually gets the next one too.
  var recent: HTTP2Stream?
  /// The head or the trailers that are being received; one stream at a time (RFC 9113 §4.3).
  let block = HTTP2FieldBlock()
  var budget = FrameBudget()
  var receivedBytes: UInt64 = 0
  /// How many bytes had been received when the first request was submitted after an idle time.
  private var receivedWhenIdle: UInt64 = 0
  /// When bytes last arrived, by the time given to ``receive(_:now:)``; nil if none did.
  private(set) var lastReceived: UInt64?
  /// How many frames that require a reply were received since the last ``pull(into:upTo:)``.
  var replyCount = 0
  /// The window of each stream.
  let streamWindow: Int
  /// Whether the server's SETTINGS have arrived.
  var hasSettings = false
  /// The server's last GOAWAY.
  var goAway: GoAway?
  private var session: OpaquePointer?
  /// The last frames of a connection on which the server has violated the protocol.
  private var farewell = SendBuffer()

  /// The server's announcement that it takes no more requests on this connection.
  struct GoAway: Sendable, Hashable {
    /// The last stream that it may act on; 2³¹ − 1 while it has not decided (RFC 9113 §6.8).
    var lastStream: Int32
    var code: HTTP2ErrorCode
  }

  /// Begins a session: the connection preface, settings and window can be pulled at once.
  ///
  /// - Parameter peer: host and port, for messages.
  init(peer: String, settings: HTTP2Settings = HTTP2Settings()) throws(HTTPError) {
    self.peer = peer
    // The largest window (RFC 9113 §6.9.1).
    streamWindow = Int(Int32(clamping: settings.streamWindow))
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&options) == 0 else { throw outOfMemory }
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(options)
    }
    Self.setCallbacks(callbacks)
    Self.setOptions(options)
    // SAFETY: only calls of the session use the pointer, and this object outlives the session that it makes.
    let context = Unmanaged.passUnretained(self).toOpaque()
    guard nghttp2_session_client_new2(&session, callbacks, context, options) == 0 else { throw outOfMemory }
    let entries = [
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
        value: UInt32(streamWindow.magnitude)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
        value: UInt32(clamping: settings.headLimit)),
    ]
    nghttp2_submit_settings(session, Self.noFlags, entries, entries.count)
    nghttp2_session_set_local_window_size(session, Self.noFlags, 0, Int32(clamping: settings.connectionWindow))
  }

  deinit { nghttp2_session_del(session) }

  private static func setOptions(_ options: OpaquePointer?) {
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_peer_max_concurrent_streams(options, UInt32(assumedStreamLimit))
    nghttp2_option_set_no_closed_streams(options, 1)
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
    nghttp2_option_set_max_send_header_block_length(options, HTTP2RequestHead.listLimit)
    // Enough for 1 MiB in frames of the usual size; the default of 8 does not fit a head of 256 KiB.
    nghttp2_option_set_max_continuations(options, 64)
    nghttp2_option_set_max_outbound_ack(options, unsentReplyLimit)
  }

  /// The maximum number of replies to PING and SETTINGS that may wait for a peer that does not read: 64 KiB.
  private static let unsentReplyLimit = (64 << 10) / 17

  static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

  private var outOfMemory: HTTPError { HTTPError(.other, "\(peer): there is no memory for an HTTP/2 session") }
}

// MARK: - Bytes

extension HTTP2Session {
  /// Processes bytes of the connection.
  ///
  /// - Parameter now: the time in nanoseconds of a clock that does not go back, for the limit of frames without
  ///   content.
  /// - Throws: an error if the connection is no longer usable. All streams have then failed.
  func receive(_ bytes: UnsafeRawBufferPointer, now: UInt64) throws(HTTPError) {
    if let failure { throw failure }
    budget.refill(now: now)
    receivedBytes += UInt64(bytes.count)
    lastReceived = now
    let count = bytes.withMemoryRebound(to: UInt8.self) { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
    if count < 0, failure == nil { failAll(with: fatal(Int32(count))) }
    if failure == nil, !budget.spend(bytes: bytes.count) { failAll(with: flood) }
    if isTerminated { takeFarewell() }
    if let failure { throw failure }
  }

  /// Appends the frames that are ready to the buffer, until it has `limit` bytes or more: answers to the server first,
  /// then new requests, then bodies.
  ///
  /// - Throws: the error that ``receive(_:now:)`` has thrown; the buffer then has a GOAWAY with the reason.
  func pull(into buffer: inout SendBuffer, upTo limit: Int = 64 << 10) throws(HTTPError) {
    if let failure {
      farewell.withUnsafeBytes { buffer.append($0) }
      farewell.consume(farewell.count)
      throw failure
    }
    replyCount = 0
    while buffer.count < limit {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count != 0 else { break }
      guard count > 0, let bytes else {
        failAll(with: fatal(Int32(count)))
        break
      }
      buffer.append(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    if let failure { throw failure }
  }

  /// Ends the session because its connection has ended. Every stream fails.
  ///
  /// - Parameter error: why; nil if the server closed the connection.
  func connectionEnded(_ error: HTTPError? = nil) {
    guard failure == nil else { return }
    let message = "\(peer): the connection ended before the end of the response"
    failAll(with: error ?? HTTPError(.connectionLost, message))
  }

  /// Whether nghttp2 has found a violation of the connection's protocol: it then sends only a GOAWAY.
  private var isTerminated: Bool {
    failure == nil && goAway == nil && nghttp2_session_check_request_allowed(session) == 0
      && nghttp2_session_get_next_stream_id(session) <= Int32.max
  }

  /// Keeps the GOAWAY for ``pull(into:upTo:)``. Sending it ends the session through its callback.
  private func takeFarewell() {
    var bytes: UnsafePointer<UInt8>?
    while case let count = nghttp2_session_mem_send(session, &bytes), count > 0 {
      farewell.append(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    if failure == nil { failAll(with: violation("the connection failed")) }
  }

  /// Whether the connection has no further use: it has failed, or one side has sent GOAWAY and no stream is open.
  var isOver: Bool {
    failure != nil || nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }
}

// MARK: - Requests

extension HTTP2Session {
  /// How many streams a server is expected to allow at once before it has said so (RFC 9113 §6.5.2 recommends at least
  /// as many).
  static let assumedStreamLimit = 100

  /// How many streams are opened before the server has said how many it allows, in its SETTINGS. Some servers end the
  /// connection above their limit. Hardly any allows fewer than ten, and ten requests are as many as most programs
  /// begin with. More wait for the SETTINGS, which are the first bytes of the server: at most one round trip.
  static let firstStreamLimit = 10

  /// How many streams the server allows at once, which may be 0 for a time.
  var streamLimit: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Whether the connection takes no more requests: a GOAWAY arrived, it has failed, or its stream numbers are used up.
  var isDraining: Bool {
    failure != nil || goAway != nil || nghttp2_session_check_request_allowed(session) == 0
  }

  /// Returns the error of a request with more fields than the server accepts, nil if it may be sent. Most servers would
  /// close the connection with all its streams (RFC 9113 §6.5.2).
  func refusal(of head: HTTP2RequestHead) -> HTTPError? {
    let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
    let size = head.fields.listSize
    guard size > Int(limit) else { return nil }
    let message = "the request's fields have \(size) bytes; the server accepts at most \(limit) bytes"
    return HTTPError(.invalidRequest, "\(peer): \(message) (SETTINGS_MAX_HEADER_LIST_SIZE)", phase: .preparing)
  }

  /// Submits a request for ``pull(into:upTo:)`` to send. Above ``streamLimit`` it waits for another stream to close.
  ///
  /// - Parameters:
  ///   - headLimit: the maximum number of bytes of the response's heads and trailers.
  ///   - handler: receives all events of the stream; held until its last event.
  /// - Returns: the number of its stream.
  /// - Throws: an error with the delivery `refused` if the connection takes no more requests.
  func submit(
    _ head: HTTP2RequestHead, headLimit: Int, handler: any HTTP2StreamHandler
  ) throws(HTTPError) -> Int32 {
    guard !isDraining else { throw HTTP2Failure.refused("\(peer): the connection takes no more requests").error }
    let id = head.fields.withNameValues { fields, count in
      guard head.hasBody else { return nghttp2_submit_request(session, nil, fields, count, nil, nil) }
      var provider = Self.bodyProvider
      return nghttp2_submit_request(session, nil, fields, count, &provider, nil)
    }
    guard id > 0 else { throw HTTP2Failure.refused("\(peer): no stream can be opened (\(Self.text(of: id)))").error }
    if streams.isEmpty { receivedWhenIdle = receivedBytes }
    streams[Int(id)] = HTTP2Stream(id: id, handler: handler, headLimit: headLimit, isUploading: head.hasBody)
    return id
  }

  /// Whether the server accepts an extended CONNECT (RFC 8441 §3); false before its SETTINGS have arrived.
  var allowsExtendedConnect: Bool {
    nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1
  }

  /// Makes a stream a tunnel, within the event of the head that accepts its CONNECT. From now on the handler gets its
  /// events: bytes of both directions, which end independently.
  func openTunnel(_ id: Int32, handler: any HTTP2StreamHandler) {
    guard let stream = stream(id) else { return }
    stream.handler = handler
    stream.isTunnel = true
  }

  /// Ends a stream whose response is no longer wanted. Its handler gets no further calls.
  func reset(_ id: Int32, _ code: HTTP2ErrorCode = .cancel) {
    guard failure == nil, let stream = stream(id) else { return }
    stream.handler = nil
    nghttp2_submit_rst_stream(session, Self.noFlags, id, code.rawValue)
  }

  /// Asks the stream's handler again for the request's body.
  func resume(_ id: Int32) {
    guard failure == nil, streams[Int(id)] != nil else { return }
    nghttp2_session_resume_data(session, id)
  }

  /// Returns `count` bytes to the stream's window: the reader has taken them from the body.
  func consumed(_ count: Int, of id: Int32) {
    guard failure == nil, streams[Int(id)] != nil else { return }
    nghttp2_session_consume_stream(session, id, count)
  }

  /// Sends a PING to test whether a connection that was silent for long (``lastReceived``) is still alive before it is
  /// reused. Any bytes that arrive afterwards show that it is.
  func ping() {
    guard failure == nil else { return }
    nghttp2_submit_ping(session, Self.noFlags, nil)
  }

  func stream(_ id: Int32) -> HTTP2Stream? {
    if let recent, recent.id == id { return recent }
    let stream = streams[Int(id)]
    recent = stream
    return stream
  }

  func submitTrailers(_ fields: HTTP2Fields, of id: Int32) -> Bool {
    fields.withNameValues { nghttp2_submit_trailer(session, id, $0, $1) } == 0
  }

  func submitReset(_ id: Int32, _ code: HTTP2ErrorCode) {
    nghttp2_submit_rst_stream(session, Self.noFlags, id, code.rawValue)
  }

  func giveBackToConnection(_ count: Int) { nghttp2_session_consume_connection(session, count) }

  /// Whether the peer's windows have no more room for the stream's body.
  func isWindowUsedUp(of id: Int32) -> Bool {
    nghttp2_session_get_remote_window_size(session) <= 0
      || nghttp2_session_get_stream_remote_window_size(session, id) <= 0
  }
}

// MARK: - Failures

extension HTTP2Session {
  /// Ends the session and every stream.
  func failAll(with error: HTTPError) {
    failure = error
    recent = nil
    let failed = streams.values.sorted { $0.id < $1.id }
    streams = NumberTable()
    for stream in failed { stream.fail(connectionFailure(of: stream, error)) }
  }

  /// Returns the failure of a stream whose connection has failed.
  ///
  /// - A request that was never sent is refused.
  /// - If nothing arrived since the connection was idle, but something had before, the server most likely closed it in
  ///   that time (RFC 9112 §9.3.1 says the same of HTTP/1). A connection that was opened for a request has received
  ///   nothing before it; one opened ahead of requests has received the server's SETTINGS.
  /// - Before the server's SETTINGS, it has answered nothing and may end the connection because of the requests
  ///   themselves, or because it closes all connections: it is as stale.
  /// - Within a response, any failure of the connection is a loss for this stream.
  private func connectionFailure(of stream: HTTP2Stream, _ error: HTTPError) -> HTTP2Failure {
    guard stream.isSent else {
      return .refused("\(peer): the connection failed before the request was sent (\(error.message))")
    }
    var error = error
    error.phase = stream.phase
    if stream.hasHead, error.kind == .protocolViolation { error.kind = .connectionLost }
    let wasIdle = receivedWhenIdle > 0 && receivedWhenIdle == receivedBytes
    if goAway == nil, !stream.hasHead, wasIdle || !hasSettings && error.kind == .connectionLost {
      error.delivery = .staleConnection
    }
    if let goAway, error.kind == .connectionLost { error.message += " (GOAWAY: \(goAway.code))" }
    return HTTP2Failure(error: error, cause: goAway?.code == .http11Required ? .http11Required : .connection)
  }

  /// The error of a fatal nghttp2 code, after which the session is unusable.
  private func fatal(_ code: Int32) -> HTTPError {
    switch nghttp2_error(rawValue: code) {
    case NGHTTP2_ERR_FLOODED:
      violation("the server floods the connection with PING or SETTINGS")
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
      HTTPError(.headTooLarge, "\(peer): a head or the trailers have too many CONTINUATION frames", phase: .waiting)
    case NGHTTP2_ERR_NOMEM: outOfMemory
    default: violation("the connection failed (\(Self.text(of: code)))")
    }
  }

  /// The error of a connection whose ``FrameBudget`` is used up.
  var flood: HTTPError { violation("the server floods the connection with frames that have no content") }

  func violation(_ reason: String) -> HTTPError {
    HTTPError(.protocolViolation, "\(peer): \(reason)", phase: .waiting)
  }

  private static func text(of code: Int32) -> String { String(cString: nghttp2_strerror(code)) }
}
#endif
