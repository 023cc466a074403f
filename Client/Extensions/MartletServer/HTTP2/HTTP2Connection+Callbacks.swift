#if os(Linux)
import CNGHTTP2
import MartletSemantics

// nghttp2 calls these functions within `nghttp2_session_mem_recv` and `nghttp2_session_mem_send`.

extension HTTP2Connection {
  static func setCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, context in
      HTTP2Connection.of(context) { $0.block = HTTP2FieldBlock() }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, _, name, nameCount, value, valueCount, _, me in
      HTTP2Connection.of(me) {
        $0.block.append(
          UnsafeBufferPointer(start: name, count: nameCount), UnsafeBufferPointer(start: value, count: valueCount))
      }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
      HTTP2Connection.of(context) { $0.received(UnsafeRawBufferPointer(start: bytes, count: count), of: id) }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      HTTP2Connection.of(context) { connection in
        if let frame { connection.received(frame) }
      }
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      HTTP2Connection.of(context) { connection in
        if let frame { connection.sent(frame.pointee.hd) }
      }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
      HTTP2Connection.of(context) { $0.closed(id) }
    }
  }

  /// Reads the body of a stream's response.
  static let bodyProvider = nghttp2_data_provider(
    source: nghttp2_data_source(fd: 0),
    read_callback: { session, id, room, count, flags, _, context in
      guard let context, let flags else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
      // SAFETY: the context is the connection whose method called nghttp2.
      return Unmanaged<HTTP2Connection>.fromOpaque(context)._withUnsafeGuaranteedRef { connection in
        connection.readBody(of: id, into: UnsafeMutableRawBufferPointer(start: room, count: count), &flags.pointee)
      }
    })

  /// Calls the closure with the connection that nghttp2's context points to.
  private static func of(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> Void) -> Int32 {
    guard let context else { return 0 }
    // SAFETY: the context is the connection whose method called nghttp2.
    Unmanaged<HTTP2Connection>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
    return 0
  }
}

// MARK: - Received

extension HTTP2Connection {
  private func received(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
    nghttp2_session_consume_connection(session, bytes.count)
    streams[id]?.received(Data(bytes))
  }

  private func received(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = frame.pointee.hd
    let ends = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    switch UInt32(header.type) {
    case NGHTTP2_DATA.rawValue where ends: streams[header.stream_id]?.receivedEnd(trailers: [:])
    case NGHTTP2_HEADERS.rawValue:
      if let stream = streams[header.stream_id] {
        stream.receivedEnd(trailers: block.fields)
      } else {
        begin(header.stream_id, ends: ends)
      }
    default: break
    }
  }

  /// Answers a request on a thread of its own.
  private func begin(_ id: Int32, ends: Bool) {
    guard let head = block.request(on: answering.number, handshake: answering.handshake) else {
      nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_PROTOCOL_ERROR.rawValue)
      return
    }
    let stream = HTTP2Stream(id, link, isTunnel: block.isTunnel)
    if ends { stream.receivedEnd(trailers: [:]) }
    opened(stream)
    let isTooLarge = block.isTooLarge
    let isStarted = SystemCalls.startThread { [answering] in
      StreamAnswer(stream: stream, answering: answering).run(head, isTooLarge: isTooLarge)
    }
    if !isStarted { nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_REFUSED_STREAM.rawValue) }
  }
}

// MARK: - Sent

extension HTTP2Connection {
  private func readBody(of id: Int32, into room: UnsafeMutableRawBufferPointer, _ flags: inout UInt32) -> Int {
    guard let stream = streams[id] else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    switch stream.takeData(into: room) {
    case .bytes(let count): return count
    case .later: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .last(let count, let trailers):
      flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
      guard !trailers.isEmpty else { return count }
      flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      var lines = HTTP2Lines()
      lines.append(trailers)
      lines.withUnsafe { _ = nghttp2_submit_trailer(session, id, $0, $1) }
      return count
    }
  }

  /// Stops a request whose response is complete: the rest of its body is not needed (RFC 9113 §8.1). A tunnel has no
  /// such rest.
  private func sent(_ header: nghttp2_frame_hd) {
    let kind = UInt32(header.type)
    guard kind == NGHTTP2_HEADERS.rawValue || kind == NGHTTP2_DATA.rawValue,
      UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0, let stream = streams[header.stream_id],
      !stream.isTunnel, !stream.hasInputEnded
    else { return }
    nghttp2_submit_rst_stream(session, 0, header.stream_id, NGHTTP2_NO_ERROR.rawValue)
  }
}
#endif
