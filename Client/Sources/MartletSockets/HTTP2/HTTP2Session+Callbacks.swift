#if os(Linux)
import CNGHTTP2
import MartletEngine
import MartletSemantics

// nghttp2 calls these functions within `nghttp2_session_mem_recv` and `nghttp2_session_mem_send`, that is, within
// `receive` and `pull`. None of them passes on an error: a failed callback would end the connection.

extension HTTP2Session {
  static func setCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, context in
      HTTP2Session.of(context) { session in header.map { session.began($0.pointee) } ?? 0 }
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      HTTP2Session.of(context) { session in frame.map { session.beganBlock(of: $0.pointee.hd.stream_id) } ?? 0 }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, frame, name, nameCount, value, valueCount, _, me in
      HTTP2Session.of(me) { session in
        guard let frame else { return 0 }
        return session.receivedField(
          UnsafeBufferPointer(start: name, count: nameCount), UnsafeBufferPointer(start: value, count: valueCount),
          of: frame.pointee.hd.stream_id)
      }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
      HTTP2Session.of(context) { $0.receivedData(UnsafeRawBufferPointer(start: bytes, count: count), of: id) }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      HTTP2Session.of(context) { session in frame.map { session.received($0) } ?? 0 }
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, context in
      HTTP2Session.of(context) { session in frame.map { session.receivedInvalid($0, code) } ?? 0 }
    }
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      HTTP2Session.of(context) { session in frame.map { session.sent($0) } ?? 0 }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
      HTTP2Session.of(context) { $0.closed(id, HTTP2ErrorCode(rawValue: code)) }
    }
  }

  /// Reads the body of a stream's request.
  static let bodyProvider = nghttp2_data_provider(
    source: nghttp2_data_source(fd: 0),
    read_callback: { _, id, room, count, flags, _, context in
      HTTP2Session.of(context) { session in
        guard let flags else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        return session.readBody(of: id, into: UnsafeMutableRawBufferPointer(start: room, count: count), &flags.pointee)
      }
    })

  /// Calls the closure with the session that nghttp2's context points to.
  @inline(__always)
  private static func of<Result: BinaryInteger>(
    _ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Result
  ) -> Result {
    guard let context else { return 0 }
    // SAFETY: the context is the session whose method called nghttp2.
    return Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
  }
}

// MARK: - Received

extension HTTP2Session {
  /// Charges a frame to the budget, unless it is part of a response.
  private func began(_ header: nghttp2_frame_hd) -> Int32 {
    let size = header.length + Self.frameHeaderSize
    switch UInt32(header.type) {
    case NGHTTP2_DATA.rawValue where header.length > 0:
      if stream(header.stream_id)?.handler != nil { budget.addForContent(bytes: size) }
      return 0
    case NGHTTP2_HEADERS.rawValue where stream(header.stream_id)?.handler != nil:
      budget.addForContent(bytes: size)
      return 0
    case NGHTTP2_CONTINUATION.rawValue where stream(header.stream_id)?.handler != nil:
      budget.addForContent(bytes: size)
      return pay()
    case NGHTTP2_WINDOW_UPDATE.rawValue: return pay(budget.spendUpdate(bytes: size))
    case NGHTTP2_PING.rawValue: return pay(budget.spendUpdate(bytes: size))
    case NGHTTP2_PUSH_PROMISE.rawValue:
      // nghttp2 refuses it only after the server has acknowledged the setting.
      failAll(with: violation("the server pushes a response, which the client does not allow (RFC 9113 §6.6)"))
      return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    default: return pay()
    }
  }

  private static let frameHeaderSize = 9

  /// Charges a frame without content to the budget. Returns a code for nghttp2: a fatal error if there were too many.
  private func pay() -> Int32 { pay(budget.spend()) }

  private func pay(_ isPaid: Bool) -> Int32 {
    guard !isPaid else { return 0 }
    failAll(with: flood)
    return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
  }

  private func beganBlock(of id: Int32) -> Int32 {
    let stream = stream(id)
    block.begin(room: stream?.handler == nil ? nil : stream.map { $0.headLimit - $0.headerBytes })
    return 0
  }

