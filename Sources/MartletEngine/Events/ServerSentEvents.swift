public import MartletSemantics

extension HTTPSession {
  /// The server-sent events (WHATWG HTML §9.2) of a resource, over as many connections as it takes.
  ///
  /// ```swift
  /// for try await event in session.events(for: HTTPRequest(.get, url)) {
  ///   print(event.type, event.data)
  /// }
  /// ```
  ///
  /// Nothing is sent before somebody iterates. See ``ServerSentEvents`` for what happens when a connection ends.
  ///
  /// - Parameters:
  ///   - request: what asks for the stream. `Accept` and `Last-Event-ID` are set by the sequence.
  ///   - lastEventID: the ID of the last event that the caller has seen, in an earlier run of the program perhaps.
  public func events(for request: HTTPRequest, after lastEventID: String = "") -> ServerSentEvents {
    ServerSentEvents(self, request, after: lastEventID)
  }
}

/// The events that a server sends, one after another.
///
/// A connection that ends or breaks is made anew after the time that the server set with `retry`, 3 seconds by default, and
/// goes on after the last event that came whole. While no connection comes about the time doubles, up to a minute. Every
/// connection is an exchange of its own: listeners in the request's options see each begin, answer and end.
///
/// The sequence ends where the server says 204. It throws ``HTTPError`` where the task is cancelled, the answer is another
/// status than 200 or another type than `text/event-stream` (kind `.unexpectedResponse`), or an event is too large
/// (`.bodyTooLarge`). A request whose method is not safe, such as POST, is sent once: its sequence ends with its stream, and
/// throws what breaks it.
///
/// The request's own options hold for each connection; those of the session do not where they would end a stream that is
/// meant to last: idle timeout, deadline and body limit.
public struct ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent
  public typealias Failure = HTTPError

  /// After how many failed connections in a row the error of the last is thrown; nil, the default, goes on for ever.
  public var failureLimit: Int?
  /// The most bytes of one event, 16 MiB by default.
  public var eventLimit = 16 << 20
  /// Whether a new connection follows one that ended. By default it does if the request's method is safe.
  public var reconnects: Bool
  let session: HTTPSession
  let request: HTTPRequest
  let lastEventID: String

  init(_ session: HTTPSession, _ request: HTTPRequest, after lastEventID: String) {
    self.session = session
    self.request = request.askingForEvents()
    self.lastEventID = lastEventID
    reconnects = request.method.isSafe
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads the events. Letting go of it closes the connection.
  public struct Iterator: AsyncIteratorProtocol {
    private var connection: EventConnection
    private var ready: ArraySlice<ServerSentEvent> = []
    private var isOver = false

    fileprivate init(_ events: ServerSentEvents) { connection = EventConnection(events) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> ServerSentEvent? {
      while true {
        if let event = ready.popFirst() { return event }
        if isOver { return nil }
        do {
          guard let events = try await connection.next() else {
            isOver = true
            return nil
          }
          ready = events[...]
        } catch {
          isOver = true
          throw error
        }
      }
    }

    public mutating func next() async throws(HTTPError) -> ServerSentEvent? { try await next(isolation: nil) }
  }
}

extension HTTPRequest {
  /// The request as it asks for a stream of events, apart from where it goes on.
  fileprivate func askingForEvents() -> HTTPRequest {
    var request = self
    if !request.fields.contains(.accept) { request.fields[.accept] = MediaType.eventStream.description }
    if !request.fields.contains(.cacheControl) { request.fields[.cacheControl] = "no-store" }
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.letLast()
    return request
  }
}
