import CallDoubles
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Second requests when the first takes unusually long.
@Suite(.timeLimit(.minutes(5)))
struct HedgingTests {
  private let log = EventLog(.all)
  private let clock = ManualClock()
  private let sent = Log<String>()

  private func session(_ transport: any Transport, change: (inout SessionConfiguration) -> Void = { _ in })
    -> HTTPSession
  {
    var configuration = SessionConfiguration()
    configuration.limits.hedging = Hedging()
    configuration.listeners = [log]
    configuration.cache = nil
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// A transport that answers `/warm` at once, and the first and second request for another path as configured.
  private func transport(
    first: @escaping @Sendable () async throws -> String, second: @escaping @Sendable () async throws -> String
  ) -> TestTransport {
    TestTransport { [sent] request in
      guard request.url.path() != "/warm" else { return .text("warm") }
      sent.append(request.url.path())
      return .text(try await sent.entries.count == 1 ? first() : second())
    }
  }

  /// Sends enough requests for the session to learn how long the origin takes, which is no time at all.
  private func warmUp(_ session: HTTPSession, _ count: Int = 20) async throws {
    for _ in 0..<count { _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/warm"))) }
  }

  /// Starts a request whose first sending is not answered, and advances the time after which a second one is sent.
  ///
  /// - Parameter alarms: the number of alarms that the request sets on the clock.
  private func begin(
    _ session: HTTPSession, _ request: HTTPRequest, alarms: Int = 1
  ) async throws -> Task<(Data, HTTPResponse), any Error> {
    let task = Task { try await session.data(for: request) }
    try await clock.sleepers(alarms)
    try await until { !sent.entries.isEmpty }
    clock.advance(by: .milliseconds(1))
    return task
  }

  private let request = HTTPRequest(.get, url("http://a.example/slow"))
  private var hedges: [String] { log.lines.filter { $0.contains("a second request") } }

  @Test func theSecondAnswerIsUsedAndTheFirstRequestIsCancelled() async throws {
    let cancelled = Gate(), gate = Gate()
    let session = session(
      transport(
        first: {
          do { try await gate.wait() } catch {
            cancelled.open()
            throw error
          }
          return "first"
        }, second: { "second" }))
    try await warmUp(session)
    let (data, response) = try await begin(session, request).value
    #expect(data == Data("second".utf8))
    try await cancelled.wait()
    #expect(response.history.count == 1)
    #expect(
      response.history.first?.reason
        == "no response within 1 ms, so that a second request was sent; the second answered first")
    #expect(
      hedges == [
        "limit: http://a.example: no response within 1 ms, a second request was sent; the second answered"
      ])
    #expect(sent.entries == ["/slow", "/slow"])
  }

  @Test func theFirstAnswerIsUsedIfItComesFirst() async throws {
    let first = Gate(), second = Gate()
    let session = session(
      transport(
        first: {
          try await first.wait()
          return "first"
        },
        second: {
          try await second.wait()
          return "second"
        }))
    try await warmUp(session)
    let task = try await begin(session, request)
    try await until { sent.entries.count >= 2 }
    first.open()
    let (data, response) = try await task.value
    #expect(data == Data("first".utf8))
    #expect(response.history.first?.reason.hasSuffix("the first answered first") == true)
    #expect(hedges.count == 1)
  }

  @Test func theWaitForAnotherLimitIsNotTheTimeOfTheOrigin() async throws {
    let held = Gate(), never = Gate()
    let transport = TestTransport { [sent] request in
      sent.append(request.url.path())
      switch request.url.path() {
      case "/held": try await held.wait()
      case "/slow" where sent.entries.filter { $0 == "/slow" }.count == 1: try await never.wait()
      default: break
      }
      return .text("ok")
    }
    let session = session(transport) { $0.limits.concurrency = ConcurrencyLimit(2, waitLimit: nil) }
    try await warmUp(session)

    let holders = (0..<2).map { _ in
      Task { try await session.data(for: HTTPRequest(.post, url("http://a.example/held"))) }
    }
    try await until { sent.entries.filter({ $0 == "/held" }).count >= 2 }
    let others = (0..<10).map { _ in
      Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/warm"))) }
    }
    try await until { log.lines.contains(where: { $0.contains("behind 9 others") }) }
    clock.advance(by: .seconds(10))
    held.open()
    for task in holders + others { _ = try await task.value }
    #expect(hedges.isEmpty)
    // so the origin is still known to answer at once
    let task = Task { try await session.data(for: request) }
    try await until { sent.entries.contains("/slow") }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    _ = try await task.value
    #expect(hedges.count == 1 && hedges.first?.contains("no response within 1 ms") == true)
  }

