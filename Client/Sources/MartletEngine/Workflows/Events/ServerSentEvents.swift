public import MartletSemantics

extension HTTPSession {
  /// Returns the server-sent events (WHATWG HTML §9.2) of a resource; lost connections are re-established.
  ///
  /// ```swift
  /// for try await event in session.events(for: HTTPRequest(.get, url)) {
  ///   print(event.type, event.data)
  /// }
  /// ```
  ///
  /// Nothing is sent before the sequence is iterated. See ``ServerSentEvents`` for what happens when a connection ends.
  ///
  /// - Parameters:
  ///   - request: the request for the stream. The sequence sets `Last-Event-ID`, and `Accept` and `Cache-Control:
  ///     no-cache` unless the request has them.
  ///   - lastEventID: the ID of the last event from an earlier stream; empty, the default, if there is none.
  public func events(for request: HTTPRequest, after lastEventID: String = "") -> ServerSentEvents {
    ServerSentEvents(self, request, after: lastEventID)
  }
}

/// The events of a server, as an asynchronous sequence.
///
/// When a connection ends or fails, a new one is made. It continues after the last complete event. Every connection is
/// a separate call: listeners in the request's options see the start, response and end of each.
///
/// The delay before a new connection is the time that the server set with `retry` (from half a second to an hour, 3
/// seconds by default), plus a random time of at most a second. With each failure in a row this maximum doubles, up to
/// a minute. A connection that is lost counts as a failure, whatever it has delivered. If it lasted longer than the
/// longest possible delay before it, it is the first failure of a new series. A stream that the server ends is no
/// failure, and starts the series again.
///
/// The sequence ends after a response with status 204. It throws ``HTTPError`` if the task is cancelled, or if an event
/// is too large (`.bodyTooLarge`), after the events before it. It also does if the status is not 200 or the type not
/// `text/event-stream` (kind `.unexpectedResponse`, with the first 64 KiB of the body in ``HTTPError/body``), as WHATWG
/// HTML §9.2.3 demands of browsers; ``reconnectStatuses`` makes exceptions. A request with an unsafe method, such as
/// POST, is sent once: its sequence ends or fails with its stream.
///
/// The request's own options apply to each connection. The session's idle timeout, deadline and body limit do not,
/// because a stream may last. Dead connections are still noticed: over HTTP/2 by a PING every 30 seconds
/// (``RequestOptions/pingInterval``), over HTTP/1.1 within about a minute if the host is unreachable. Over HTTP/1.1, a
/// stuck server looks like one without news: set ``RequestOptions/idleTimeout`` if it sends comments regularly.
public struct ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent
  public typealias Failure = HTTPError

  /// The number of failures in a row, of attempts and of connections, after which the last error is thrown; nil, the
  /// default, for no limit.
  public var failureLimit: Int?
  /// The maximum number of bytes of an event; 16 MiB by default.
  public var eventLimit = 16 << 20
  /// Whether lost connections are re-established. By default they are if the request's method is safe.
  public var reconnects: Bool
  /// The statuses after which another connection is made if ``reconnects`` is true, as after a loss; none by default.
  ///
  /// ``temporaryStatuses`` lets a stream outlive a deployment, during which a load balancer answers with 503. Each such
  /// response counts as a failure, so the delay grows, to a minute at most. If the server asks for a longer delay with
  /// `Retry-After`, that delay applies, but an hour at most. Other statuses end the sequence.
  public var reconnectStatuses: Set<HTTPStatus> = []
  let session: HTTPSession
  let request: HTTPRequest
  let lastEventID: String

  init(_ session: HTTPSession, _ request: HTTPRequest, after lastEventID: String) {
    self.session = session
    self.request = request.askingForEvents()
    self.lastEventID = lastEventID
    reconnects = request.method.isSafe
  }

  /// The statuses of a server that is overloaded or not there for a while: 429, 502, 503 and 504.
  public static let temporaryStatuses: Set<HTTPStatus> = [
    .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout,
  ]

  /// Returns what reads the events. Releasing it closes the connection.
  public func makeAsyncIterator() -> some AsyncIteratorProtocol<ServerSentEvent, HTTPError> { EventReader(self) }

  private struct EventReader: AsyncIteratorProtocol {
    private var stream: ReconnectingEventStream
    private var ready: ArraySlice<ServerSentEvent> = []
    private var isOver = false

    fileprivate init(_ events: ServerSentEvents) { stream = ReconnectingEventStream(events) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> ServerSentEvent? {
      while true {
        if let event = ready.popFirst() { return event }
        if isOver { return nil }
        do {
          guard let events = try await stream.next() else {
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

    mutating func next() async throws(HTTPError) -> ServerSentEvent? { try await next(isolation: nil) }
  }
}

extension HTTPRequest {
  /// Returns the request with the fields and options for an event stream, without `Last-Event-ID`.
  fileprivate func askingForEvents() -> HTTPRequest {
    var request = self
    if !request.fields.contains(.accept) { request.fields[.accept] = MediaType.eventStream.description }
    if !request.fields.contains(.cacheControl) { request.fields[.cacheControl] = "no-cache" }
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.expecting = .any  // The sequence checks it.
    request.options.disableSessionTimeouts()
    return request
  }
}
