#if os(Linux)
import MartletSemantics

/// Answers the request of a stream of HTTP/2, on the stream's thread.
struct StreamAnswer: Sendable {
  let stream: HTTP2Stream
  let answering: Answering

  func run(_ head: ReceivedRequest, isTooLarge: Bool) {
    do throws(WireError) {
      do throws(WireError) {
        if isTooLarge { throw WireError.refused(.requestHeaderFieldsTooLarge, "the head is too large") }
        try answer(head)
      } catch {
        guard case .refused(let status, let reason) = error else { throw error }
        SystemCalls.report("LoopbackServer answered \(status.code): \(reason)")
        _ = try StreamWriter(stream: stream).write(.text(reason + "\n", status: status), to: head)
      }
    } catch {}  // The stream or its connection has ended.
  }

  private func answer(_ head: ReceivedRequest) throws(WireError) {
    let body = StreamBody(of: head, from: stream, within: answering.settings.limits.bodyTime)
    try answering.withReply(to: head, body: body, over: stream) { reply, request throws(WireError) in
      if let serve = reply.upgrade, stream.isTunnel { return try upgrade(reply, to: request, serve) }
      let ending = try StreamWriter(stream: stream).write(reply, to: request)
      if ending != .keepAlive { stream.endConnection(ending) }
    }
  }

  /// Opens a WebSocket (RFC 8441 §5), and serves it until the closure returns.
  private func upgrade(
    _ reply: Reply, to request: ReceivedRequest, _ serve: (LoopbackWebSocket) throws -> Void
  ) throws(WireError) {
    var head = reply.head
    head.status = .ok
    try stream.put(.head(head, isLast: false))
    let webSocket = LoopbackWebSocket(WireBuffer(stream), stream)
    try? serve(webSocket)  // An error ends the stream.
    if webSocket.ending == .reset { return try stream.put(.fault(.reset(8))) }
    stream.closeGently()
  }
}

/// The body of a request on a stream.
final class StreamBody: ReceivedBody {
  private let stream: HTTP2Stream
  private let deadline: ContinuousClock.Instant?
  /// Whether the client awaits 100 Continue before it sends the body.
  private var awaitsContinue: Bool

  init(of request: ReceivedRequest, from stream: HTTP2Stream, within time: Duration?) {
    self.stream = stream
    deadline = time.map { .now + $0 }
    awaitsContinue = request.expectsContinue && !stream.hasInputEnded
  }

  func next() throws(WireError) -> Data? {
    // A tunnel has no body: its bytes are those of the WebSocket.
    guard !stream.isTunnel else { return nil }
    if awaitsContinue {
      awaitsContinue = false
      try stream.put(.interim(ResponseHead(status: .continue)))
    }
    if let deadline, !stream.waitForBytes(until: deadline) {
      throw .refused(.requestTimeout, "the request was not complete in time")
    }
    return try stream.next()
  }

  var trailers: HTTPFields { stream.trailers }
}

/// Sends a reply over a stream of HTTP/2 (RFC 9113 §8).
struct StreamWriter {
  let stream: HTTP2Stream

  /// Sends a reply, and returns what to do with the connection.
  func write(_ reply: Reply, to request: ReceivedRequest) throws(WireError) -> Reply.Ending {
    for head in reply.interim { try stream.put(.interim(head)) }
    if let hold = reply.hold { try stream.wait(for: hold) }
    if reply.delay > .zero { try stream.pause(for: reply.delay) }
    if case .raw = reply.content {
      var output = StreamOutput(stream, pieceLimit: .max, isRaw: true)
      return try output.write(reply, promised: nil) ?? reply.ending
    }
    var head = reply.head
    let hasLength = reply.framing == .automatic && reply.trailers.isEmpty && !head.fields.contains(.transferEncoding)
    if hasLength, reply.allowsBody, let length = reply.content.length, !head.fields.contains(.contentLength) {
      head.fields[.contentLength] = "\(length)"
    }
    let hasBody = request.method != .head && reply.allowsBody
    let isEmpty = reply.content.length == 0 && reply.trailers.isEmpty && reply.pacing.isEmpty
    try stream.put(.head(head, isLast: !hasBody || isEmpty))
    guard hasBody, !isEmpty else { return reply.ending }
    var output = StreamOutput(stream, pieceLimit: Int64(reply.chunks.size), isRaw: false)
    return try output.write(reply, promised: nil) ?? reply.ending
  }
}

/// Writes a reply's body to a stream: each piece is a frame, or several if it is too long for one.
private struct StreamOutput: ReplyOutput {
  private(set) var count: Int64 = 0
  let room: Int64
  let stream: any ServerStream
  private let target: HTTP2Stream
  private let isRaw: Bool

  init(_ stream: HTTP2Stream, pieceLimit: Int64, isRaw: Bool) {
    (self.stream, target, room, self.isRaw) = (stream, stream, pieceLimit, isRaw)
  }

  mutating func write(_ piece: Data) throws(WireError) {
    count += Int64(piece.count)
    try target.put(isRaw ? .raw(piece) : .data(piece))
  }

  mutating func flush() {}

  mutating func end(trailers: HTTPFields) throws(WireError) { if !isRaw { try target.put(.end(trailers)) } }

  mutating func send(_ fault: HTTP2Fault) throws(WireError) -> Reply.Ending? {
    try target.put(.fault(fault))
    // Nothing follows the end of the stream, and the raw reply without a byte is not one that ends the connection.
    if case .reset = fault { throw .peerGone }
    if case .goAway(_, false) = fault { throw .peerGone }
    return nil
  }
}
#endif