  @Test func theTimeDoesNotBeginWithARequestOfAnotherLimit() async throws {
    let store = AskingStore()
    var rate = RateLimit(1, per: .zero)
    rate.store = store
    let session = session(transport(first: { "take" }, second: { "first" })) { [rate] in $0.limits.rate = rate }
    try await warmUp(session)
    store.session.withLock { $0 = session }
    async let answer = session.data(for: request)
    try await store.asked.wait()
    clock.advance(by: .seconds(10))
    store.answered.open()
    _ = try await answer
    #expect(sent.entries == ["/take", "/slow"] && hedges.isEmpty)
  }

  @Test func anAnswerInTimeIsNotHedged() async throws {
    let session = session(transport(first: { "first" }, second: { "second" }))
    try await warmUp(session)
    let (data, response) = try await session.data(for: request)
    #expect(data == Data("first".utf8) && response.history.isEmpty && hedges.isEmpty)
    #expect(sent.entries == ["/slow"])
  }

  @Test func theSecondRequestCanSucceedWhereTheFirstFails() async throws {
    let first = Gate(), second = Gate()
    let session = session(
      transport(
        first: {
          try await first.wait()
          throw HTTPError(.connectionLost, "gone")
        },
        second: {
          try await second.wait()
          return "second"
        }))
    try await warmUp(session)
    let task = try await begin(session, request)
    try await until { sent.entries.count >= 2 }
    first.open()
    second.open()
    #expect(try await task.value.0 == Data("second".utf8))
  }

