import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Options with closures: interceptors of a request, and decisions on redirects and on storing.
@Suite(.timeLimit(.minutes(5)))
struct RequestDecisionTests {
  private struct Refusal: Error {}

  @Test func aRequestsInterceptorsRunAfterThoseOfTheSession() async throws {
    let tag = { (name: String) in
      TestInterceptor(prepare: { request in
        var request = request
        request.fields["X-Path"] = (request.fields["X-Path"] ?? "") + name
        return request
      })
    }
    let transport = ScriptedTransport(.text("one"), .text("two"))
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.interceptors = [tag("session,")]
    let session = HTTPSession(transport: transport, configuration: configuration)
    var request = HTTPRequest(.get, origin)
    request.options.interceptors = [tag("a,"), tag("b")]

    _ = try await session.data(for: request)
    _ = try await session.data(for: HTTPRequest(.get, origin))

    #expect(transport.requests.map { $0.fields["X-Path"] } == ["session,a,b", "session,"])
  }

  /// Sends a copy of the outer request to another path first.
  private struct Forwarder: Interceptor {
    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      guard request.url.path == "/outer", let session = call.session else { return .send(request) }
      var inner = request
      inner.url = origin.appending(path: "inner")
      _ = try await session.data(for: inner)
      return .send(request)
    }
  }

  @Test func aRequestThatAnInterceptorForwardsHasTheListenersOfTheSessionOnce() async throws {
    let log = EventLog(.finished)
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.options.listeners = [log]
    configuration.options.interceptors = [Forwarder()]
    let transport = ScriptedTransport(.text("inner"), .text("outer"))
    let session = HTTPSession(transport: transport, configuration: configuration)
    var request = HTTPRequest(.get, origin.appending(path: "outer"))
    request.options.label = "an option of its own"

    _ = try await session.data(for: request)

    #expect(transport.requests.map(\.url.path) == ["/inner", "/outer"])
    #expect(log.lines == ["finished", "finished"])
  }

  private func follow(
    _ decide: @escaping @Sendable (HTTPRequest, HTTPResponse, Call) async throws -> HTTPRequest?
  ) async throws(HTTPError) -> (HTTPResponse, [HTTPRequest]) {
    let transport = ScriptedTransport(.redirect(to: "/next"), .text("there"))
    var request = HTTPRequest(.get, origin)
    request.options.redirectDecision = decide
    let (_, response) = try await HTTPSession(transport: transport).data(for: request)
    return (response, transport.requests)
  }

  @Test func aRedirectIsFollowedWithTheRequestOfTheDecision() async throws {
    let (response, requests) = try await follow { next, response, _ in
      #expect(next.url.path == "/next")
      #expect(response.status == .found)
      var next = next
      next.fields["X-Decided"] = "yes"
      return next
    }

    #expect(response.status == .ok)
    #expect(requests.map { $0.fields["X-Decided"] } == [nil, "yes"])
  }

  @Test func aRejectedRedirectIsTheResponse() async throws {
    let (response, requests) = try await follow { _, _, _ in nil }

    #expect(response.status == .found)
    #expect(requests.count == 1)
  }

  @Test func anErrorOfADecisionEndsTheCall() async {
    await #expect {
      _ = try await follow { _, _, _ in throw Refusal() }
    } throws: {
      ($0 as? HTTPError)?.underlying is Refusal
    }
  }

  @Test func aDecisionIsNotCalledIfThePolicyFollowsNoRedirects() async throws {
    let transport = ScriptedTransport(.redirect(to: "/next"))
    var request = HTTPRequest(.get, origin)
    request.options.redirectPolicy = .manual
    request.options.redirectDecision = { next, _, _ in
      Issue.record("asked about \(next.url)")
      return next
    }

    #expect(try await HTTPSession(transport: transport).data(for: request).1.status == .found)
  }

  private func read(
    _ fixture: CacheFixture, _ decide: @escaping @Sendable (HTTPResponse) async throws -> HTTPResponse?
  ) async throws -> String {
    var request = HTTPRequest(.get, url("http://a.example/"))
    request.options.storageDecision = decide
    return try await fixture.send(request).text
  }

  @Test func aDecisionGetsTheCompleteResponseAndAllowsStoring() async throws {
    let fixture = CacheFixture { _ in .cacheable("hello", "max-age=60") }
    let seen = Mutex<[String]>([])

    let decide: @Sendable (HTTPResponse) async throws -> HTTPResponse? = { answer in
      let body = try await answer.body.collect(upTo: 100)
      seen.withLock { $0.append("\(answer.status.code) \(String(decoding: body, as: UTF8.self))") }
      var answer = answer
      answer.body = ResponseBody(body)
      return answer
    }
    for _ in 0..<2 { #expect(try await read(fixture, decide) == "hello") }

    #expect(seen.withLock { $0 } == ["200 hello"])
    #expect(fixture.sent.count == 1)
  }

  @Test func aResponseThatADecisionRefusesCountsAsNotStored() async throws {
    let fixture = CacheFixture { _ in .cacheable("hello", "max-age=60") }

    for _ in 0..<2 { #expect(try await read(fixture) { _ in nil } == "hello") }

    #expect(fixture.cache.statistics.stored == 0)
    #expect(fixture.cache.statistics.storeFailures == 0)
    #expect(fixture.sent.count == 2)
  }

  @Test func aDecisionThatReadsTheBodyAndReturnsItIsNoFailureOfTheStore() async throws {
    let fixture = CacheFixture { _ in .cacheable("hello", "max-age=60") }

    let text = try await read(fixture) { answer in
      _ = try await answer.body.collect(upTo: 100)
      return answer
    }

    #expect(text == "hello")
    #expect(fixture.cache.statistics.stored == 0)
    #expect(fixture.cache.statistics.storeFailures == 0)
  }

  @Test func aReplacedResponseIsStored() async throws {
    let fixture = CacheFixture { _ in .cacheable("hello", "max-age=60") }
    let decide: @Sendable (HTTPResponse) async throws -> HTTPResponse? = { answer in
      var answer = answer
      answer.fields["X-Stored"] = "yes"
      answer.body = ResponseBody(Data("changed".utf8))
      return answer
    }

    #expect(try await read(fixture, decide) == "hello")
    let stored = try await fixture.get()
    #expect(stored.text == "changed")
    #expect(stored.fields["X-Stored"] == "yes")
    #expect(fixture.sent.count == 1)
  }

  @Test(arguments: [true, false]) func nothingIsStoredIfTheDecisionRejectsOrThrows(throwing: Bool) async throws {
    let fixture = CacheFixture { _ in .cacheable("hello", "max-age=60") }
    let decide: @Sendable (HTTPResponse) async throws -> HTTPResponse? = { _ in
      if throwing { throw Refusal() } else { nil }
    }

    for _ in 0..<2 { #expect(try await read(fixture, decide) == "hello") }

    #expect(fixture.sent.count == 2)
    #expect(try await fixture.cache.usage().entries == 0)
  }
}
