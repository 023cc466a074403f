public import MartletSemantics

/// A response of a ``LoopbackServer``, and how the server misbehaves while it sends it.
///
/// Start with one of the short forms of ``Answer`` (`.text`, `.json`, `.data`, `.status`, `.redirect`) or with
/// ``file(_:type:)``, ``generated(length:type:_:)``, ``repeating(_:length:)`` or `raw`, and add to it:
///
/// ```swift
/// let cookies = Reply.text("hello").with(.setCookie, "a=1").with(.setCookie, "b=2")
/// let film = Reply.repeating(Data("0123456789".utf8), length: 300 << 20).truncated(after: 1 << 20)
/// let slow = Reply.text("hello").chunked(size: 2).with(trailer: "X-Sum", "42").dripped(1, every: .milliseconds(5))
/// ```
///
/// The server adds only the framing fields: `Content-Length` or `Transfer-Encoding`, and `Connection: close` before it
/// closes the connection. A `Content-Length` in ``fields`` is sent unchanged, even if it is wrong. Positions in the
/// body are counted without chunk framing.
public struct Reply: Answer {
  /// The status.
  public var status: HTTPStatus {
    get { head.status }
    set { head.status = newValue }
  }
  /// The reason phrase, sent unchanged. By default that of the status; a change of the status changes it too.
  public var reason: String {
    get { head.reason }
    set { head.reason = newValue }
  }
  /// The fields, in the order in which they are sent, before the framing fields.
  public var fields: HTTPFields {
    get { head.fields }
    set { head.fields = newValue }
  }
  /// The trailer fields; if there are any, the body is chunked.
  public var trailers: HTTPFields = [:]
  /// What happens to the connection after the reply.
  public var ending: Ending = .keepAlive
  /// The head, without the framing fields.
  var head: ResponseHead
  var content: ReplyContent
  var framing: Framing = .automatic
  var interim: [ResponseHead] = []
  var hold: Gate?
  var delay = Duration.zero
  var pacing = Pacing()
  /// Serves the WebSocket that the reply opens; nil for any other reply.
  var upgrade: (@Sendable (LoopbackWebSocket) throws -> Void)?

  /// Makes a reply whose body is in memory.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], content: Data = Data()) {
    self.init(status: status, fields: fields, .bytes(content))
  }

  init(status: HTTPStatus = .ok, fields: HTTPFields = [:], _ content: ReplyContent) {
    head = ResponseHead(status: status, fields: fields)
    self.content = content
  }

  /// What happens to the connection after a reply. It is always closed if the client requests that.
  public enum Ending: Sendable, Hashable {
    /// It stays open for the next request.
    case keepAlive
    /// It is closed, and a `Connection: close` field announces that.
    case close
    /// It is closed without that field: a connection in the client's pool becomes stale.
    case closeSilently
    /// It is reset (RST).
    case reset
  }

  enum Framing: Sendable, Hashable {
    /// Content-Length if the length is known and there are no trailers; chunks otherwise.
    case automatic
    /// Chunks of this size; `sizeLine`, if given, replaces every chunk's size.
    case chunked(size: Int, sizeLine: String?)
    /// The body ends with the connection.
    case untilClose
  }
}

extension Reply {
  /// A file, read while it is sent. The body of a file that is made when it is read, like the files of `/proc`, has no
  /// length: it is chunked.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - type: the media type; by default that of the name's extension.
  /// - Throws: ``LoopbackServerError`` if the file cannot be opened; thrown by a responder, it becomes a 500.
  public static func file(_ url: URL, type: String? = nil) throws(LoopbackServerError) -> Reply {
    let file = try OpenFile(path: url.path)
    let type = type ?? MediaTypes.type(ofName: url.lastPathComponent)
    return Reply(fields: [.contentType: type], file.content)
  }

  /// A body that is generated while it is sent.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; without one the body is chunked.
  ///   - type: the media type.
  ///   - next: returns bytes from this position on, any number of them; nil ends the body. It runs on the connection's
  ///     thread.
  public static func generated(
    length: Int64? = nil, type: String = "application/octet-stream",
    _ next: @escaping @Sendable (_ offset: Int64) throws -> Data?
  ) -> Reply {
    Reply(fields: [.contentType: type], .generated(length: length, next))
  }

  /// A body that repeats a pattern up to the length, without holding it in memory. An empty pattern makes an empty
  /// body.
  public static func repeating(_ pattern: Data, length: Int64) -> Reply {
    guard !pattern.isEmpty else { return .data(Data()) }
    let copies = max(1, (256 << 10) / pattern.count)
    var block = Data(capacity: pattern.count * copies)
    for _ in 0..<copies { block.append(pattern) }
    return .generated(length: length) { [block] offset in
      block.dropFirst(Int(offset % Int64(block.count))).prefix(Int(min(length - offset, Int64(block.count))))
    }
  }

