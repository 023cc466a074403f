@_spi(Toolkit) import MartletSemantics

/// A stream of events over one connection after the other.
struct ReconnectingEventStream: Sendable {
  private let events: ServerSentEvents
  private var parser: ServerSentEventParser
  private var body: (any BodySource)?
  /// Measures how long the current connection lasts.
  private var age: Stopwatch?
  private var rule = ReconnectRule(backoff: Backoff(base: .seconds(1), delayLimit: .seconds(60)))
  /// The reconnection time of a server that sets none.
  private static let usualPause: Duration = .seconds(3)
  /// The shortest time between two connections, whatever the server requests: otherwise a server that ends its streams
  /// at once would be contacted without a pause.
  private static let minimumPause: Duration = .milliseconds(500)

  init(_ events: ServerSentEvents) {
    self.events = events
    parser = ServerSentEventParser(after: events.lastEventID, limit: events.eventLimit)
  }

  /// Returns the events of the next chunk, which may be none; nil when the stream has ended.
  mutating func next() async throws(HTTPError) -> [ServerSentEvent]? {
    var asked: Duration?
    do throws(HTTPError) {
      guard let body else { return try await connect() ? [] : nil }
      // The events before one that is too large are delivered first; then no further chunk is waited for.
      if let failure = parser.failure { throw Self.tooLarge(failure) }
      if let chunk = try await chunk(of: body) { return try parse(chunk) }
      guard events.reconnects else { return nil }
      rule.succeeded()  // A server may end each of its streams, so that clients come back for news.
    } catch {
      guard events.reconnects, error.isLoss || isTemporaryRefusal(error) else { throw error }
      asked = error.response.flatMap { RetryAfter.delay(in: $0.fields, now: events.session.configuration.now()) }
      if let age { rule.ended(after: age.elapsed) }
      rule.failed()
      if let limit = events.failureLimit, rule.failures >= limit { throw error }
    }
    (body, age) = (nil, nil)
    try await pause(asked: asked ?? .zero)
    return []
  }

  private func isTemporaryRefusal(_ error: HTTPError) -> Bool {
    guard error.kind == .unexpectedResponse, let status = error.response?.status else { return false }
    return events.reconnectStatuses.contains(status)
  }

  /// Connects. Returns false after a 204, which ends the stream.
  private mutating func connect() async throws(HTTPError) -> Bool {
    let request = request
    let (body, response) = try await events.session.bytes(for: request)
    if response.status == .noContent { return false }
    guard response.status == .ok, response.fields.mediaType?.matches(.eventStream) == true else {
      throw await events.session.unexpected(response, Self.refusal(response))
    }
    parser.restart()
    (self.body, age) = (body.source, Stopwatch(events.session.configuration.clock))
    return true
  }

  private var request: HTTPRequest {
    var request = events.request
    var probe = HTTPFields()
    probe["Last-Event-ID"] = parser.lastEventID
    // An ID that is not a valid field value is not sent: an error would end a stream that can continue without it.
    if !parser.lastEventID.isEmpty, probe.refusal == nil { request.fields["Last-Event-ID"] = parser.lastEventID }
    return request
  }

  private func chunk(of body: any BodySource) async throws(HTTPError) -> Data? {
    do { return try await body.next() } catch { throw HTTPError(wrapping: error) }
  }

  private mutating func parse(_ chunk: Data) throws(HTTPError) -> [ServerSentEvent] {
    do { return try parser.parse(chunk) } catch { throw Self.tooLarge(error) }
  }

  private static func tooLarge(_ error: ServerSentEventParser.EventTooLarge) -> HTTPError {
    HTTPError(
      .bodyTooLarge, "an event is larger than the limit of \(error.limit) bytes: raise ServerSentEvents.eventLimit",
      phase: .receiving)
  }

  /// Waits for the reconnection time, and then for a random time (WHATWG HTML §9.2.3: "Optionally, wait some more").
  ///
  /// - Parameter asked: the shortest delay that the server has asked for this time.
  private mutating func pause(asked: Duration) async throws(HTTPError) {
    rule.minimumDelay = max(parser.reconnectionTime ?? Self.usualPause, Self.minimumPause)
    let random = events.session.sharedOptions(of: events.request).value.retryPolicy.random
    do {
      try await events.session.configuration.clock.sleep(for: rule.delay(fraction: random(), asked: asked))
    } catch {
      throw HTTPError(wrapping: error)
    }
  }

  private static func refusal(_ response: HTTPResponse) -> String {
    guard response.status == .ok else {
      return "unexpected status \(response.head.statusText): an event stream has status 200"
    }
    let type = response.fields.mediaType.map { "'\($0.essence)'" } ?? "missing"
    return "unexpected Content-Type, \(type): an event stream has 'text/event-stream'"
  }
}