  /// Takes a field of the block. nghttp2 has checked its name, value and position.
  private func receivedField(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, of id: Int32
  ) -> Int32 {
    guard !block.append(name, value) else { return 0 }
    if let stream = stream(id) {
      let message = "\(peer): the response's heads are larger than \(stream.headLimit) bytes"
      let error = HTTPError(.headTooLarge, message, phase: stream.phase)
      stream.fail(HTTP2Failure(error: error, cause: .invalidResponse))
    }
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
  }

  private func receivedData(_ bytes: UnsafeRawBufferPointer, of id: Int32) -> Int32 {
    giveBackToConnection(bytes.count)
    stream(id)?.handler?.received(body: bytes)
    return 0
  }

  private func received(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let header = frame.pointee.hd
    let ends = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    let isAcknowledgement = UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
    switch UInt32(header.type) {
    case NGHTTP2_DATA.rawValue:
      if ends { ended(header.stream_id, trailers: []) }
      // Padding only.
      if !ends, header.length > 0, header.length == frame.pointee.data.padlen { return pay() }
    case NGHTTP2_HEADERS.rawValue: receivedBlock(of: header.stream_id, ends: ends)
    case NGHTTP2_RST_STREAM.rawValue:
      let code = HTTP2ErrorCode(rawValue: frame.pointee.rst_stream.error_code)
      guard let stream = stream(header.stream_id) else { return 0 }
      stream.fail(HTTP2Failure(resetWith: code, peer: peer, hasHead: stream.hasHead))
    case NGHTTP2_SETTINGS.rawValue where !isAcknowledgement:
      hasSettings = true
      replyCount += 1
      hasNewCapacity = true
    case NGHTTP2_PING.rawValue where !isAcknowledgement: replyCount += 1
    case NGHTTP2_GOAWAY.rawValue: receivedGoAway(frame.pointee.goaway)
    default: break
    }
    return 0
  }

  private func receivedBlock(of id: Int32, ends: Bool) {
    guard let stream = stream(id), let handler = stream.handler else { return }
    let lines = block.lines
    stream.headerBytes += block.size
    guard !stream.isTunnel else { return refuse(stream, "a tunnel has fields (RFC 9113 §8.5)") }
    guard !stream.hasHead else { return ended(id, trailers: lines) }
    let status = block.status
    guard status >= 100 else { return refuse(stream, "the status code is not a number from 100 to 999") }
    if status < 200 {
      stream.informationalCount += 1
      guard stream.informationalCount <= ResponseHeadReader.informationalLimit else {
        let count = ResponseHeadReader.informationalLimit
        return refuse(stream, "the server sent more than \(count) informational responses")
      }
      return handler.received(informational: lines, status: status)
    }
    stream.hasHead = true
    handler.received(head: lines, status: status, contentLength: block.contentLength)
    if ends { ended(id, trailers: []) }
  }

  private func ended(_ id: Int32, trailers: [UInt8]) {
    guard let stream = stream(id) else { return }
    if stream.isTunnel, stream.isUploading {
      stream.hasInputEnded = true
      stream.handler?.receivedEnd()
      return
    }
    // RFC 9113 §8.1: the rest of the request's body is not needed.
    if stream.isUploading { submitReset(id, .noError) }
    stream.end(trailers: trailers)
  }

  private func refuse(_ stream: HTTP2Stream, _ reason: String) {
    submitReset(stream.id, .protocolError)
    stream.fail(.violation(reason, peer: peer, hasHead: stream.hasHead))
  }

  private func receivedGoAway(_ frame: nghttp2_goaway) {
    let goAway = GoAway(lastStream: frame.last_stream_id, code: HTTP2ErrorCode(rawValue: frame.error_code))
    self.goAway = goAway
    let refused = streams.values.filter { $0.id > goAway.lastStream || !$0.isSent }.sorted { $0.id < $1.id }
    for stream in refused {
      stream.fail(.goneAway(goAway, peer: peer, hasHead: stream.hasHead))
      if !stream.isSent { submitReset(stream.id, .cancel) }
    }
    hasNewCapacity = true
  }

