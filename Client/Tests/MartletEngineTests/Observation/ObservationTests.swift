import CallDoubles
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Events", .timeLimit(.minutes(5)))
struct ObservationTests {
  private func session(_ listeners: any EventListener..., transport: any Transport) -> HTTPSession {
    session(listeners: listeners, transport: transport)
  }

  private func session(listeners: [any EventListener], transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = listeners
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func chunks(_ texts: String...) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for text in texts { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
  }

  @Test func theBytesOfBothBodiesAreReportedToListenersThatWantThem() async throws {
    let wanting = EventLog(.all)
    let other = EventLog(.exceptBytes)
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return request.url.path == "/" ? .redirect(to: "/new", status: 307) : .text("there")
    }
    let body = RequestBody.stream { chunks("ab", "c") }

    _ = try await session(wanting, other, transport: transport).data(for: HTTPRequest(.post, origin, body: body))

    #expect(
      wanting.lines.filter { $0.hasPrefix("bytes") } == [
        "bytes sent 2 of 1", "bytes sent 1 of 1", "bytes sent 2 of 2", "bytes sent 1 of 2", "bytes received 5 of 2",
      ])
    #expect(!other.lines.contains { $0.hasPrefix("bytes") })
    #expect(other.lines == wanting.lines.filter { !$0.hasPrefix("bytes") })
  }

  @Test func aListenerReceivesTheEventsThatItNames() async throws {
    let every = EventLog(.all)
    let logs = Event.Kinds.each.map { EventLog($0) }
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return request.url.path == "/" ? .redirect(to: "/new", status: 307) : .text("there")
    }
    let session = session(listeners: [every] + logs, transport: transport)

    _ = try await session.data(for: HTTPRequest(.post, origin, body: .data(Data("abc".utf8))))

    let names = every.lines.map { $0.prefix { $0 != " " } }
    #expect(Set(names).isSuperset(of: ["started", "attempt", "sending", "bytes", "response", "resend:", "finished"]))
    for log in logs {
      let kinds = Set(log.lines.map { $0.prefix { $0 != " " } })
      #expect(log.lines == every.lines.filter { kinds.contains($0.prefix { $0 != " " }) })
    }
    #expect(logs.flatMap(\.lines).sorted() == every.lines.sorted())
  }

  /// An event of each kind.
  private func samples() throws -> [Event] {
    let request = HTTPRequest(.get, origin)
    let limited = try #require(Origin(origin))
    return [
      .started(request), .attempt(1, request), .sending(request.head), .informational(ResponseHead(status: 103)),
      .progress(Event.Progress(.sent, completed: 1, total: nil)), .bytes(Data(), .sent, attempt: 1),
      .response(ResponseHead(status: .ok), from: origin), .metrics(TransferMetrics()),
      .resend(request, after: .zero, reason: "", failure: nil), .cookieRefused(Cookie.Refusal(.empty)),
      .cached(.cache), .limit(.throttled(limited, for: .zero)), .note(""), .finished(nil),
      .written(WrittenHead(lines: Array("GET / HTTP/1.1\r\n\r\n".utf8))),
      .message(Event.Message(.sent, .text, payload: Data(), count: 0)), .cookiesStored([]),
      .cacheDecision(Event.CacheDecision(.pass, CacheReason("", ""))),
    ]
  }

  @Test func allKindsAreThoseOfTheEvents() throws {
    let kinds = Event.Kinds.each
    let names = try PublicAPI(of: "MartletEngine").constants(of: "Event.Kinds").subtracting(["all", "exceptBytes"])
    let events = try samples()

    #expect(kinds.reduce(into: Event.Kinds()) { $0.formUnion($1) } == Event.Kinds.all)
    #expect(kinds.count == names.count)
    #expect(kinds.allSatisfy { $0.rawValue.nonzeroBitCount == 1 })
    #expect(Set(events.compactMap { Mirror(reflecting: $0).children.first?.label }) == names)
    for event in events { #expect(kinds.contains(event.kind), "\(event)") }
    #expect(Set(events.map(\.kind.rawValue)).count == kinds.count)
  }

  @Test func aCallSaysWhichEventsItsListenersReceive() {
    #expect(Call().events.isEmpty)
    #expect(Call(listeners: [EventLog(.exceptBytes)]).events == .exceptBytes)
    #expect(Call(listeners: [EventLog(.metrics), EventLog([.note, .bytes])]).events == [.metrics, .note, .bytes])
  }

  @Test func theEndIsReportedLastEvenIfAListenerEndsTheCall() {
    let ending = EventHandler { event, call in if case .note = event { call.end(nil) } }
    let log = EventLog()
    let call = Call(listeners: [ending, log])

    for note in ["first", "second"] { call.emit(.note(note)) }
    call.end(nil)

    #expect(log.lines == ["note: first", "finished"])
  }

  @Test func aBodyInMemoryIsReportedAtOnce() async throws {
    let log = EventLog(.all)
    let request = HTTPRequest(.post, origin, body: .data(Data("abc".utf8)))

    _ = try await session(log, transport: ScriptedTransport(.text(""))).data(for: request)

    let names = log.lines.prefix(5).map { String($0.prefix { $0 != " " }) }
    #expect(names == ["started", "attempt", "forward:", "sending", "bytes"])
  }

  @Test func withoutSuchAListenerBodiesAreNotWrapped() async throws {
    let seen = Mutex<[Bool]>([])
    let transport = TestTransport { request in
      let body = try await request.body.open()
      seen.withLock { $0.append(body.length == 3 && request.body.length == 3) }
      return .text("")
    }
    for listener in [EventLog(), EventLog(.all)] {
      let request = HTTPRequest(.post, origin, body: .stream(length: 3) { chunks("abc") })
      _ = try await session(listener, transport: transport).data(for: request)
    }

    #expect(seen.withLock { $0 } == [true, true])
  }

  @Test func theSentRequestIsReportedWithTheInterceptorsChanges() async throws {
    let log = EventLog()
    var configuration = SessionConfiguration()
    configuration.listeners = [log]
    configuration.interceptors = [
      TestInterceptor(prepare: { request in HTTPRequest(.put, request.url) })
    ]
    _ = try await HTTPSession(transport: ScriptedTransport(.text("")), configuration: configuration)
      .data(for: HTTPRequest(.get, origin))

    #expect(log.lines.contains("sending PUT http://a.example/"))
  }

  @Test func descriptionsOfRequestsResponsesAndErrorsShowNoSecrets() async throws {
    let target = url("http://u:hidden@a.example/?token=hidden")
    let request = HTTPRequest(
      .post, target, fields: [.authorization: "Bearer hidden"], body: .data(Data("password=hidden".utf8)))
    let transport = ScriptedTransport(
      MockResponse(status: 302, fields: [.location: "http://u:hidden@b.example/?code=hidden", .setCookie: "a=hidden"]),
      .failure(HTTPError(.connectionLost, "gone")))
    let events = Mutex<[String]>([])
    let listener = EventHandler { event, _ in events.withLock { $0.append("\(event)") } }

    let error = await #expect(throws: HTTPError.self) {
      try await session(listener, transport: transport).data(for: request)
    }

    let texts = events.withLock { $0 } + ["\(request)", String(reflecting: error), "\(error?.history ?? [])"]
    #expect(texts.count > 6)
    for text in texts { #expect(!text.contains("hidden"), "\(text)") }
  }
}
