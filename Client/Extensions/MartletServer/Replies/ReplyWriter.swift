@_spi(Toolkit) import MartletSemantics

/// Sends a reply (RFC 9112 §4, §6, §7).
struct ReplyWriter {
  let stream: any ServerStream

  /// Sends a reply, and returns what to do with the connection.
  ///
  /// - Parameter awaitsContinue: whether the client still awaits 100 Continue. It may or may not send its body then, so
  ///   the connection cannot be reused (RFC 9110 §10.1.1).
  func write(
    _ reply: Reply, to request: ReceivedRequest, awaitsContinue: Bool = false
  ) throws(WireError) -> Reply.Ending {
    for head in reply.interim { try stream.send(bytes(of: head)) }
    if let hold = reply.hold { try stream.wait(for: hold) }
    if reply.delay > .zero { try stream.pause(for: reply.delay) }
    if case .raw = reply.content {
      var output = HTTP1Output(stream, head: Data(), chunks: nil)
      return try output.write(reply, promised: nil) ?? reply.ending
    }

    var ending = reply.ending
    if ending == .keepAlive, !request.keepsConnection || awaitsContinue { ending = .close }
    let framing = framing(of: reply, to: request)
    if framing == .untilClose, ending == .keepAlive { ending = .close }
    let head = bytes(of: head(of: reply, framing: framing, ending: ending))
    guard request.method != .head, reply.allowsBody else {
      try stream.send(head)
      return ending
    }
    var output = HTTP1Output(stream, head: head, chunks: framing == .chunked ? reply.chunks : nil)
    let promised: Int64? = if case .length(let length) = framing { length } else { nil }
    return try output.write(reply, promised: promised) ?? ending
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
}

/// Where the body of a reply goes.
protocol ReplyOutput {
  /// The number of bytes of the body that were written.
  var count: Int64 { get }
  /// The maximum size of the next piece.
  var room: Int64 { get }
  var stream: any ServerStream { get }

  mutating func write(_ piece: Data) throws(WireError)
  /// Sends the pending bytes.
  mutating func flush() throws(WireError)
  mutating func end(trailers: HTTPFields) throws(WireError)
  /// Sends a fault of HTTP/2; returns an ending if that interrupts the body.
  mutating func send(_ fault: HTTP2Fault) throws(WireError) -> Reply.Ending?
}

extension ReplyOutput {
  /// Sends the body; returns an ending if it was interrupted, or was not as long as the head promised.
  mutating func write(_ reply: Reply, promised: Int64?) throws(WireError) -> Reply.Ending? {
    var pieces = ReplyPieces(reply.content)
    var pacing = reply.pacing
    while true {
      switch pacing.next(at: count) {
      case .hold(let gate):
        try flush()
        try stream.wait(for: gate)
      case .pause(let interval):
        try flush()
        try stream.pause(for: interval)
      case .fault(let fault):
        try flush()
        if let ending = try send(fault) { return ending }
      case .end(let ending):
        try flush()
        return ending
      case .write(let space):
        // The head is already sent, so an error can no longer become a status.
        guard let piece = try? pieces.next(upTo: min(space, room)) else { return .closeSilently }
        if piece.isEmpty {
          try end(trailers: reply.trailers)
          if let promised, promised != count { return .closeSilently }
          return nil
        }
        try write(piece)
      }
    }
  }
}

/// Writes a reply's bytes to a connection of HTTP/1.1, the head together with the first piece of the body.
private struct HTTP1Output: ReplyOutput {
  private(set) var count: Int64 = 0
  let stream: any ServerStream
  private let chunks: ReplyChunks?
  private var pending: Data
  /// Up to this size, a copy and one system call are cheaper than two calls.
  private static let joinLimit = 512 << 10

  init(_ stream: any ServerStream, head: Data, chunks: ReplyChunks?) {
    self.stream = stream
    self.chunks = chunks
    pending = head
  }

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

  mutating func flush() throws(WireError) {
    guard !pending.isEmpty else { return }
    try stream.send(pending)
    pending = Data()
  }

  func send(_ fault: HTTP2Fault) -> Reply.Ending? { fault.endingOfConnection }

  private mutating func send(_ data: Data) throws(WireError) {
    guard !pending.isEmpty, data.count <= Self.joinLimit else {
      try flush()
      return try stream.send(data)
    }
    pending.append(data)
    try flush()
  }
}

/// The sizes of chunks.
struct ReplyChunks {
  let size: Int
  let sizeLine: String?
}

extension Reply {
  /// Whether a response of this status can have a body (RFC 9110 §6.4.1).
  var allowsBody: Bool { !status.isInformational && status != .noContent && status != .notModified }

  /// The sizes of chunks, if the body is chunked.
  var chunks: ReplyChunks {
    if case .chunked(let size, let sizeLine) = framing { return ReplyChunks(size: size, sizeLine: sizeLine) }
    return ReplyChunks(size: 64 << 10, sizeLine: nil)
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
    /// Send a fault of HTTP/2.
    case fault(HTTP2Fault)
    /// End the connection.
    case end(Reply.Ending)
  }

  /// Whether the body is sent as fast as the client takes it, to its end.
  var isEmpty: Bool { drip == nil && marks.isEmpty }

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