  /// Handles a response that nghttp2 found to be malformed and whose stream is reset. Violations of the connection's
  /// protocol are reported here too; the GOAWAY that follows describes them.
  private func receivedInvalid(_ frame: UnsafePointer<nghttp2_frame>, _ code: Int32) -> Int32 {
    guard code == NGHTTP2_ERR_HTTP_HEADER.rawValue || code == NGHTTP2_ERR_HTTP_MESSAGING.rawValue else { return 0 }
    guard let stream = stream(frame.pointee.hd.stream_id) else { return 0 }
    let reason =
      code == NGHTTP2_ERR_HTTP_HEADER.rawValue
      ? "a field of the response is invalid (RFC 9113 §8.2)" : "the response is malformed (RFC 9113 §8.1.1)"
    stream.fail(.violation(reason, peer: peer, hasHead: stream.hasHead))
    return 0
  }

  private func closed(_ id: Int32, _ code: HTTP2ErrorCode) -> Int32 {
    guard let stream = streams.take(Int(id)) else { return 0 }
    if code != .noError { budget.addForReset(window: streamWindow) }
    if recent === stream { recent = nil }
    if stream.hasInputEnded, !stream.isUploading { stream.end(trailers: []) }
    // Neither the server nor the owner has reset the streams that remain here.
    stream.fail(
      stream.isSent
        ? .violation(violation(of: stream, code), peer: peer, hasHead: stream.hasHead)
        : .refused("\(peer): the request was not sent"))
    hasNewCapacity = true
    return 0
  }

  /// Returns the reason for which nghttp2 has reset a stream without reporting it.
  private func violation(of stream: HTTP2Stream, _ code: HTTP2ErrorCode) -> String {
    switch code {
    case .protocolError where stream.hasHead:
      "the body does not have the length that Content-Length or the status says (RFC 9113 §8.1.1)"
    case .protocolError: "there is a body without a head (RFC 9113 §8.1)"
    case .flowControlError: "the server sent more than the stream's window allows (RFC 9113 §6.9.1)"
    default: "the stream was reset (\(code))"
    }
  }
}

// MARK: - Sent

extension HTTP2Session {
  private func readBody(of id: Int32, into room: UnsafeMutableRawBufferPointer, _ flags: inout UInt32) -> Int {
    guard let stream = stream(id), let handler = stream.handler else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    switch handler.readBody(into: room) {
    case .bytes(let count): return count > 0 ? count : Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .end(let count):
      flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
      return count
    case .endWithTrailers(let count, let trailers):
      guard submitTrailers(trailers, of: id) else {
        let message = "\(peer): the request's trailers cannot be sent"
        stream.fail(
          HTTP2Failure(error: HTTPError(.invalidRequest, message, phase: .sending), cause: .reset(.internalError)))
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
      }
      flags |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      return count
    case .later: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .failed:
      stream.handler = nil
      return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
  }

  private func sent(_ frame: UnsafePointer<nghttp2_frame>) -> Int32 {
    let header = frame.pointee.hd
    let kind = UInt32(header.type)
    if kind == NGHTTP2_GOAWAY.rawValue {
      sentGoAway(frame.pointee.goaway)
    } else if kind == NGHTTP2_HEADERS.rawValue || kind == NGHTTP2_DATA.rawValue {
      if kind == NGHTTP2_HEADERS.rawValue {
        budget.addForHeadersSent()
      } else {
        let isShort = header.length < 1024
        budget.addForDataSent(header.length, isCutShort: isShort && isWindowUsedUp(of: header.stream_id))
      }
      guard let stream = stream(header.stream_id) else { return 0 }
      stream.isSent = true
      guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
      stream.isUploading = false
      stream.handler?.sentRequest()
    }
    return 0
  }

  /// Handles the GOAWAY with which nghttp2 reports that the server has violated the connection's protocol.
  private func sentGoAway(_ frame: nghttp2_goaway) {
    let code = HTTP2ErrorCode(rawValue: frame.error_code)
    guard code != .noError else { return }
    guard hasSettings else { return failAll(with: violation("the server does not speak HTTP/2 on this port")) }
    let text = UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len)
    var reason = text.isEmpty ? "\(code)" : "\(code): \(String(decoding: text, as: UTF8.self))"
    if code == .compressionError { reason += ": a head cannot be decoded, or one of its lines is longer than 64 KiB" }
    failAll(with: violation("the server violated HTTP/2 (\(reason))"))
  }
}
#endif
