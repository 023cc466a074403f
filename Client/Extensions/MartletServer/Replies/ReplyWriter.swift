@_spi(Toolkit) import MartletSemantics

/// Sends a reply (RFC 9112 §4, §6, §7).
struct ReplyWriter {
  let socket: ServerSocket

  /// Sends a reply, and returns what to do with the connection.
  ///
  /// - Parameter awaitsContinue: whether the client still awaits 100 Continue. It may or may not send its body then, so
  ///   the connection cannot be reused (RFC 9110 §10.1.1).
  func write(
    _ reply: Reply, to request: ReceivedRequest, awaitsContinue: Bool = false
  ) throws(WireError) -> Reply.Ending {
    for head in reply.interim { try socket.send(bytes(of: head)) }
    if let hold = reply.hold { try socket.wait(for: hold) }
    if reply.delay > .zero { try socket.pause(for: reply.delay) }
    if case .raw = reply.content {
      return try writeBody(of: reply, after: Data(), framing: .length(nil)) ?? reply.ending
    }

    var ending = reply.ending
    if ending == .keepAlive, !request.keepsConnection || awaitsContinue { ending = .close }
    let framing = framing(of: reply, to: request)
    if framing == .untilClose, ending == .keepAlive { ending = .close }
    let head = bytes(of: head(of: reply, framing: framing, ending: ending))
    guard request.method != .head, reply.allowsBody else {
      try socket.send(head)
      return ending
    }
    return try writeBody(of: reply, after: head, framing: framing) ?? ending
  }

  /// How the end of the body is marked.
  private enum Framing: Equatable {
    /// By a length; nil if none is sent.
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
    var head = reply.head
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
    var text = "HTTP/1.1 \(head.status.code) \(head.reason)\r\n"
    for (name, value) in head.fields { text += "\(name.rawName): \(value)\r\n" }
    return Data(FieldOctets.bytes(text + "\r\n"))
  }

  /// Sends the body; returns an ending if it was interrupted, or was not as long as the head said.
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
        // The head is already sent, so an error can no longer become a status.
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

/// Writes a reply's bytes to the socket, the head together with the first piece of the body.
struct ReplyOutput {
  /// The number of bytes of the body that were written.
  private(set) var count: Int64 = 0
  private let socket: ServerSocket
  private let chunks: Chunks?
  private var pending: Data
  /// Up to this size, a copy and one system call are cheaper than two calls.
  private static let joinLimit = 512 << 10

  struct Chunks {
    let size: Int
    let sizeLine: String?
  }

  init(_ socket: ServerSocket, head: Data, chunks: Chunks?) {
    self.socket = socket
    self.chunks = chunks
    pending = head
  }

  /// The maximum size of the next piece.
  var room: Int64 { chunks.map { Int64($0.size) } ?? .max }

  mutating func write(_ piece: Data) throws(WireError) {
    count += Int64(piece.count)
    guard let chunks else { return try send(piece) }
    var chunk = Data(capacity: piece.count + 20)
    chunk.append(contentsOf: ((chunks.sizeLine ?? String(piece.count, radix: 16)) + "\r\n").utf8)
    chunk.append(piece)
    chunk.append(contentsOf: "\r\n".utf8)
    try send(chunk)
  }

  /// Ends the body; a chunked one with the last chunk and the trailers.
  mutating func end(trailers: HTTPFields) throws(WireError) {
    guard chunks != nil else { return try flush() }
    var text = "0\r\n"
    for (name, value) in trailers { text += "\(name.rawName): \(value)\r\n" }
    try send(Data((text + "\r\n").utf8))
  }

  /// Sends the pending bytes.
  mutating func flush() throws(WireError) {
    guard !pending.isEmpty else { return }
    try socket.send(pending)
    pending = Data()
  }

  private mutating func send(_ data: Data) throws(WireError) {
    guard !pending.isEmpty, data.count <= Self.joinLimit else {
      try flush()
      return try socket.send(data)
    }
    pending.append(data)
    try flush()
  }
}

extension Reply {
  /// Whether a response of this status can have a body (RFC 9110 §6.4.1).
  var allowsBody: Bool { !status.isInformational && status != .noContent && status != .notModified }

  /// The sizes of chunks, if the body is chunked.
  var chunks: ReplyOutput.Chunks {
    if case .chunked(let size, let sizeLine) = framing { return .init(size: size, sizeLine: sizeLine) }
    return .init(size: 64 << 10, sizeLine: nil)
  }
}

/// Decides when a body continues, pauses or is interrupted: a value that the writer asks before every piece.
struct Pacing: Sendable {
  var drip: Drip?
  private var marks: [Mark] = []
  private var lastPause: Int64 = 0

  struct Drip: Sendable {
    let count: Int64
    let interval: Duration
  }

  enum Step: Sendable {
    /// Write at most this many bytes.
    case write(Int64)
    /// Wait for the gate; without one, until the connection ends.
    case hold(Gate?)
    /// Wait for this time.
    case pause(Duration)
    /// End the connection.
    case end(Reply.Ending)
  }

  private struct Mark: Sendable {
    let offset: Int64
    let step: Step
  }

  /// Adds a step for after `offset` bytes; steps at the same offset are taken in the order in which they were added.
  mutating func add(_ step: Step, at offset: Int64) {
    let index = marks.firstIndex { $0.offset > offset } ?? marks.endIndex
    marks.insert(Mark(offset: offset, step: step), at: index)
  }

  /// Returns the next step after `offset` bytes of the body.
  mutating func next(at offset: Int64) -> Step {
    if let mark = marks.first, mark.offset <= offset {
      marks.removeFirst()
      return mark.step
    }
    let room = (marks.first?.offset ?? .max) - offset
    guard let drip else { return .write(room) }
    let sincePause = offset - lastPause
    if sincePause >= drip.count {
      lastPause = offset
      return .pause(drip.interval)
    }
    return .write(min(room, drip.count - sincePause))
  }
}
