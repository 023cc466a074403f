#if os(Linux)
import CNGHTTP2
import MartletSemantics
@testable import MartletSockets

/// nghttp2's server side, in memory: the received requests, and responses as the test determines.
final class HTTP2Server {
  struct Request {
    var fields: [(name: String, value: String)] = []
    /// The names of the fields that must never be indexed.
    var secrets: [String] = []
    var body: [UInt8] = []
    var dataFrames = 0
    var trailers: [String] = []
    var isWhole = false
    var resetCode: UInt32?

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
  }

  private(set) var requests: [Int32: Request] = [:]
  /// The streams in the order of their requests.
  private(set) var order: [Int32] = []
  /// Called for a request when it is complete.
  var onRequest: ((Int32) -> Void)?
  private var bodies: [Int32: ArraySlice<UInt8>] = [:]
  private var trailers: [Int32: HTTP2Fields] = [:]
  private var session: OpaquePointer?

  init(maxStreams: Int? = nil, window: Int? = nil) {
    var callbacks: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameCount, value, valueCount, flags, me in
      guard let frame else { return 0 }
      let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
      let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
      HTTP2Server.of(me)?.received(name, value, flags, frame.pointee)
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, me in
      let bytes = UnsafeBufferPointer(start: bytes, count: count)
      HTTP2Server.of(me)?.requests[id]?.body.append(contentsOf: bytes)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
      guard let frame else { return 0 }
      HTTP2Server.of(me)?.received(frame.pointee)
      return 0
    }
    let context = Unmanaged.passUnretained(self).toOpaque()
    nghttp2_session_server_new(&session, callbacks, context)
    nghttp2_session_callbacks_del(callbacks)
    var entries: [nghttp2_settings_entry] = []
    if let maxStreams {
      entries.append(
        .init(settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(maxStreams)))
    }
    if let window {
      entries.append(.init(settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(window)))
    }
    nghttp2_submit_settings(session, 0, entries, entries.count)
  }

  deinit { nghttp2_session_del(session) }

  private static func of(_ context: UnsafeMutableRawPointer?) -> HTTP2Server? {
    context.map { Unmanaged<HTTP2Server>.fromOpaque($0).takeUnretainedValue() }
  }

  private func received(_ name: String, _ value: String, _ flags: UInt8, _ frame: nghttp2_frame) {
    let id = frame.hd.stream_id
    if frame.headers.cat != NGHTTP2_HCAT_REQUEST {
      requests[id]?.trailers.append("\(name): \(value)")
      return
    }
    if requests[id] == nil { order.append(id) }
    requests[id, default: Request()].fields.append((name, value))
    if UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0 { requests[id]?.secrets.append(name) }
  }

  private func received(_ frame: nghttp2_frame) {
    let id = frame.hd.stream_id
    switch UInt32(frame.hd.type) {
    case NGHTTP2_RST_STREAM.rawValue: requests[id]?.resetCode = frame.rst_stream.error_code
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      if UInt32(frame.hd.type) == NGHTTP2_DATA.rawValue { requests[id]?.dataFrames += 1 }
      guard UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return }
      requests[id]?.isWhole = true
      onRequest?(id)
    default: break
    }
  }

  func inform(_ id: Int32, _ status: Int, _ fields: [(String, String)] = []) {
    lines(status, fields).withNameValues { _ = nghttp2_submit_headers(session, 0, id, nil, $0, $1, nil) }
  }

  /// Responds with a body, and with trailers if there are any.
  func respond(
    _ id: Int32, _ status: Int = 200, _ fields: [(String, String)] = [], body: [UInt8]? = nil,
    trailers: [(String, String)] = []
  ) {
    guard let body else {
      lines(status, fields).withNameValues { _ = nghttp2_submit_response(session, id, $0, $1, nil) }
      return
    }
    bodies[id] = body[...]
    if !trailers.isEmpty {
      var lines = HTTP2Fields()
      for (name, value) in trailers { lines.append(name, value) }
      self.trailers[id] = lines
    }
    var provider = nghttp2_data_provider(
      source: nghttp2_data_source(fd: 0),
      read_callback: { _, id, room, count, flags, _, me in
        guard let flags else { return 0 }
        let room = UnsafeMutableRawBufferPointer(start: room, count: count)
        return HTTP2Server.of(me)?.read(id, into: room, &flags.pointee) ?? 0
      })
    lines(status, fields).withNameValues { _ = nghttp2_submit_response(session, id, $0, $1, &provider) }
  }

  private func read(_ id: Int32, into room: UnsafeMutableRawBufferPointer, _ flags: inout UInt32) -> Int {
    guard let rest = bodies[id] else { return 0 }
    let piece = rest.prefix(room.count)
    room.copyBytes(from: piece)
    bodies[id] = rest.dropFirst(piece.count)
    guard piece.count == rest.count else { return piece.count }
    flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
    if let lines = trailers[id] {
      flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      lines.withNameValues { _ = nghttp2_submit_trailer(session, id, $0, $1) }
    }
    return piece.count
  }

  /// The number of bytes of a response's body that are not sent yet.
  func unsentCount(_ id: Int32) -> Int { bodies[id]?.count ?? 0 }

  func reset(_ id: Int32, _ code: HTTP2ErrorCode) { nghttp2_submit_rst_stream(session, 0, id, code.rawValue) }

  func goAway(_ last: Int32, _ code: HTTP2ErrorCode = .noError) {
    nghttp2_submit_goaway(session, 0, last, code.rawValue, nil, 0)
  }

  private func lines(_ status: Int, _ fields: [(String, String)]) -> HTTP2Fields {
    var lines = HTTP2Fields()
    lines.append(":status", "\(status)")
    for (name, value) in fields { lines.append(name, value) }
    return lines
  }

  /// Passes bytes. Returns nghttp2's code if it is not a success.
  @discardableResult
  func receive(_ bytes: [UInt8]) -> Int {
    let count = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
    return count == bytes.count ? 0 : count
  }

  /// Returns all bytes that are ready to be sent.
  func pull() -> [UInt8] {
    var all: [UInt8] = []
    var bytes: UnsafePointer<UInt8>?
    while case let count = nghttp2_session_mem_send(session, &bytes), count > 0 {
      all += UnsafeBufferPointer(start: bytes, count: count)
    }
    return all
  }
}

extension HTTP2Client {
  /// Moves bytes between client and server until neither has any.
  func talk(to server: HTTP2Server, pieces size: Int = .max) {
    while true {
      pull()
      let request = takeOutput()
      server.receive(request)
      let response = server.pull()
      receive(response, pieces: size)
      if request.isEmpty, response.isEmpty { return }
    }
  }
}
#endif
