/// One server-sent event (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
  /// What the event is called; `message` where the server named nothing else.
  public var type: String
  /// The lines of its data, joined with line feeds.
  public var data: String
  /// The stream's last event ID at this event: what a new connection sends as `Last-Event-ID`. Empty if there was none.
  public var id: String

  /// Makes an event.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}

/// Reads a stream of server-sent events, `text/event-stream` (WHATWG HTML §9.2.5 and §9.2.6), cut into pieces anywhere.
///
/// ```swift
/// var parser = ServerSentEventParser()
/// for chunk in chunks { for event in try parser.parse(chunk) { print(event.data) } }
/// ```
///
/// What is incomplete at the end of a stream is no event and gets lost, as the standard wants.
public struct ServerSentEventParser: Sendable {
  /// An event is larger than the parser's limit.
  public struct EventTooLarge: Error, Sendable, Hashable {
    /// The most bytes of an event.
    public let limit: Int
  }

  /// The last event ID of the stream: it stays until the server sends another, also over ``restart()``.
  public private(set) var lastEventID: String
  /// How long the server wants a client to wait before it connects again; nil where it said nothing.
  public private(set) var reconnectionTime: Duration?
  private let limit: Int
  private var line: [UInt8] = []
  private var data: [UInt8] = []
  private var type = ""
  private var id: String
  private var skipsLineFeed = false
  private var isAtStart = true

  /// Makes a parser at the beginning of a stream.
  ///
  /// - Parameters:
  ///   - lastEventID: the ID after which the stream goes on; none by default.
  ///   - limit: the most bytes of one event, 16 MiB by default, so that a server cannot fill the memory.
  public init(after lastEventID: String = "", limit: Int = 16 << 20) {
    self.lastEventID = lastEventID
    self.limit = limit
    id = lastEventID
  }

  /// Takes the next bytes of the stream, and returns the events that they complete.
  public mutating func parse(_ chunk: Data) throws(EventTooLarge) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in chunk {
      if skipsLineFeed {
        skipsLineFeed = false
        if byte == 10 { continue }
      }
      if byte == 13 || byte == 10 {
        skipsLineFeed = byte == 13  // a CR ends the line at once: the LF of a CRLF may be long in coming
        if let event = endLine() { events.append(event) }
      } else {
        line.append(byte)
        guard line.count + data.count <= limit else { throw EventTooLarge(limit: limit) }
      }
    }
    return events
  }

  /// Begins a new stream from the same source: what was incomplete is dropped, ID and reconnection time stay.
  public mutating func restart() {
    line = []
    data = []
    type = ""
    id = lastEventID
    skipsLineFeed = false
    isAtStart = true
  }

  private mutating func endLine() -> ServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if isAtStart {
      isAtStart = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }  // one byte order mark (Encoding §6)
    }
    guard !line.isEmpty else { return dispatch() }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      take(field: line[...], value: [])
      return nil
    }
    let value = line[(colon + 1)...]
    take(field: line[..<colon], value: value.first == 32 ? value.dropFirst() : value)
    return nil
  }

  /// One field. An unknown name, an empty one too (a comment), means nothing.
  private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
    switch String(decoding: field, as: UTF8.self) {
    case "event": type = String(decoding: value, as: UTF8.self)
    case "data":
      data += value
      data.append(10)
    case "id":
      if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    case "retry":
      guard !value.isEmpty, value.allSatisfy(ASCII.isDigit) else { return }
      reconnectionTime = .milliseconds(Int64(String(decoding: value, as: UTF8.self)) ?? .max)
    default: break
    }
  }

  /// An empty line ends an event. One without data is none, but its ID counts.
  private mutating func dispatch() -> ServerSentEvent? {
    lastEventID = id
    defer {
      data.removeAll(keepingCapacity: true)
      type = ""
    }
    guard !data.isEmpty else { return nil }
    return ServerSentEvent(
      type: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self), id: id)
  }
}
