@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) @_spi(Transports) public import MartletSemantics
@_spi(Toolkit) @_spi(Transports) public import MartletWebSocket

/// The server's side of a WebSocket of a ``LoopbackServer``: see ``Reply/webSocket(subprotocol:_:)``. It is confined to
/// the connection's thread.
///
/// It is a plain peer, which answers pings and a closing client by itself. Faults are frames and bytes that a test
/// sends with ``sendFrame(_:_:isFinal:isCompressed:)`` and ``send(bytes:)``.
public final class LoopbackWebSocket {
  /// A frame that the client sent, without its mask.
  public struct Frame: Sendable, Hashable, CustomReflectable {
    /// The opcode (RFC 6455 §5.2).
    public var opcode: UInt8
    /// The payload.
    public var payload: Data
    /// Whether it is the last frame of its message.
    public var isFinal: Bool
    /// Whether the first reserved bit is set, as it is for a compressed message (RFC 7692 §6).
    public var isCompressed: Bool
    /// The masking key.
    public var mask: UInt32

    /// A mirror without the bytes of the payload.
    public var customMirror: Mirror {
      Mirror(
        self,
        children: [
          "opcode": opcode, "payload": "\(payload)", "isFinal": isFinal, "isCompressed": isCompressed, "mask": mask,
        ])
    }
  }

  private let buffer: WireBuffer
  private let stream: any ServerStream
  private var hasSentClose = false
  private(set) var ending = Reply.Ending.closeSilently
  /// The code and the reason of the client's Close frame; nil before it.
  public private(set) var clientClose: (code: WebSocket.CloseCode, reason: String)?

  init(_ buffer: WireBuffer, _ stream: any ServerStream) { (self.buffer, self.stream) = (buffer, stream) }

  // MARK: - Messages

  /// Sends a message in one frame.
  ///
  /// - Throws: an error when the client is gone. A responder should rethrow it, as all errors of this type.
  public func send(_ message: WebSocket.Message) throws {
    switch message {
    case .string(let text): try sendFrame(1, Data(text.utf8))
    case .data(let data): try sendFrame(2, data)
    }
  }

  /// Blocks until the client has sent a message. Answers pings, and a Close frame with its own code.
  ///
  /// - Returns: the message; nil after a Close frame and at the end of the connection.
  public func receive() throws -> WebSocket.Message? {
    var first: Frame?
    var bytes = Data()
    while let frame = try receiveFrame() {
      switch frame.opcode {
      case 8:
        try closeBack(frame.payload)
        return nil
      case 9: try sendFrame(10, frame.payload)
      case 10: break
      default:
        first = first ?? frame
        bytes.append(frame.payload)
        guard frame.isFinal else { continue }
        return first?.opcode == 1 ? .string(String(decoding: bytes, as: UTF8.self)) : .data(bytes)
      }
    }
    return nil
  }

  private func closeBack(_ payload: Data) throws {
    let frame = (try? payload.withUnsafeBytes { try CloseFrame(payload: $0) }) ?? CloseFrame(code: nil)
    let code = frame.code.map { WebSocket.CloseCode(rawValue: $0) } ?? .noStatusReceived
    clientClose = (code, frame.reason)
    if !hasSentClose { try sendFrame(8, payload) }
  }

  /// Sends a Close frame, and blocks until the client has answered it. The connection is closed when the closure of
  /// ``Reply/webSocket(subprotocol:_:)`` returns.
  public func close(_ code: WebSocket.CloseCode = .normalClosure, reason: String = "") throws {
    let sent = code == .noStatusReceived ? nil : code.rawValue
    try sendFrame(8, CloseFrame(code: sent, reason: reason).payload)
    while clientClose == nil, try receive() != nil {}
  }

  // MARK: - Frames and bytes

  /// Sends a frame of any kind, even one that the protocol does not allow.
  ///
  /// - Parameters:
  ///   - opcode: the opcode, at most 15.
  ///   - payload: the payload.
  ///   - isFinal: whether it is the last frame of its message.
  ///   - isCompressed: whether the first reserved bit is set.
  public func sendFrame(
    _ opcode: UInt8, _ payload: Data = Data(), isFinal: Bool = true, isCompressed: Bool = false
  ) throws {
    try send(bytes: Self.frame(opcode, payload, isFinal: isFinal, isCompressed: isCompressed))
    if opcode == 8 { hasSentClose = true }
  }

