import InMemoryTracing
import Martlet
import MartletTesting
import MartletTracing
import Testing
import Tracing

/// Calls and their attempts are spans, and servers receive their context.
@Suite(.timeLimit(.minutes(5))) struct CallTracerTests {
  private let tracer = InMemoryTracer()

  private func session(
    _ transport: any Transport, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    change(&configuration)
    configuration.trace(with: CallTracer(tracer))
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func texts(_ span: FinishedInMemorySpan) -> [String: String] {
    var texts: [String: String] = [:]
    span.attributes.forEach { name, value in
      switch value {
      case .string(let text): texts[name] = text
      case .int64(let number): texts[name] = "\(number)"
      default: texts[name] = "\(value)"
      }
    }
    return texts
  }

  @Test func aCallIsASpanAndEveryAttemptOneBelowIt() async throws {
    let transport = ScriptedTransport(.redirect(to: "/b?token=hidden"), .status(.notFound))
    let session = session(transport)
    var request = HTTPRequest(.get, "http://a.example/")
    request.options.label = "listOrders"
    let parentID = try await tracer.withSpan("handler") { [request] span in
      _ = try await session.data(for: request)
      return span.spanID
    }

    let spans = tracer.finishedSpans
    #expect(spans.map(\.operationName) == ["GET", "GET", "listOrders", "handler"])
    let (first, second, call) = (spans[0], spans[1], spans[2])
    #expect(call.parentSpanID == parentID)
    #expect([first, second].allSatisfy { $0.parentSpanID == call.spanID })
    #expect(Set(spans.map(\.traceID)).count == 1)
    #expect(call.kind == .internal && first.kind == .client && second.kind == .client)
    #expect(
      texts(first) == [
        "http.request.method": "GET", "url.full": "http://a.example/", "server.address": "a.example",
        "server.port": "80", "http.response.status_code": "302",
        "martlet.resend.reason": texts(first)["martlet.resend.reason"] ?? "none",
      ])
    #expect(texts(first)["martlet.resend.reason"]?.isEmpty == false)
    #expect(
      texts(second) == [
        "http.request.method": "GET", "url.full": "http://a.example/b?token=***", "server.address": "a.example",
        "server.port": "80", "http.response.status_code": "404", "error.type": "404", "http.request.resend_count": "1",
      ])
    #expect(texts(call)["http.response.status_code"] == "404")
    #expect(first.status?.code == nil)
    #expect(second.status?.code == .error && call.status?.code == .error)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func everyRequestCarriesTheContextOfItsAttempt() async throws {
    let transport = ScriptedTransport(.redirect(to: "/b"), .text("ok"))
    _ = try await session(transport).data(for: HTTPRequest(.get, "http://a.example/"))

    let attempts = tracer.finishedSpans.filter { $0.kind == .client }
    #expect(transport.requests.map { $0.fields["in-memory-span-id"] } == attempts.map(\.spanID))
    #expect(transport.requests.map { $0.fields["in-memory-trace-id"] } == attempts.map(\.traceID))
    #expect(Set(attempts.map(\.spanID)).count == 2)
  }

  @Test func aFailureIsRecordedAndARetryIsAnAttempt() async throws {
    let transport = ScriptedTransport(
      .failure(HTTPError(.connectionLost, "gone")), .failure(HTTPError(.cannotConnect, "nobody")))
    let session = session(transport) { configuration in
      configuration.options.retryPolicy = RetryPolicy(limit: 1)
      configuration.options.retryPolicy.backoff = Backoff(base: .zero)
    }
    _ = try? await session.data(for: HTTPRequest(.get, "http://a.example/"))

    let spans = tracer.finishedSpans
    #expect(spans.map { texts($0)["error.type"] } == ["connectionLost", "cannotConnect", "cannotConnect"])
    #expect(spans.allSatisfy { $0.status?.code == .error })
    #expect(spans.last?.errors.count == 1)
    #expect(transport.requests.count == 2)
  }

  @Test func aRefusalHasItsStatusAlsoIfItBecomesAnError() async throws {
    let session = session(ScriptedTransport(.status(.notFound)))
    await #expect(throws: HTTPError.self) {
      _ = try await session.value(of: [Int].self, for: HTTPRequest(.get, "http://a.example/"))
    }
    let spans = tracer.finishedSpans
    #expect(spans.map { texts($0)["error.type"] } == ["404", "404"])
    #expect(spans.map { texts($0)["http.response.status_code"] } == ["404", "404"])
    #expect(spans.last?.errors.count == 1)
  }

  /// Prepares a request with a tracer when a gate is open, even if its call has ended before.
  private struct LateTracing: Interceptor {
    let tracer: CallTracer
    let held = Gate()
    let prepared = Gate()
    let stages: InterceptorStages = .prepare

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      defer { prepared.open() }
      return try await Task {
        try await held.wait()
        return try await tracer.prepare(request, in: call)
      }.value
    }
  }

  @Test func noSpanBeginsAfterTheEndOfItsCall() async throws {
    let clock = ManualClock()
    let tracing = LateTracing(tracer: CallTracer(tracer))
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.options.deadline = .seconds(1)
    configuration.interceptors = [tracing]
    configuration.listeners = [tracing.tracer]
    let session = HTTPSession(transport: ScriptedTransport(), configuration: configuration)
    let call = Task { try await session.data(for: HTTPRequest(.get, "http://a.example/")) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    let error = await #expect(throws: HTTPError.self) { _ = try await call.value }
    #expect(error?.kind == .deadlineExceeded)

    tracing.held.open()
    try await tracing.prepared.wait()
    #expect(tracer.activeSpans.isEmpty)
    #expect(tracer.finishedSpans.count == 1)
  }

  /// An attempt that an interceptor answers has no span.
  @Test func resendsAreCountedByTheNumberOfTheAttempt() async throws {
    /// Answers the first attempt itself, and then sends the request.
    struct Answerer: Interceptor {
      let hasAnswered = CallLocal(false)

      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        guard !call[hasAnswered] else { return .send(request) }
        return .respond(HTTPResponse(status: .unauthorized, url: request.url))
      }

      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        guard !call[hasAnswered] else { return .accept }
        call[hasAnswered] = true
        return .resend(attempt.request, reason: "the next attempt is sent")
      }
    }
    let session = session(ScriptedTransport(.text("ok"))) { $0.interceptors = [Answerer()] }
    _ = try await session.data(for: HTTPRequest(.get, "http://a.example/"))

    let attempts = tracer.finishedSpans.filter { $0.kind == .client }
    #expect(attempts.map { texts($0)["http.request.resend_count"] } == ["1"])
  }

  @Test func theCacheIsTheSourceOfAnAttempt() async throws {
    let stored = MockResponse(status: .ok, fields: [.cacheControl: "max-age=1000"], content: Data("ok".utf8))
    let session = session(ScriptedTransport(stored)) { $0.cache = HTTPCache() }
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, "http://a.example/")) }

    let attempts = tracer.finishedSpans.filter { $0.kind == .client }
    #expect(attempts.map { texts($0)["martlet.response.source"] } == [nil, "cache"])
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test func overSocketsTheVersionAndThePeerAreKnown() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    _ = try await session(SocketTransport()).data(for: HTTPRequest(.get, server.url("/")))

    let attempt = try #require(tracer.finishedSpans.first)
    #expect(texts(attempt)["network.protocol.version"] == "1.1")
    #expect(texts(attempt)["network.peer.address"] == "127.0.0.1")
    #expect(texts(attempt)["network.peer.port"] == "\(server.port)")
    #expect(server.requests.first?.fields["in-memory-span-id"] == attempt.spanID)
  }

  @Test func theSpansEndWithTheBody() async throws {
    let (body, _) = try await session(MockTransport { _ in .text("hello") })
      .bytes(for: HTTPRequest(.get, "http://a.example/"))
    #expect(tracer.finishedSpans.isEmpty)
    _ = try await body.collect(upTo: 100)
    #expect(tracer.finishedSpans.count == 2)
  }

  @Test(arguments: [true, false]) func oneTraceParentIsSentBesideACorrelationInterceptor(isLast: Bool) async throws {
    let transport = ScriptedTransport(.redirect(to: "/b"), .text("ok"))
    var configuration = SessionConfiguration()
    let correlation = CorrelationInterceptor(trace: .sampled)
    if !isLast { configuration.interceptors.append(correlation) }
    configuration.trace(with: CallTracer(TraceContextTracer(base: tracer)))
    if isLast { configuration.interceptors.append(correlation) }
    let session = HTTPSession(transport: transport, configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, "http://a.example/", fields: ["tracestate": "other=1"]))

    let attempts = tracer.finishedSpans.filter { $0.kind == .client }
    #expect(attempts.count == 2)
    #expect(
      transport.requests.map { $0.fields[values: "traceparent"] }
        == attempts.map { [TraceContextTracer.traceParent($0.spanID)] })
    #expect(transport.requests.allSatisfy { !$0.fields.contains("tracestate") })
    #expect(transport.requests.allSatisfy { $0.fields.contains("X-CorrelationID") })
  }
}

/// A tracer that sends W3C Trace Context, with the number of the span as parent ID.
private struct TraceContextTracer: Tracer {
  let base: InMemoryTracer

  static func traceParent(_ spanID: String) -> String {
    let digits = spanID.filter(\.isNumber)
    return "00-0af7651916cd43dd8448eb211c80319c-" + String(repeating: "0", count: 16 - digits.count) + digits + "-01"
  }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> InMemorySpan {
    base.startSpan(
      operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
  }

  func forceFlush() {}

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let span = context.inMemorySpanContext else { return }
    injector.inject(Self.traceParent(span.spanID), forKey: "traceparent", into: &carrier)
  }

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}
}
