#if os(Linux)
import CNGHTTP2
import MartletSemantics

/// Serves a connection of HTTP/2 (RFC 9113) on its thread. nghttp2 has frames, HPACK and flow control; each stream has
/// a thread of its own (``HTTP2Stream``).
final class HTTP2Connection {
  let link: HTTP2Link
  let answering: Answering
  /// The open streams.
  var streams: [Int32: HTTP2Stream] = [:]
  /// The head or the trailers that are being received; one stream at a time (RFC 9113 §4.3).
  var block = HTTP2FieldBlock()
  var session: OpaquePointer?
  private let channel: HTTP2Channel
  /// How the connection ends when everything is sent; nil while it does not.
  private var ending: Reply.Ending?
  /// What ends the connection after the items of a stream.
  private var endings: [(stream: Int32, ending: Reply.Ending)] = []
  private var waitingSince = ContinuousClock.now

  /// nil if there is no memory, or the process has no file descriptors left.
  init?(_ channel: HTTP2Channel, _ answering: Answering) {
    guard let link = HTTP2Link() else { return nil }
    (self.channel, self.link, self.answering) = (channel, link, answering)
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&options) == 0 else { return nil }
    defer {
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(options)
    }
    Self.setCallbacks(callbacks)
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
    nghttp2_option_set_max_send_header_block_length(options, 1 << 20)
    // SAFETY: only calls of the session use the pointer, and this object outlives the session that it makes.
    let context = Unmanaged.passUnretained(self).toOpaque()
    guard nghttp2_session_server_new2(&session, callbacks, context, options) == 0 else { return nil }
    let settings = [
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: 100),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: 256 << 10),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL.rawValue), value: 1),
    ]
    nghttp2_submit_settings(session, 0, settings, settings.count)
    nghttp2_session_set_local_window_size(session, 0, 0, 16 << 20)
  }

  deinit { nghttp2_session_del(session) }

  /// Serves the connection.
  ///
  /// - Parameter bytes: received bytes that nobody has read.
  /// - Returns: how the server should end the connection; nil if the client ended it.
  func run(after bytes: Data) throws(WireError) -> Reply.Ending? {
    defer { for stream in streams.values { stream.close() } }
    try beginWaiting()
    bytes.withUnsafeBytes { receive($0) }
    channel.receivePending { receive($0) }
    while true {
      try sendItems()
      if channel.hasEnded { return nil }
      if channel.isEmpty, let ending { return ending }
      if channel.isEmpty, isOver { return .closeSilently }
      let limits = answering.settings.limits
      let idle = streams.isEmpty ? limits.headTime.map { waitingSince + $0 } : nil
      guard try channel.wait(for: link.descriptor, until: idle, sendTime: limits.sendTime) else {
        return .closeSilently
      }
      let news = link.takeNews()
      for id in news.changed { giveBack(id) }
      endings += news.endings
      channel.receive { receive($0) }
    }
  }

  /// Whether neither side has anything left to say.
  private var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

  private func receive(_ bytes: UnsafeRawBufferPointer) {
    let count = bytes.withMemoryRebound(to: UInt8.self) { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
    // The client has broken the protocol in a way that nghttp2 does not answer.
    if count < 0, ending == nil { ending = .closeSilently }
  }

  // MARK: - Waiting

  private func beginWaiting() throws(WireError) {
    waitingSince = .now
    answering.waits?.begin()
  }

  func opened(_ stream: HTTP2Stream) {
    // A connection that had to give way is shut down, which its next read shows.
    if streams.isEmpty { try? answering.waits?.end() }
    streams[stream.id] = stream
  }

  func closed(_ id: Int32) {
    streams.removeValue(forKey: id)?.close()
    if streams.isEmpty { try? beginWaiting() }
  }

  /// Returns the bytes to the windows that the stream's thread has taken.
  private func giveBack(_ id: Int32) {
    guard let count = streams[id]?.takeConsumed(), count > 0 else { return }
    nghttp2_session_consume_stream(session, id, count)
  }

  // MARK: - Items

  /// Hands over what streams send, until there is nothing or the channel is full.
  private func sendItems() throws(WireError) {
    var hasProgress = true
    while hasProgress, ending == nil {
      for stream in streams.values { submit(stream) }
      try pull()
      // What comes after a frame is looked at when all frames before it were made.
      guard channel.hasRoom else { return }
      hasProgress = try performItems()
    }
    try pull()
    try channel.flush()
  }

  /// Submits heads, and asks for the body again.
  private func submit(_ stream: HTTP2Stream) {
    while let item = stream.firstItem {
      switch item {
      case .interim(let head):
        Self.lines(of: head).withUnsafe { nghttp2_submit_headers(session, 0, stream.id, nil, $0, $1, nil) }
      case .head(let head, let isLast):
        var provider = Self.bodyProvider
        Self.lines(of: head).withUnsafe { lines, count in
          withUnsafeMutablePointer(to: &provider) {
            nghttp2_submit_response(session, stream.id, lines, count, isLast ? nil : $0)
          }
        }
      case .data, .end:
        nghttp2_session_resume_data(session, stream.id)
        return
      case .fault, .raw: return
      }
      stream.removeFirst()
    }
  }

  /// Appends all frames that are ready to the channel, unless the socket takes no more.
  private func pull() throws(WireError) {
    while true {
      if !channel.hasRoom { try channel.flush() }
      guard channel.hasRoom else { return }
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count > 0, let bytes else {
        if count < 0, ending == nil { ending = .closeSilently }
        return
      }
      try channel.append(UnsafeRawBufferPointer(start: bytes, count: count))
    }
  }

  private func performItems() throws(WireError) -> Bool {
    var hasProgress = false
    for stream in streams.values where try perform(stream) { hasProgress = true }
    // A stream without items has sent all, or was closed.
    let due = endings.first { streams[$0.stream]?.firstItem == nil }
    guard let due else { return hasProgress }
    endings.removeAll { $0.stream == due.stream }
    if due.ending == .close {
      nghttp2_submit_goaway(session, 0, nghttp2_session_get_last_proc_stream_id(session), 0, nil, 0)
    } else {
      ending = due.ending
    }
    return true
  }

  /// Does what a stream's first item says, if it is no frame of its own. Returns whether it did something.
  private func perform(_ stream: HTTP2Stream) throws(WireError) -> Bool {
    switch stream.firstItem {
    case .fault(.reset(let code)): nghttp2_submit_rst_stream(session, 0, stream.id, code)
    case .fault(.goAway(let code, let isProcessed)):
      nghttp2_submit_goaway(session, 0, isProcessed ? stream.id : max(0, stream.id - 2), code, nil, 0)
    case .fault(.frames(let frames, let times)):
      let bytes = frames.reduce(into: Data()) { $0 += $1.bytes(of: UInt32(stream.id)) }
      for _ in 0..<max(0, times) {
        // The client may end the stream or the connection in the middle of a flood.
        guard !channel.hasEnded, streams[stream.id] != nil else { return true }
        try channel.append(bytes)
        if !channel.hasRoom { try channel.drain { receive($0) } }
      }
    case .raw(let bytes): try channel.append(bytes)
    default: return false
    }
    stream.removeFirst()
    return true
  }

  /// The head of a response, in the form of HTTP/2.
  private static func lines(of head: ResponseHead) -> HTTP2Lines {
    var lines = HTTP2Lines()
    lines.append(":status", "\(head.status.code)")
    lines.append(head.fields)
    return lines
  }
}
#endif