  /// Bytes that are sent unchanged, including status line and fields. Positions count from the first byte.
  ///
  /// The connection is closed afterwards; set ``ending`` to keep it open if the bytes are a framed message.
  public static func raw(_ text: String) -> Reply { raw(Data(text.utf8)) }

  /// Bytes that are sent unchanged; see ``raw(_:)-(String)``.
  public static func raw(_ bytes: Data) -> Reply {
    var reply = Reply(.raw(bytes))
    reply.ending = .closeSilently
    return reply
  }

  /// No response: the connection stays open until the client closes it or the server is stopped.
  public static var never: Reply { raw(Data()).stalled(after: 0) }

  /// No response: the connection is closed.
  public static var hangUp: Reply { raw(Data()) }

  /// No response: the connection is reset.
  public static var reset: Reply { raw(Data()).reset(after: 0) }
}

extension Reply {
  /// Sends an informational response first (RFC 9110 §15.2), such as 103 Early Hints.
  public func preceded(by status: HTTPStatus, fields: HTTPFields = [:]) -> Reply {
    changed { $0.interim.append(ResponseHead(status: status, fields: fields)) }
  }

  /// Sends the body in chunks.
  ///
  /// - Parameters:
  ///   - size: the maximum size of a chunk in bytes; 64 KiB by default.
  ///   - sizeLine: replaces every chunk's size, to send an invalid one: `"zz"`, `"-1"`, `"ffffffffffffffff1"`.
  public func chunked(size: Int = 64 << 10, sizeLine: String? = nil) -> Reply {
    changed { $0.framing = .chunked(size: max(1, size), sizeLine: sizeLine) }
  }

  /// Sends no length: the body ends with the connection.
  public func untilClose() -> Reply {
    changed {
      $0.framing = .untilClose
      if $0.ending == .keepAlive { $0.ending = .close }
    }
  }

  /// Adds a trailer field; the body is sent in chunks.
  public func with(trailer name: FieldName, _ value: String) -> Reply {
    changed { $0.trailers.append(value, for: name) }
  }

  /// Closes the connection afterwards, announced by `Connection: close`.
  public func closing() -> Reply { changed { $0.ending = .close } }

  /// Closes the connection afterwards unannounced, so that it becomes stale in the client's pool.
  /// ``LoopbackServer/end(ofConnection:fileID:line:)`` returns when it is closed.
  public func closingSilently() -> Reply { changed { $0.ending = .closeSilently } }

  /// Sends nothing, not even the head, until the gate opens.
  public func held(by gate: Gate) -> Reply { changed { $0.hold = gate } }

  /// Delays the whole reply, to a millisecond: for a slow network, and for replies that overtake each other. To send a
  /// reply after some other event, use ``held(by:)``.
  public func delayed(by delay: Duration) -> Reply { changed { $0.delay = delay } }

  /// Pauses after this many bytes of the body until the gate opens; without a gate, until the client closes the
  /// connection or the server is stopped.
  public func stalled(after count: Int64, until gate: Gate? = nil) -> Reply {
    changed { $0.pacing.add(.hold(gate), at: count) }
  }

  /// Sends this many bytes of the body at a time, with a pause in between.
  public func dripped(_ count: Int64, every interval: Duration) -> Reply {
    changed { $0.pacing.drip = Pacing.Drip(count: max(1, count), interval: interval) }
  }

  /// Closes the connection after this many bytes of the body, whatever `Content-Length` says.
  public func truncated(after count: Int64) -> Reply { changed { $0.pacing.add(.end(.closeSilently), at: count) } }

  /// Resets the connection (RST) after this many bytes of the body.
  public func reset(after count: Int64) -> Reply { changed { $0.pacing.add(.end(.reset), at: count) } }

  func changed(_ change: (inout Reply) -> Void) -> Reply {
    var copy = self
    change(&copy)
    return copy
  }
}

extension Reply {
  /// The first bytes of the body, for those who watch a server; nil if they are generated while they are sent.
  @_spi(Toolkit) public func beginning(upTo limit: Int) -> Data? {
    if case .generated = content { return nil }
    var pieces = ReplyPieces(content)
    return try? pieces.next(upTo: Int64(limit))
  }

  /// The number of bytes of the body; nil if it is not known before it is sent.
  @_spi(Toolkit) public var length: Int64? { content.length }
}
