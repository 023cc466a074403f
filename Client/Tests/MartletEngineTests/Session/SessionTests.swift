import CallDoubles
import Foundation
@_spi(Stores) @_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionTests {
  private func session(
    clock: any Clock<Duration> = ContinuousClock(),
    _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    return HTTPSession(transport: TestTransport(answer), configuration: configuration)
  }

  @Test func dataReturnsTheBytesAndTheResponse() async throws {
    let (data, response) = try await session { _ in .text("hello") }.data(for: HTTPRequest(.get, origin))
    #expect(data == Data("hello".utf8))
    #expect(response.status == .ok)
    #expect(response.networkHead == nil)
  }

  @Test func bytesAreCollectedInOrder() async throws {
    let source = WatchedSource(["one ", "two ", "three"])
    let (data, _) = try await session { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
      .data(for: HTTPRequest(.get, origin))
    #expect(data == Data("one two three".utf8))
  }

  @Test func aBodyLargerThanItsLimitIsCancelled() async throws {
    let source = WatchedSource(Array(repeating: "0123456789", count: 100))
    let session = session { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
    var request = HTTPRequest(.get, origin)
    request.options.bodyLimit = 25

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(error?.kind == .bodyTooLarge)
    #expect(error?.message.contains("25") == true)
    #expect(error?.response?.status == .ok)
    #expect(source.isCancelled)
  }

  @Test func anAnnouncedLengthAboveTheLimitIsRefusedUnread() async throws {
    let source = WatchedSource(["x"])
    let session = session { _ in HTTPResponse(body: ResponseBody(length: 1000, from: source), url: origin) }
    var request = HTTPRequest(.get, origin)
    request.options.collectLimit = 999

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(error?.kind == .bodyTooLarge)
    #expect(source.isCancelled)
  }

  @Test func anErrorOfABodyAfterA303NamesTheRequestThatWasSent() async throws {
    let transport = ScriptedTransport(.redirect(to: "/new", status: 303), .text("hello"))
    var request = HTTPRequest(.post, origin, body: .data(Data("a".utf8)))
    request.options.bodyLimit = 4

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: transport).data(for: request)
    }

    #expect(error?.kind == .bodyTooLarge)
    #expect(error?.request?.method == .get)
    #expect(error?.request?.url.path == "/new")
  }

  private typealias Verb = @Sendable (HTTPSession, HTTPRequest) async throws -> Void

  private static let failingVerbs: [(name: String, run: Verb)] = [
    ("expecting", { session, request in _ = try await session.data(for: request, expecting: .only([.created])) }),
    ("value", { session, request in _ = try await session.value(of: Int.self, for: request) }),
    ("text", { session, request in _ = try await session.text(for: request) }),
    ("pages", { session, request in for try await _ in session.pages(of: Int.self, for: request) {} }),
    (
      "download",
      { session, request in
        var request = request
        request.options.expecting = .only([.created])
        _ = try await session.download(for: request, to: FileManager.default.temporaryDirectory.appending(path: "none"))
      }
    ),
  ]

  @Test(arguments: 0..<failingVerbs.count)
  func anErrorAboutAResponseNamesTheRequestThatWasSent(_ index: Int) async throws {
    let verb = Self.failingVerbs[index]
    let transport = ScriptedTransport(
      .redirect(to: "/new", status: 303),
      MockResponse(fields: [.contentType: "text/plain; charset=none"], content: Data("no text".utf8)))
    var configuration = SessionConfiguration()
    configuration.interceptors = [
      TestInterceptor(prepare: { request in
        var request = request
        request.fields["X-Sent"] = "1"
        return request
      })
    ]
    let session = HTTPSession(transport: transport, configuration: configuration)

    let error = await #expect(throws: HTTPError.self) {
      try await verb.run(session, HTTPRequest(.post, origin, body: .data(Data("a".utf8))))
    }

    #expect(error?.request?.method == .get, "\(verb.name): \(String(describing: error))")
    #expect(error?.request?.url.path == "/new")
    #expect(error?.request?.fields["X-Sent"] == "1")
  }

  @Test(arguments: [nil, Duration.seconds(60)])
  func aBodyThatWasReceivedAtOnceIsLimitedReadOnceAndEndsItsCall(_ deadline: Duration?) async throws {
    let calls = Mutex<[Call]>([])
    let session = HTTPSession(
      transport: CallTransport { request, call in
        calls.withLock { $0.append(call) }
        // its length is not known from the head
        return HTTPResponse(body: ResponseBody(from: DataSource(Data("12345".utf8))), url: request.url)
      })
    var request = HTTPRequest(.get, origin)
    request.options.deadline = deadline
    request.options.bodyLimit = 5

    let (data, response) = try await session.data(for: request)
    request.options.bodyLimit = 4
    let tooLarge = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(data == Data("12345".utf8))
    let readAgain = await #expect(throws: HTTPError.self) { try await response.body.collect(upTo: 5) }
    #expect(readAgain?.kind == .bodyAlreadyRead)
    #expect(tooLarge?.kind == .bodyTooLarge)
    #expect(tooLarge?.request?.url == origin)
    #expect(tooLarge?.response?.status == .ok)
    #expect(calls.withLock { $0.map(\.isOver) } == [true, true])
    #expect(calls.withLock { $0.map(\.remainingTime) } == [nil, nil])
  }

  @Test func aListenerIsToldOfABodyThatWasReceivedAtOnce() async throws {
    let log = EventLog()
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [log]
    _ = try await session { _ in .text("12345") }.data(for: request)
    #expect(log.lines.suffix(2) == ["received 5", "finished"])
  }

  @Test func collectingNamesALimit() async throws {
    let (body, _) = try await session { _ in .text("12345") }.bytes(for: HTTPRequest(.get, origin))
    let error = await #expect(throws: HTTPError.self) { try await body.collect(upTo: 4) }
    #expect(error?.kind == .bodyTooLarge)

    let (exact, _) = try await session { _ in .text("12345") }.bytes(for: HTTPRequest(.get, origin))
    #expect(try await exact.collect(upTo: 5).count == 5)
  }

  @Test func aBodyIsReadOnce() async throws {
    let (body, _) = try await session { _ in .text("12345") }.bytes(for: HTTPRequest(.get, origin))
    _ = try await body.collect(upTo: 5)
    let error = await #expect(throws: HTTPError.self) { try await body.collect(upTo: 5) }
    #expect(error?.kind == .bodyAlreadyRead)
  }

  @Test func uploadReplacesTheBodyOfTheRequest() async throws {
    let session = session { request in .text(String(decoding: request.body.bytes ?? Data(), as: UTF8.self)) }
    let request = HTTPRequest(.put, origin, body: .data(Data("old".utf8)))
    let (data, _) = try await session.upload(for: request, from: .data(Data("new".utf8)))
    #expect(data == Data("new".utf8))
  }

  @Test func onlyFromTheCacheWithoutACacheIsAnError() async throws {
    var request = HTTPRequest(.get, origin)
    request.options.cachePolicy = .returnCacheDataDontLoad
    let error = await #expect(throws: HTTPError.self) {
      try await session { _ in .text("network") }.data(for: request)
    }
    #expect(error?.kind == .notCached)
  }

  @Test func aRequestInheritsTheSessionsOptions() async throws {
    var configuration = SessionConfiguration()
    configuration.options.idleTimeout = .seconds(5)
    configuration.options.responseTimeout = .seconds(7)
    let transport = ScriptedTransport(.text("done"))
    var request = HTTPRequest(.get, origin)
    request.options.idleTimeout = nil

    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)

    let sent = try #require(transport.requests.first).options
    #expect(sent.idleTimeout == nil)
    #expect(sent.responseTimeout == .seconds(7))
    #expect(sent.deadline == nil)
  }

  @Test func aCopyOfOptionsIsChangedAlone() {
    var first = RequestOptions()
    first.deadline = .seconds(1)
    var second = first
    second.deadline = .seconds(2)
    second.listeners.append(EventLog())

    #expect(first.deadline == .seconds(1))
    #expect(first.listeners.isEmpty)
    #expect(second.deadline == .seconds(2))
    #expect(RequestOptions().deadline == nil)
  }

  @Test func aRequestWithOnlyAListenerHasTheSessionsOptions() async throws {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.options.bodyLimit = 2
    let (ofSession, ofRequest) = (EventLog(), EventLog())
    configuration.listeners = [ofSession]
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [ofRequest]

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession(transport: ScriptedTransport(.text("done")), configuration: configuration)
        .data(for: request)
    }

    #expect(error?.kind == .bodyTooLarge)
    #expect(ofSession.lines.last == "finished bodyTooLarge")
    #expect(ofRequest.lines == ofSession.lines)
  }

  @Test func theOriginOfARequestIsThatOfItsURL() throws {
    var request = HTTPRequest(.get, try #require(URL(string: "http://a.example:8080/x")))
    #expect(request.origin?.description == "http://a.example:8080")
    request.fields[.accept] = "text/plain"
    request.method = .post
    request.body = .data(Data("a".utf8))
    #expect(request.origin?.description == "http://a.example:8080")
    #expect(request.fields[.accept] == "text/plain")
    request.url = try #require(URL(string: "https://b.example/x"))
    #expect(request.origin?.description == "https://b.example")
    request.head.url = try #require(URL(string: "file:///x"))
    #expect(request.origin == nil)
    #expect(request.method == .post)
    #expect(request.body.bytes == Data("a".utf8))
  }

  @Test func theDeadlineEndsACallThatIgnoresCancellation() async throws {
    let clock = ManualClock()
    let deaf = Gate()
    let session = session(clock: clock) { _ in
      await Task.detached { try? await deaf.wait() }.value
      return .text("late")
    }
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(10)

    let call = Task { [request] in try await session.data(for: request) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(error?.isTimeout == true)
    deaf.open()
  }

  /// `.seconds(.max)` means "no limit".
  @Test func unlimitedTimesDoNotOverflow() async throws {
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(Int64.max)
    request.options.responseTimeout = .seconds(Int64.max)
    let session = HTTPSession(transport: MockTransport { _ in .text("here") })

    #expect(try await session.data(for: request).0 == Data("here".utf8))

    request.options.deadline = .seconds(Int64.min)
    let call = Task { [request] in try await session.data(for: request) }
    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func cancellationEndsAnUnlimitedDelay() async throws {
    let waits = Gate()
    var configuration = SessionConfiguration()
    configuration.listeners = [EventHandler { event, _ in if case .resend = event { waits.open() } }]
    configuration.interceptors = [
      TestInterceptor(review: { _, attempt in .resend(attempt.request, after: .seconds(Int64.max), reason: "later") })
    ]
    let session = HTTPSession(transport: MockTransport { _ in .text("here") }, configuration: configuration)

    let call = Task { try await session.data(for: HTTPRequest(.get, origin)) }
    try await waits.wait()
    call.cancel()

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func theDeadlineAlsoEndsABodyThatStalls() async throws {
    struct Stalling: BodySource {
      func next() async throws -> Data? {
        try await Task.sleep(for: .seconds(1000))
        return nil
      }
    }
    let clock = ManualClock()
    let session = session(clock: clock) { _ in HTTPResponse(body: ResponseBody(from: Stalling()), url: origin) }
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(10)
    let (body, _) = try await session.bytes(for: request)

    let call = Task { try await body.collect(upTo: 1) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func eventsAreReportedInOrder() async throws {
    let log = EventLog()
    let transport = ScriptedTransport(.redirect(to: "/b"), .text("hello"))
    var request = HTTPRequest(.get, url("http://a.example/a"))
    request.options.listeners = [log]

    _ = try await HTTPSession(transport: transport).data(for: request)

    #expect(
      log.lines == [
        "started", "attempt 1 GET http://a.example/a", "sending GET http://a.example/a", "response 302",
        "resend: 302 redirect to http://a.example/b", "attempt 2 GET http://a.example/b",
        "sending GET http://a.example/b", "response 200", "received 5", "finished",
      ])
  }

  @Test func anAbandonedBodyIsFinishedAsCancelled() async throws {
    let log = EventLog()
    let source = WatchedSource(["a", "b"])
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [log]

    do {
      let (body, _) = try await session { _ in HTTPResponse(body: ResponseBody(from: source), url: origin) }
        .bytes(for: request)
      for try await _ in body { break }
    }

    #expect(log.lines.last == "finished cancelled")
    #expect(source.isCancelled)
  }

  @Test func aSessionPrintsWhatItHasWithoutSecrets() {
    var configuration = SessionConfiguration()
    configuration.baseURL = URL(string: "https://ada:secret@api.example.com/v1")
    configuration.interceptors = [CorrelationInterceptor()]
    configuration.listeners = [LogListener(), LogListener()]
    configuration.credentials = [
      PasswordSource(Credential(user: "ada", password: "secret"), for: .matching(\.isSecure))
    ]
    let session = HTTPSession(transport: TestTransport { _ in .text("") }, configuration: configuration)
    #expect(
      session.description
        == "HTTPSession of https://api.example.com/v1: 1 interceptor, 2 listeners, 1 credential source, cookies, a cache"
    )
    configuration = SessionConfiguration(cookies: nil, cache: nil)
    #expect(
      HTTPSession(transport: TestTransport { _ in .text("") }, configuration: configuration).description
        == "HTTPSession: no cookies, no cache")
  }

  @Test func errorsShowNoSecrets() async throws {
    let secret = url("http://anna:secret@a.example/path?token=hidden#part")
    let session = session { _ in throw HTTPError(.connectionLost, "gone", phase: .receiving) }
    var request = HTTPRequest(.get, secret)
    request.fields[.authorization] = "Bearer hidden"

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    let text = String(describing: error)
    for word in ["secret", "hidden", "anna"] { #expect(!text.contains(word), "\(text)") }
    #expect(error?.description == "connectionLost: gone (GET http://a.example/path?…)")
    #expect(error?.errorDescription == "gone")
  }
}
