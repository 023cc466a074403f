/// A server-sent event (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Hashable {
  /// The event type; `message` if the server sent none.
  public var type: String
  /// The data lines, joined with line feeds.
  public var data: String
  /// The last event ID of the stream as of this event, which a new connection sends as `Last-Event-ID`. Empty if there
  /// is none.
  public var id: String

  /// Makes an event.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}

/// Parses a stream of server-sent events, `text/event-stream` (WHATWG HTML §9.2.5 and §9.2.6), in chunks of any size.
///
/// An incomplete event at the end of the stream is discarded, as the standard requires.
package struct ServerSentEventParser: Sendable {
  /// The error of an event that is larger than the limit of the parser.
  package struct EventTooLarge: Error, Sendable, Hashable {
    /// The maximum number of bytes of an event.
    package let limit: Int
  }

  /// The last event ID of the stream. It is kept until the server sends another one, including over ``restart()``.
  package private(set) var lastEventID: String
  /// The time to wait before reconnecting, as requested by the server; nil if it requested none.
  package private(set) var reconnectionTime: Duration?
  /// The error that the next call throws: the stream has an event that is too large.
  package private(set) var failure: EventTooLarge?
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
  ///   - lastEventID: the ID after which the stream continues; none by default.
  ///   - limit: the maximum number of bytes of an event, 16 MiB by default, to limit the memory that a server can use.
  package init(after lastEventID: String = "", limit: Int = 16 << 20) {
    self.lastEventID = lastEventID
    self.limit = limit
    id = lastEventID
  }

  /// Parses the next bytes of the stream, and returns the events that they complete.
  ///
  /// - Throws: `EventTooLarge`. If events before the large one were complete, they are returned first: the error is in
  ///   ``failure``, and each later call throws it.
  package mutating func parse(_ chunk: Data) throws(EventTooLarge) -> [ServerSentEvent] {
    if let failure { throw failure }
    var events: [ServerSentEvent] = []
    for byte in chunk {
      if skipsLineFeed {
        skipsLineFeed = false
        if byte == 10 { continue }
      }
      if byte == 13 || byte == 10 {
        skipsLineFeed = byte == 13  // A CR ends the line at once: the LF of a CRLF may arrive much later.
        if let event = endLine() { events.append(event) }
      } else {
        line.append(byte)
        guard line.count + data.count <= limit else {
          let error = EventTooLarge(limit: limit)
          failure = error
          guard !events.isEmpty else { throw error }
          return events
        }
      }
    }
    return events
  }

  /// Prepares for a new stream of the same source: an incomplete event is discarded, ID and reconnection time are kept.
  package mutating func restart() {
    failure = nil
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
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }  // One byte order mark (Encoding §6).
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

  /// Processes a field. Fields with an unknown or empty name (comments) are ignored.
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

  /// Ends the event at an empty line. Without data there is no event, but its ID is kept.
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