  /// Returns the bytes of a frame: see ``sendFrame(_:_:isFinal:isCompressed:)``.
  public static func frame(
    _ opcode: UInt8, _ payload: Data = Data(), isFinal: Bool = true, isCompressed: Bool = false
  ) -> Data {
    let header = WebSocketFrameHeader(.binary, length: payload.count, isFinal: isFinal, isCompressed: isCompressed)
    var frame = payload.withUnsafeBytes { header.frame($0) }
    frame[0] = frame[0] & 0xF0 | opcode & 15
    return frame
  }

  /// Sends bytes as they are: half a frame, or what is no frame.
  public func send(bytes: Data) throws { try stream.send(bytes) }

  /// Blocks until the client has sent a frame, of whatever kind. nil at the end of the connection.
  public func receiveFrame() throws -> Frame? {
    guard let start = try bytes(2), let header = try header(after: start) else { return nil }
    guard var payload = try bytes(header.length) else { return nil }
    payload.withUnsafeMutableBytes {
      WebSocketMask.apply(header.mask ?? 0, to: UnsafeRawBufferPointer($0), into: $0)
    }
    return Frame(
      opcode: header.opcode.rawValue, payload: payload, isFinal: header.isFinal, isCompressed: header.isCompressed,
      mask: header.mask ?? 0)
  }

  private func header(after start: Data) throws -> WebSocketFrameHeader? {
    var head = start
    while true {
      let found = try head.withUnsafeBytes {
        try WebSocketFrameHeader.read($0, from: .client, allowsCompression: true)
      }
      if let found { return found.header }
      guard let more = try bytes(1) else { return nil }
      head += more
    }
  }

  /// Receives this many bytes; nil if the connection ends before.
  private func bytes(_ count: Int) throws -> Data? {
    var data = Data()
    while data.count < count {
      guard let more = try buffer.data(upTo: Int64(count - data.count)) else { return nil }
      data += more
    }
    return data
  }

  // MARK: - Control

  /// Blocks until the gate opens.
  ///
  /// - Throws: an error when the client disconnects or the server is stopped in the meantime.
  public func wait(for gate: Gate) throws { try stream.wait(for: gate) }

  /// Resets the connection when the closure returns.
  public func reset() { ending = .reset }
}

extension Reply {
  /// Opens a WebSocket (RFC 6455 §4.2), and serves it with a closure on the connection's thread. The connection is
  /// closed when the closure returns.
  ///
  /// ```swift
  /// let server = try LoopbackServer { _ in
  ///   .webSocket { socket in while let message = try socket.receive() { try socket.send(message) } }
  /// }
  /// let socket = try await session.webSocket(for: HTTPRequest(.get, server.url("/")))
  /// ```
  ///
  /// The fields of the handshake are added, unless the reply has them: a test may set a wrong one. Over HTTP/2, the
  /// request is an extended CONNECT (RFC 8441), and the reply has the status 200.
  ///
  /// - Parameters:
  ///   - subprotocol: the subprotocol that the server chooses; none by default.
  ///   - serve: serves the WebSocket. An error that it throws closes the connection.
  public static func webSocket(
    subprotocol: String? = nil, _ serve: @escaping @Sendable (LoopbackWebSocket) throws -> Void
  ) -> Reply {
    var reply = Reply(status: .switchingProtocols)
    reply.fields[.secWebSocketProtocol] = subprotocol
    reply.upgrade = serve
    return reply
  }

  /// Returns the reply with the fields that answer a handshake.
  func opening(_ request: ReceivedRequest) -> Reply {
    let key = request.fields[.secWebSocketKey] ?? ""
    let answer: [(FieldName, String?)] = [
      (.upgrade, "websocket"), (.connection, "Upgrade"),
      (.secWebSocketAccept, WebSocketHandshake.accept(key, sha1: MessageDigest.sha1)),
    ]
    var reply = self
    for (name, value) in answer where !reply.fields.contains(name) { reply.fields[name] = value }
    return reply
  }
}
