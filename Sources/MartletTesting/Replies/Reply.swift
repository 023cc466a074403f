public import MartletSemantics

/// What a ``LoopbackServer`` answers: a response, and how it misbehaves on the way.
///
/// Start with one of the short forms of ``Answer`` (`.text`, `.json`, `.data`, `.status`, `.redirect`) or with
/// ``file(_:type:)``, ``generated(length:type:_:)``, ``repeating(_:length:)`` or `raw`, and go on from there:
///
/// ```swift
/// let cookies = Reply.text("hello").with(.setCookie, "a=1").with(.setCookie, "b=2")
/// let film = Reply.repeating(Data("0123456789".utf8), length: 300 << 20).truncated(after: 1 << 20)
/// let slow = Reply.text("hello").chunked(size: 2).with(trailer: "X-Sum", "42").dripped(1, every: .milliseconds(5))
/// ```
///
/// The server adds only what frames the message: `Content-Length` or `Transfer-Encoding`, and `Connection: close`
/// before it closes. A `Content-Length` in ``fields`` is sent as it is, be it a lie. Positions in the body count its
/// own bytes, without the framing of chunks.
public struct Reply: Answer {
  /// The status.
  public var status: HTTPStatus
  /// The fields, sent in this order, before those that frame the message.
  public var fields: HTTPFields
  /// The trailer fields; with any, the body is chunked.
  public var trailers: HTTPFields = [:]
  /// What happens to the connection afterwards.
  public var ending: Ending = .keepAlive
  var content: ReplyContent
  var framing: Framing = .automatic
  var interim: [ResponseHead] = []
  var hold: Gate?
  var delay = Duration.zero
  var pacing = Pacing()

  /// Makes a reply whose body is in memory.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], content: Data = Data()) {
    self.init(status: status, fields: fields, .bytes(content))
  }

  init(status: HTTPStatus = .ok, fields: HTTPFields = [:], _ content: ReplyContent) {
    self.status = status
    self.fields = fields
    self.content = content
  }

  /// What happens to the connection when a reply is out. A client that asked for it to be closed always gets that.
  public enum Ending: Sendable, Hashable {
    /// It waits for the next request.
    case keepAlive
    /// It is closed, as a `Connection: close` field announces.
    case close
    /// It is closed unannounced: what a client may keep in its pool is stale.
    case closeSilently
    /// It is reset (RST).
    case reset
  }

  enum Framing: Sendable, Hashable {
    /// Content-Length where the length is known and there are no trailers, chunks otherwise.
    case automatic
    /// Chunks of that many bytes; the text, where there is one, stands in place of every chunk's size.
    case chunked(size: Int, sizeLine: String?)
    /// The connection's end ends the body.
    case untilClose
  }
}

extension Reply {
  /// A file, read while it is sent.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - type: the media type; by default that of the name's extension.
  /// - Throws: ``LoopbackServerError`` if the file cannot be opened: thrown by a responder, it becomes a 500.
  public static func file(_ url: URL, type: String? = nil) throws(LoopbackServerError) -> Reply {
    let file = try OpenFile(path: url.path)
    let type = type ?? MediaTypes.type(ofName: url.lastPathComponent)
    return Reply(fields: [.contentType: type], .file(file, 0..<file.size))
  }

  /// A body made while it is sent.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; without one the body goes out in chunks.
  ///   - type: the media type.
  ///   - next: the bytes from this position on, some or many; nil ends the body. It runs on the connection's thread.
  public static func generated(
    length: Int64? = nil, type: String = "application/octet-stream",
    _ next: @escaping @Sendable (_ offset: Int64) throws -> Data?
  ) -> Reply {
    Reply(fields: [.contentType: type], .generated(length: length, next))
  }

  /// A large body without memory: the pattern over and over, cut at the length. An empty pattern makes an empty body.
  public static func repeating(_ pattern: Data, length: Int64) -> Reply {
    guard !pattern.isEmpty else { return .data(Data()) }
    let copies = max(1, (256 << 10) / pattern.count)
    var block = Data(capacity: pattern.count * copies)
    for _ in 0..<copies { block.append(pattern) }
    return .generated(length: length) { [block] offset in
      block.dropFirst(Int(offset % Int64(block.count))).prefix(Int(min(length - offset, Int64(block.count))))
    }
  }

  /// Bytes exactly as they are: status line, fields, body and all. Positions count from the first byte.
  ///
  /// The connection is closed afterwards; set ``ending`` where the bytes frame themselves.
  public static func raw(_ text: String) -> Reply { raw(Data(text.utf8)) }

  /// Bytes exactly as they are; see ``raw(_:)-(String)``.
  public static func raw(_ bytes: Data) -> Reply {
    var reply = Reply(.raw(bytes))
    reply.ending = .closeSilently
    return reply
  }

  /// No answer at all: the connection stays open and silent until the client goes or the server stops.
  public static var never: Reply { raw(Data()).stalled(after: 0) }

  /// No answer: the connection is closed.
  public static var hangUp: Reply { raw(Data()) }

  /// No answer: the connection is reset.
  public static var reset: Reply { raw(Data()).reset(after: 0) }
}
