import MartletSemantics

/// Puts a reply on the wire (RFC 9112 §4, §6, §7).
struct ReplyWriter {
  let socket: Socket

  /// Writes a reply and returns what is to become of the connection.
  ///
  /// - Parameter isBodyUnasked: whether the client still waits for 100 Continue. Nobody knows whether its body will
  ///   come then, so the connection cannot go on.
  func write(
    _ reply: Reply, to request: ReceivedRequest, isBodyUnasked: Bool = false
  ) throws(WireError) -> Reply.Ending {
    for head in reply.interim { try socket.send(bytes(of: head)) }
    if let hold = reply.hold { try socket.wait(for: hold) }
    if reply.delay > .zero { try socket.pause(for: reply.delay) }
    if case .raw = reply.content {
      return try writeBody(of: reply, after: Data(), framing: .length(nil)) ?? reply.ending
    }

    var ending = reply.ending
    if ending == .keepAlive, !request.keepsConnection || isBodyUnasked { ending = .close }
    let framing = framing(of: reply, to: request)
    if framing == .untilClose, ending == .keepAlive { ending = .close }
    let head = bytes(of: head(of: reply, framing: framing, ending: ending))
    guard request.method != .head, reply.allowsBody else {
      try socket.send(head)
      return ending
    }
    return try writeBody(of: reply, after: head, framing: framing) ?? ending
  }

  /// How the end of a body is told on the wire.
  private enum Framing: Equatable {
    /// By a length; nil promises nothing.
    case length(Int64?)
    case chunked
    case untilClose
  }

  private func framing(of reply: Reply, to request: ReceivedRequest) -> Framing {
    let isChunked = reply.fields.contains(.transferEncoding) || !reply.trailers.isEmpty
    switch reply.framing {
    case .untilClose: return .untilClose
    case .chunked: return .chunked
    case .automatic:
      if isChunked { return .chunked }
      if let promised = reply.fields[values: .contentLength].first { return .length(Int64(promised)) }
      if let length = reply.content.length { return .length(length) }
      return request.version == .http1_1 ? .chunked : .untilClose
    }
  }

  private func head(of reply: Reply, framing: Framing, ending: Reply.Ending) -> ResponseHead {
    var head = ResponseHead(status: reply.status, fields: reply.fields)
    switch framing {
    case .chunked where reply.allowsBody && !head.fields.contains(.transferEncoding):
      head.fields[.transferEncoding] = "chunked"
    case .length(let length?) where reply.allowsBody && !head.fields.contains(.contentLength):
      head.fields[.contentLength] = "\(length)"
    default: break
    }
    if ending == .close, !head.fields.contains(.connection) { head.fields[.connection] = "close" }
    return head
  }

  private func bytes(of head: ResponseHead) -> Data {
    var text = "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n"
    for (name, value) in head.fields { text += "\(name.rawName): \(value)\r\n" }
    return Data((text + "\r\n").utf8)
  }

  /// Writes the body; returns an ending if it broke off, or was not as long as the head promised.
  private func writeBody(
    of reply: Reply, after head: Data, framing: Framing
  ) throws(WireError) -> Reply.Ending? {
    var output = ReplyOutput(socket, head: head, chunks: framing == .chunked ? reply.chunks : nil)
    var pieces = ReplyPieces(reply.content)
    var pacing = reply.pacing
    while true {
      switch pacing.next(at: output.count) {
      case .hold(let gate):
        try output.flush()
        try socket.wait(for: gate)
      case .pause(let interval):
        try output.flush()
        try socket.pause(for: interval)
      case .end(let ending):
        try output.flush()
        return ending
      case .write(let room):
        let limit = min(room, output.room)
        // Too late for an error status: a body that cannot be made breaks off.
        guard let piece = try? pieces.next(upTo: limit) else { return .closeSilently }
        if piece.isEmpty {
          try output.end(trailers: reply.trailers)
          if case .length(let promised?) = framing, promised != output.count { return .closeSilently }
          return nil
        }
        try output.write(piece)
      }
    }
  }
}