  @Test func ifBothFailTheErrorOfOneOfThemIsThatOfTheCall() async throws {
    let first = Gate()
    let session = session(
      transport(
        first: {
          try await first.wait()
          throw HTTPError(.connectionLost, "the first is gone")
        },
        second: {
          first.open()
          throw HTTPError(.connectionLost, "the second is gone")
        }))
    try await warmUp(session)
    let task = try await begin(session, request)
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .connectionLost)
    #expect(error?.message.hasSuffix("is gone") == true)
  }

  @Test func cancellingTheCallCancelsBoth() async throws {
    let ended = Counter(), gate = Gate()
    let wait: @Sendable () async throws -> String = {
      defer { ended.next() }
      try await gate.wait()
      return "late"
    }
    let session = session(transport(first: wait, second: wait))
    try await warmUp(session)
    let task = try await begin(session, request)
    try await until { sent.entries.count >= 2 }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.isCancelled == true)
    try await until { ended.value >= 2 }
  }

  @Test func theDeadlineEndsBoth() async throws {
    let ended = Counter(), gate = Gate()
    let wait: @Sendable () async throws -> String = {
      defer { ended.next() }
      try await gate.wait()
      return "late"
    }
    let session = session(transport(first: wait, second: wait))
    try await warmUp(session)
    var request = request
    request.options.deadline = .seconds(1)
    let task = try await begin(session, request, alarms: 2)
    try await until { sent.entries.count >= 2 }
    clock.advance(by: .seconds(1))
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .deadlineExceeded)
    try await until { ended.value >= 2 }
  }

  /// If an origin refuses the second request, it still has the first one.
  @Test func aRefusalOfTheSecondRequestWaitsForTheFirst() async throws {
    let first = Gate(), second = Gate()
    let session = session(
      TestTransport { [sent] request in
        guard request.url.path() != "/warm" else { return .text("warm") }
        sent.append(request.url.path())
        guard sent.entries.count > 1 else {
          try await first.wait()
          return .text("first")
        }
        second.open()
        return HTTPResponse(status: .tooManyRequests, url: request.url)
      })
    try await warmUp(session)
    let task = try await begin(session, request)
    try await second.wait()
    first.open()
    let (data, response) = try await task.value
    #expect(data == Data("first".utf8) && response.status == .ok)
    #expect(response.history.first?.reason.hasSuffix("the first answered first") == true)
  }

  @Test func whatMayNotBeRepeatedIsSentOnce() async throws {
    var marked = HTTPRequest(.get, url("http://a.example/slow"))
    marked.options.isIdempotent = false
    let once = AsyncStream<Data> { $0.finish() }
    let requests = [
      HTTPRequest(.post, url("http://a.example/slow"), body: .data(Data("a".utf8))), marked,
      // the second of two at the same time would be refused because the first has succeeded
      HTTPRequest(.put, url("http://a.example/slow"), fields: ["If-Match": "\"1\""], body: .data(Data("a".utf8))),
      HTTPRequest(.delete, url("http://a.example/slow")),
      HTTPRequest(.post, url("http://a.example/slow"), fields: ["Idempotency-Key": "1"]),
      HTTPRequest(.put, url("http://a.example/slow"), body: .singleUse(once)),
    ]
    for request in requests {
      let gate = Gate(), count = Counter()
      let session = session(
        TestTransport { request in
          guard request.url.path() != "/warm" else { return .text("warm") }
          count.next()
          try await gate.wait()
          return .text("only")
        })
      try await warmUp(session)
      let task = Task { try await session.data(for: request) }
      try await until { count.value != 0 }
      clock.advance(by: .seconds(10))
      gate.open()
      #expect(try await task.value.0 == Data("only".utf8))
      #expect(count.value == 1)
    }
  }

  @Test func theBudgetLimitsSecondRequests() async throws {
    let slow = Counter()
    let session = session(
      TestTransport { request in
        guard request.url.path() != "/warm" else { return .text("warm") }
        // no first request is answered
        if slow.next() % 2 == 1 { try await Gate().wait() }
        return .text("second")
      }
    ) { $0.limits.hedging?.minimumCount = 25 }
    try await warmUp(session, 25)
    for _ in 0..<2 {
      let task = Task { try await session.data(for: request) }
      try await clock.sleepers(1)
      clock.advance(by: .milliseconds(1))
      #expect(try await task.value.0 == Data("second".utf8))
    }
    // 27 requests allow two, so the third has to wait for its only answer
    let task = Task { try await session.data(for: request) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    try await until { slow.value >= 5 }
    task.cancel()
    _ = try? await task.value
    #expect(slow.value == 5 && hedges.count == 2)
  }

  /// A listener changes nothing about the call to which both requests belong.
  @Test(arguments: [true, false]) func bothRequestsHaveThePropertiesOfTheirCall(hasListener: Bool) async throws {
    let value = CallLocal("nothing"), calls = Log<String>(), kept = Log<String>(), ended = Counter()
    let transport = CallTransport { [sent] request, call in
      guard request.url.path() != "/warm" else { return .text("warm") }
      sent.append("slow")
      let (url, limit) = (call.askedURL?.path() ?? "none", call.waitLimit()?.duration ?? .zero)
      calls.append("\(call.id) \(call.label ?? "none") \(url) \(limit)")
      call.atEnd { _ = ended.next() }
      if sent.entries.count == 1 { try await Gate().wait() }
      call[value] = "written"
      return .text("second")
    }
    let session = session(transport) { configuration in
      if !hasListener { configuration.listeners = [] }
      configuration.interceptors = [ReviewInterceptor { kept.append("\($0.id) \($0[value])") }]
    }
    try await warmUp(session)
    var request = request
    (request.options.label, request.options.responseTimeout) = ("label", .seconds(7))

    _ = try await begin(session, request).value

    let number = try #require(kept.entries.last?.split(separator: " ").first)
    #expect(calls.entries == Array(repeating: "\(number) label /slow 7.0 seconds", count: 2))
    #expect(kept.entries.last == "\(number) written")
    #expect(ended.value == 2)
  }

  @Test func overSocketsTheBodyOfTheFasterAnswerIsDelivered() async throws {
    let gate = Gate(), count = Counter()
    let body = String(repeating: "fast", count: 50_000)
    let server = try LoopbackServer { request in
      guard request.path == "/slow" else { return .text("warm") }
      return count.next() == 1 ? .text("slow").held(by: gate) : .text(body)
    }
    let session = session(SocketTransport())
    for _ in 0..<20 { _ = try await session.data(for: HTTPRequest(.get, server.url("/warm"))) }
    let task = Task { try await session.data(for: HTTPRequest(.get, server.url("/slow"))) }
    try await until { count.value != 0 }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    let (data, response) = try await task.value
    #expect(data == Data(body.utf8))
    #expect(response.history.count == 1)
    // one request is reported with its measurements: the one that was answered
    let end = log.lines.suffix(while: { $0 != "attempt 1 GET \(server.url("/slow").absoluteString)" })
    #expect(end.filter { $0 == "metrics" }.count == 1)
    #expect(end.filter { $0.hasPrefix("sending") }.count == 1)
    #expect(end.filter { $0.hasPrefix("response") } == ["response 200"])
    #expect(end.filter { $0.hasPrefix("bytes received") }.allSatisfy { $0.hasSuffix("of 1") })
    #expect(end.contains { $0.hasPrefix("bytes received") })
    #expect(log.lines.last == "finished")
    gate.open()
  }
}

/// A shared limit that asks a server through a session.
private final class AskingStore: RateLimitStore {
  let session = Mutex<HTTPSession?>(nil)
  let asked = Gate(), answered = Gate()

  func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
    if name.contains("a.example"), let session = session.withLock({ $0 }) {
      _ = try await session.data(for: HTTPRequest(.post, url("http://limits.example/take")))
      asked.open()
      try await answered.wait()
    }
    return .allowed(after: .zero, remaining: 0)
  }
}

extension Array {
  /// The elements after the last one for which the condition does not hold.
  fileprivate func suffix(while condition: (Element) -> Bool) -> ArraySlice<Element> {
    self[(lastIndex { !condition($0) }.map { $0 + 1 } ?? 0)...]
  }
}
