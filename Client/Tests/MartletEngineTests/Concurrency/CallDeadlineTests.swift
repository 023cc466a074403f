import CallDoubles
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

@_spi(Toolkit) @_spi(Transports) @testable import MartletEngine

/// Work that ends at a call's deadline by itself is awaited in the caller's task; all other work is not.
@Suite("Deadlines of calls", .timeLimit(.minutes(5)))
struct CallDeadlineTests {
  private let clock = ManualClock()

  /// A transport that ends its waits at the deadline.
  private struct AwareTransport: Transport, DeadlineAware {
    let answer: @Sendable (HTTPRequest, Call) async throws -> HTTPResponse
    var endsAtDeadline: Bool { true }

    init(_ answer: @escaping @Sendable (HTTPRequest, Call) async throws -> HTTPResponse) { self.answer = answer }

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse { try await answer(request, call) }
  }

  private func session(
    _ transport: any Transport, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func request(_ deadline: Duration = .seconds(10)) -> HTTPRequest {
    var request = HTTPRequest(.get, origin)
    request.options.deadline = deadline
    return request
  }

  /// A transport whose server never answers.
  private let silentTransport = AwareTransport { _, call in try await call.wait(for: OneShot<HTTPResponse>()) }

  private static var task: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  @Test(arguments: [true, false])
  func onlyATransportThatEndsAtTheDeadlineIsAwaitedInTheCallersTask(_ isAware: Bool) async throws {
    let seen = Mutex<[Int?]>([])
    let answer: @Sendable (HTTPRequest, Call) async throws -> HTTPResponse = { _, _ in
      seen.withLock { $0.append(Self.task) }
      return .text("hello")
    }
    let session = session(isAware ? AwareTransport(answer) : CallTransport(answer))

    #expect(try await session.data(for: request()).0 == Data("hello".utf8))
    #expect(seen.withLock { $0 == [Self.task] } == isAware)
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func afterTheDeadlineNothingIsSent(_ deadline: Duration) async throws {
    let session = session(
      AwareTransport { _, _ in
        Issue.record("the request was sent")
        return .text("hello")
      })

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request(deadline)) }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func theDeadlineEndsTheWaitForAHead() async throws {
    let session = session(silentTransport)
    let call = Task { try await session.data(for: request()) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(error?.message == "the call took longer than its deadline of 10 s")
    #expect(error?.request?.url == origin)
  }

  /// Counts its cancellations.
  private struct CountingBody: BodySource {
    let cancellations: Counter

    func next() async throws -> Data? { nil }
    func cancel() { cancellations.next() }
  }

  @Test func theBodyOfAResponseThatComesTooLateIsCancelled() async throws {
    let gate = Gate(), cancellations = Counter()
    let session = session(
      CallTransport { _, _ in
        _ = await Task { try? await gate.wait() }.value  // Ignores that it is cancelled.
        return HTTPResponse(body: ResponseBody(from: CountingBody(cancellations: cancellations)), url: origin)
      })
    let call = Task { try await session.data(for: request()) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)

    gate.open()
    try await until { cancellations.value == 1 }
  }

  @Test func theBodyOfAnAnswerToARequestThatCannotBeSentIsCancelled() async throws {
    struct Answering: Interceptor {
      let cancellations: Counter

      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        .respond(HTTPResponse(body: ResponseBody(from: CountingBody(cancellations: cancellations)), url: request.url))
      }
    }
    let cancellations = Counter()
    let session = session(CallTransport { _, _ in .text("sent") }) {
      $0.interceptors = [Answering(cancellations: cancellations)]
    }
    await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.head, origin, body: .data(Data("a".utf8))))
    }
    #expect(cancellations.value == 1)
  }

  @Test func aClosableTransportEndsAtTheDeadlineIfItsBaseDoes() {
    let gate = CallGate()
    #expect(ClosableTransport(AwareTransport { _, _ in .text("hello") }, gate).endsAtDeadline)
    #expect(!ClosableTransport(CallTransport { _, _ in .text("hello") }, gate).endsAtDeadline)
  }

  private func configurationWithAllLayers() -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.limits.concurrency = ConcurrencyLimit(10)
    configuration.limits.rate = RateLimit(100, per: .seconds(1))
    configuration.limits.circuitBreaker = CircuitBreaker()
    configuration.limits.hedging = Hedging()
    configuration.limits.deadlineField = DeadlineField("X-Request-Timeout-Ms")
    configuration.options.decompressionRatioLimit = 1000
    configuration.options.deadline = .seconds(60)
    configuration.listeners = [EventHandler(.all) { _, _ in }]
    return configuration
  }

  /// Otherwise each call with a deadline would cost a task for its transport and one for its body.
  @Test func everyLayerAroundSocketsEndsAtTheDeadline() async throws {
    let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="))  // gzip of "hello"
    let server = try LoopbackServer { _ in
      .data(coded).with(.contentEncoding, "gzip").with(.cacheControl, "max-age=60").with(.setCookie, "a=1")
    }
    let bodies = Log<Bool>()
    var configuration = configurationWithAllLayers()
    configuration.interceptors = [
      TestInterceptor(review: { outcome, _ in
        let body = try outcome.get().body
        bodies.append(Deadline.isKept(by: body.source))
        return .accept
      })
    ]
    let transport = SocketTransport()
    #expect(AttemptLoop(to: transport, configuration).transportEndsAtDeadline)

    let session = HTTPSession(transport: transport, configuration: configuration)
    for source in [HTTPResponse.Source.network, .cache] {
      let (data, response) = try await session.data(for: HTTPRequest(.get, server.url("/")))
      #expect(data == Data("hello".utf8))
      #expect(response.source == source)
    }
    #expect(bodies.entries == [true, true])
  }

  /// A body whose rest never comes; the wait for it ends at the deadline.
  private final class PartialBody: BodySource, DeadlineAware {
    private let call: Call
    private let part = Mutex<Data?>(Data("part".utf8))
    var endsAtDeadline: Bool { true }

    init(in call: Call) { self.call = call }

    func next() async throws -> Data? {
      if let part = part.withLock({ $0.take() }) { return part }
      return try await call.wait(for: OneShot<Data>())
    }

    func cancel() {}
  }

  @Test func theDeadlineEndsTheWaitForABody() async throws {
    let transport = AwareTransport { request, call in
      let head = ResponseHead(lines: Array("HTTP/1.1 200 OK\r\n".utf8))
      return HTTPResponse(to: request, networkHead: head, from: PartialBody(in: call))
    }
    let (body, _) = try await session(transport).bytes(for: request())
    var chunks = body.makeAsyncIterator()
    #expect(try await chunks.next() == Data("part".utf8))

    clock.advance(by: .seconds(10))
    let error = await #expect(throws: HTTPError.self) { try await chunks.next() }
    #expect(error?.kind == .deadlineExceeded)
    #expect(error?.response?.status == .ok)
  }

  enum Stage: String, CaseIterable, Sendable { case prepare, review }

  @Test(arguments: Stage.allCases)
  func theDeadlineEndsAnInterceptorThatIgnoresCancellation(_ stage: Stage) async throws {
    let never = Gate()
    let wait: @Sendable () async -> Void = { await Task.detached { try? await never.wait() }.value }
    let session = session(AwareTransport { _, _ in .text("hello") }) {
      $0.interceptors = [
        TestInterceptor(
          prepare: { request in
            if stage == .prepare { await wait() }
            return request
          },
          review: { _, _ in
            if stage == .review { await wait() }
            return .accept
          })
      ]
    }
    let call = Task { try await session.data(for: request()) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
    never.open()
  }

  @Test func noInterceptorIsAskedAfterTheDeadline() async throws {
    let reviews = Counter()
    let session = session(silentTransport) {
      $0.interceptors = [
        TestInterceptor(review: { _, attempt in
          reviews.next()
          return .resend(attempt.request, reason: "once more")
        })
      ]
    }
    let call = Task { try await session.data(for: request()) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(reviews.value == 0)
  }

  @Test func theDeadlineOfARequestDoesNotEndAnIdenticalOne() async throws {
    let sent = Counter()
    let (hasBegun, hasJoined) = (Gate(), Gate())
    let session = session(
      AwareTransport { _, call in
        guard sent.next() == 1 else { return .text("second") }
        hasBegun.open()
        return try await call.wait(for: OneShot<HTTPResponse>())
      }
    ) { $0.listeners = [EventHandler { event, _ in if case .note = event { hasJoined.open() } }] }
    let first = Task { try await session.data(for: request()) }
    try await hasBegun.wait()
    let second = Task { try await session.data(for: HTTPRequest(.get, origin)).0 }
    try await hasJoined.wait()
    try await clock.sleepers(2)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await first.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(try await second.value == Data("second".utf8))
  }
}
