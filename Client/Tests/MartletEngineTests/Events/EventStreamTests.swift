import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EventStreamTests {
  private let clock = ManualClock()

  /// - Parameter random: the random factor of all delays.
  private func session(_ transport: any Transport, random: Double = 0) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.options.retryPolicy.random = { random }
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// Collects the events of a GET in the background.
  private func collecting(from transport: any Transport, random: Double = 0) -> Task<[ServerSentEvent], any Error> {
    Task { [session = session(transport, random: random)] in
      try await collect(session.events(for: HTTPRequest(.get, origin)))
    }
  }

  private func stream(_ text: String) -> MockResponse {
    .data(Data(text.utf8), type: "text/event-stream; charset=utf-8")
  }

  /// A stream whose connection is lost after this text, and after the gate has opened.
  private func lost(after text: String, _ gate: Gate? = nil) -> MockResponse {
    MockResponse(fields: [.contentType: "text/event-stream"]) { ResponseBody(from: LostBody(text, gate)) }
  }

  private func collect(_ events: ServerSentEvents) async throws(HTTPError) -> [ServerSentEvent] {
    var collected: [ServerSentEvent] = []
    for try await event in events { collected.append(event) }
    return collected
  }

  @Test func connectionThatEndsIsMadeAnewAfterTheLastEvent() async throws {
    let transport = ScriptedTransport(
      stream("id: 1\ndata: a\n\ndata: lost"), stream("retry: 500\nid: 2\ndata: b\n\n"), stream(""),
      .status(.noContent))
    let task = collecting(from: transport)

    try await clock.sleepers(1)
    clock.advance(by: .milliseconds(2999))
    #expect(transport.requests.count == 1)
    clock.advance(by: .milliseconds(1))  // 3 seconds are the default
    for count in 2...3 {
      try await clock.sleepers(1)
      #expect(transport.requests.count == count)
      clock.advance(by: .milliseconds(500))
    }

    #expect(try await task.value == [.init(data: "a", id: "1"), .init(data: "b", id: "2")])
    #expect(transport.requests.map { $0.fields["Last-Event-ID"] } == [nil, "1", "2", "2"])
    #expect(transport.requests.allSatisfy { $0.fields[.accept] == "text/event-stream" })
    #expect(transport.requests.allSatisfy { $0.options.idleTimeout == nil })
  }

  @Test func aNoContentEndsItsCallWithoutAnError() async throws {
    let log = EventLog(.finished)
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [log]

    #expect(try await collect(session(ScriptedTransport(.status(.noContent))).events(for: request)).isEmpty)

    #expect(log.lines == ["finished"])
  }

  @Test func failuresDoubleTheRandomPartOfThePauseUpToAMinute() async throws {
    let failure = MockResponse.failure(HTTPError(.cannotConnect, "nobody is there"))
    let transport = ScriptedTransport(Array(repeating: failure, count: 8) + [.status(.noContent)])
    let task = collecting(from: transport, random: 1)

    for seconds in [4, 5, 7, 11, 19, 35, 63, 63] {
      try await clock.sleepers(1)
      let count = transport.requests.count
      clock.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(transport.requests.count == count)
      clock.advance(by: .milliseconds(1))
    }

    #expect(try await task.value.isEmpty)
  }

  @Test func failuresPauseAlsoWhereTheServerWantsNoPause() async throws {
    let failure = MockResponse.failure(HTTPError(.cannotConnect, "nobody is there"))
    let transport = ScriptedTransport(stream("retry: 0\n\n"), failure, failure, failure, .status(.noContent))
    let task = collecting(from: transport, random: 1)

    for milliseconds in [1500, 1500, 2500, 4500] {
      try await clock.sleepers(1)
      let count = transport.requests.count
      clock.advance(by: .milliseconds(milliseconds - 1))
      #expect(transport.requests.count == count)
      clock.advance(by: .milliseconds(1))
    }

    #expect(try await task.value.isEmpty)
  }

  @Test(arguments: [("0", 500), ("1", 500), ("499", 500), ("501", 501), ("00", 500)])
  func pauseThatAServerAsksForHasAFloor(_ retry: String, _ milliseconds: Int) async throws {
    let transport = ScriptedTransport(stream("retry: \(retry)\n\n"), .status(.noContent))
    let task = collecting(from: transport)

    try await clock.sleepers(1)
    clock.advance(by: .milliseconds(milliseconds - 1))
    #expect(transport.requests.count == 1)
    clock.advance(by: .milliseconds(1))

    #expect(try await task.value.isEmpty)
    #expect(transport.requests.count == 2)
  }

  @Test func streamIsAskedForWithoutCaches() async throws {
    let transport = ScriptedTransport(.status(.noContent), .status(.noContent))
    let session = session(transport)
    _ = try await collect(session.events(for: HTTPRequest(.get, origin)))
    _ = try await collect(session.events(for: HTTPRequest(.get, origin, fields: [.cacheControl: "max-age=0"])))
    #expect(transport.requests.map { $0.fields[.cacheControl] } == ["no-cache", "max-age=0"])
  }

  @Test func errorKeepsTheBeginningOfTheBody() async throws {
    let refusal = Data(#"{"error": {"message": "the key is wrong"}}"#.utf8)
    let long = Data(repeating: 97, count: 100 << 10)
    let transport = ScriptedTransport(
      .data(refusal, type: "application/json", status: .unauthorized), .data(refusal, type: "application/json"),
      .data(long, type: "text/plain", status: .badRequest))
    let session = session(transport)
    var bodies: [Data?] = []
    for _ in 1...3 {
      let error = await #expect(throws: HTTPError.self) {
        try await collect(session.events(for: HTTPRequest(.post, origin, body: .data(Data("{}".utf8)))))
      }
      #expect(error?.kind == .unexpectedResponse)
      bodies.append(error?.body)
    }
    #expect(bodies == [refusal, refusal, long.prefix(64 << 10)])
  }

  @Test func limitOfFailuresEndsTheSequenceWithTheLast() async throws {
    let failure = MockResponse.failure(HTTPError(.cannotConnect, "nobody is there"))
    let transport = ScriptedTransport(failure, failure)
    var events = session(transport).events(for: HTTPRequest(.get, origin))
    events.failureLimit = 2
    let task = Task { [events] in try await collect(events) }

    try await clock.sleepers(1)
    clock.advance(by: .seconds(3))

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cannotConnect)
  }

  @Test func aServerThatGreetsAndDropsIsAskedLessAndLessOften() async throws {
    let transport = ScriptedTransport(Array(repeating: lost(after: "data: a\n\n"), count: 4))
    var events = session(transport, random: 1).events(for: HTTPRequest(.get, origin))
    events.failureLimit = 4
    let task = Task { [events] in try await collect(events) }

    for seconds in [4, 5, 7] {
      try await clock.sleepers(1)
      #expect(clock.pendingWakeUps == [.seconds(seconds)])
      clock.advance(by: .seconds(seconds))
    }

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .connectionLost)
    #expect(transport.requests.count == 4)
  }

  @Test(arguments: [(5, 7), (6, 4)])
  func aConnectionThatOutlivesTheDelayBeforeItStartsTheSeriesAgain(seconds: Int, next: Int) async throws {
    let (received, drop) = (Gate(), Gate())
    let failure = MockResponse.failure(HTTPError(.cannotConnect, "nobody is there"))
    let transport = ScriptedTransport(failure, failure, lost(after: "data: a\n\n", drop), .status(.noContent))
    let events = session(transport, random: 1).events(for: HTTPRequest(.get, origin))
    let task = Task { for try await _ in events { received.open() } }
    for delay in [4, 5] {
      try await clock.sleepers(1)
      clock.advance(by: .seconds(delay))
    }
    try await received.wait()

    clock.advance(by: .seconds(seconds))
    drop.open()

    try await clock.sleepers(1)
    #expect(clock.pendingWakeUps == [.seconds(next)])
    clock.advance(by: .seconds(next))
    try await task.value
  }

  /// A server may end each of its streams, so that clients come back for news.
  @Test func aStreamThatTheServerEndsIsNoFailure() async throws {
    let transport = ScriptedTransport(
      lost(after: ""), stream("data: a\n\n"), lost(after: "data: b\n\n"), stream(""), .status(.noContent))
    var events = session(transport, random: 1).events(for: HTTPRequest(.get, origin))
    events.failureLimit = 2
    let task = Task { [events] in try await collect(events) }

    for _ in 1...4 {
      try await clock.sleepers(1)
      #expect(clock.pendingWakeUps == [.seconds(4)])
      clock.advance(by: .seconds(4))
    }

    #expect(try await task.value.map(\.data) == ["a", "b"])
  }

  @Test(arguments: [
    (MockResponse.text("<html>"), "'text/plain'"), (.status(200), "missing"), (.status(500), "500"),
    (.status(404), "404"),
    (.data(Data(), type: "text/event-stream", status: .created), "201"),
  ])
  func answerThatIsNoStreamIsAnError(_ response: MockResponse, _ reason: String) async throws {
    let events = session(ScriptedTransport(response)).events(for: HTTPRequest(.get, origin))
    let error = await #expect(throws: HTTPError.self) { try await collect(events) }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.message.contains(reason) == true)
    #expect(error?.response?.status == response.status)
  }

  /// A deployment: the stream ends, a load balancer refuses connections for a while, and the server returns.
  @Test func aStreamOutlivesADeployment() async throws {
    let transport = ScriptedTransport(
      [stream("id: 1\ndata: a\n\n"), .status(.badGateway), .status(.serviceUnavailable), .status(.gatewayTimeout)]
        + [
          .status(.serviceUnavailable, fields: [.retryAfter: "120"]),
          .status(.tooManyRequests, fields: [.retryAfter: "1"]), stream("data: b\n\n"), .status(.noContent),
        ])
    var events = session(transport, random: 1).events(for: HTTPRequest(.get, origin))
    events.reconnectStatuses = ServerSentEvents.temporaryStatuses
    let task = Task { [events] in try await collect(events) }

    // the growing delay, the longer one that the server asks for, a shorter one, and the first of a new series
    for seconds in [4, 4, 5, 7, 120, 19, 4] {
      try await until { clock.pendingWakeUps == [.seconds(seconds)] }  // the body of a refusal has a limit, too
      clock.advance(by: .seconds(seconds))
    }

    #expect(try await task.value.map(\.data) == ["a", "b"])
    #expect(transport.requests.map { $0.fields["Last-Event-ID"] } == [nil] + Array(repeating: "1", count: 7))
  }

  @Test func refusalsCountAsFailures() async throws {
    let refusal = MockResponse.text("deploying", status: .serviceUnavailable)
    let transport = ScriptedTransport(refusal, refusal)
    var events = session(transport).events(for: HTTPRequest(.get, origin))
    events.reconnectStatuses = [.serviceUnavailable]
    events.failureLimit = 2
    let task = Task { [events] in try await collect(events) }
    try await until { clock.pendingWakeUps == [.seconds(3)] }
    clock.advance(by: .seconds(3))
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.response?.status == .serviceUnavailable)
    #expect(error?.body == Data("deploying".utf8))
  }

  /// The delay neither overflows nor exceeds its limit, and nothing accumulates.
  @Test func aStreamWaitsForDays() async throws {
    let days = 2000
    let transport = ScriptedTransport(Array(repeating: .status(.badGateway), count: days) + [.status(.noContent)])
    var events = session(transport, random: 1).events(for: HTTPRequest(.get, origin))
    events.reconnectStatuses = ServerSentEvents.temporaryStatuses
    let task = Task { [events] in try await collect(events) }
    for _ in 0..<days {
      try await until { clock.pendingWakeUps.count == 1 && clock.pendingWakeUps != [.seconds(10)] }
      clock.advance(by: .seconds(63))
    }
    #expect(try await task.value.isEmpty)
  }

  @Test(arguments: [
    (HTTPMethod.get, HTTPStatus.notFound), (.get, .internalServerError), (.get, .unauthorized),
    (.post, .serviceUnavailable),
  ])
  func otherRefusalsEndTheSequence(_ method: HTTPMethod, _ status: HTTPStatus) async throws {
    var events = session(ScriptedTransport(.status(status))).events(for: HTTPRequest(method, origin))
    events.reconnectStatuses = ServerSentEvents.temporaryStatuses
    let task = Task { [events] in try await collect(events) }
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.response?.status == status)
  }

  @Test func errorThatNoNewConnectionCanMendEndsTheSequence() async throws {
    let events = session(ScriptedTransport(.failure(HTTPError(.untrustedCertificate, "who is this?"))))
      .events(for: HTTPRequest(.get, origin))
    let error = await #expect(throws: HTTPError.self) { try await collect(events) }
    #expect(error?.kind == .untrustedCertificate)
  }

  @Test func eventsBeforeOneThatIsTooLargeAreDelivered() async throws {
    let text = "data: a\n\ndata: " + String(repeating: "b", count: 50)
    let neverOpened = Gate()  // No further chunk arrives.
    var events = session(ScriptedTransport(lost(after: text, neverOpened))).events(for: HTTPRequest(.get, origin))
    events.eventLimit = 50
    var received: [String] = []
    do throws(HTTPError) {
      for try await event in events { received.append(event.data) }
      Issue.record("expected an error")
    } catch { #expect(error.kind == .bodyTooLarge) }
    #expect(received == ["a"])
  }

  @Test func requestThatIsNotSafeIsSentOnce() async throws {
    let transport = ScriptedTransport(stream("data: a\n\ndata: b\n\n"))
    let events = session(transport).events(for: HTTPRequest(.post, origin, body: try .json(["stream": true])))
    #expect(try await collect(events).map(\.data) == ["a", "b"])
  }

  @Test func cancellationEndsTheWaitForANewConnection() async throws {
    let task = collecting(from: ScriptedTransport(stream("")))
    try await clock.sleepers(1)

    task.cancel()

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func idThatNoFieldCanCarryIsNotSent() async throws {
    let transport = ScriptedTransport(stream("id: a\u{1}b\ndata: a\n\n"), .status(.noContent))
    let task = collecting(from: transport)
    try await clock.sleepers(1)
    clock.advance(by: .seconds(3))
    #expect(try await task.value.map(\.id) == ["a\u{1}b"])
    #expect(transport.requests.map { $0.fields["Last-Event-ID"] } == [nil, nil])
  }

  @Test func optionsOfTheRequestHoldAndThoseOfTheSessionDoNotEndAStream() async throws {
    var configuration = SessionConfiguration()
    configuration.options.idleTimeout = .seconds(5)
    configuration.options.deadline = .seconds(5)
    configuration.options.headLimit = 5000
    let transport = ScriptedTransport(.status(.noContent), .status(.noContent))
    let session = HTTPSession(transport: transport, configuration: configuration)
    var request = HTTPRequest(.get, origin)
    _ = try await collect(session.events(for: request, after: "41"))
    request.options.idleTimeout = .seconds(90)
    _ = try await collect(session.events(for: request))

    #expect(transport.requests.map(\.options.idleTimeout) == [nil, .seconds(90)])
    #expect(transport.requests.allSatisfy { $0.options.deadline == nil && $0.options.headLimit == 5000 })
    #expect(transport.requests.map { $0.fields["Last-Event-ID"] } == ["41", nil])
  }
}

/// A body whose connection is lost after a chunk.
private final class LostBody: BodySource {
  private let rest: Mutex<Data?>
  private let gate: Gate?

  init(_ text: String, _ gate: Gate?) {
    rest = Mutex(text.isEmpty ? nil : Data(text.utf8))
    self.gate = gate
  }

  func next() async throws -> Data? {
    if let chunk = rest.withLock({ $0.take() }) { return chunk }
    try await gate?.wait()
    throw HTTPError(.connectionLost, "the server dropped the connection", phase: .receiving)
  }
}
