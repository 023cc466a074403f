import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Calls that need a response that waits for them. The clock does not advance by itself, so a cycle of waits would
/// never end.
@Suite("No call waits for itself: answers of a cache", .timeLimit(.minutes(5)))
struct CircularCacheTests {
  /// Makes one request in the session of a call, in the same task or in one without its task-local values.
  private struct Asking: Interceptor {
    enum Place: String, CaseIterable, Sendable { case inTask, withContext, withCall }

    let path: String
    let wanted: String
    var place = Place.inTask
    var duringPrepare = false
    var before: @Sendable () async throws -> Void = {}
    let hasAsked = Once()

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      if duringPrepare { try await ask(request.url, call) }
      return .send(request)
    }

    func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
      if !duringPrepare { try await ask(attempt.sent.url, call) }
      return .accept
    }

    private func ask(_ reviewed: URL, _ call: Call) async throws {
      guard reviewed.path == path, hasAsked.first(), let session = call.session else { return }
      try await before()
      let question = HTTPRequest(.get, url("http://a.example\(wanted)"))
      switch place {
      case .inTask: _ = try await session.data(for: question)
      case .withContext:
        let context = CallContext.current
        _ = try await Task.detached { try await context.perform { try await session.data(for: question) } }.value
      case .withCall:
        _ = try await Task.detached { try await call.context.perform { try await session.data(for: question) } }
          .value
      }
    }
  }

  private static let answer: @Sendable (MockRequest) async throws -> MockResponse = { _ in
    .cacheable("one", "max-age=60")
  }

  @Test(arguments: Asking.Place.allCases)
  private func aReviewRequestsTheSameURL(_ place: Asking.Place) async throws {
    let fixture = CacheFixture(interceptors: [Asking(path: "/", wanted: "/", place: place)], Self.answer)

    #expect(try await fixture.get().text == "one")

    #expect(fixture.sent.count == 2)
    #expect(try await fixture.get().source == .cache)
  }

  @Test func aRequestOfAReviewRequestsTheFirstURLWhileItIsPrepared() async throws {
    let fixture = CacheFixture(
      interceptors: [
        Asking(path: "/", wanted: "/other"), Asking(path: "/other", wanted: "/", duringPrepare: true),
      ], Self.answer)

    #expect(try await fixture.get().text == "one")

    #expect(fixture.sent.map(\.url.path) == ["/", "/", "/other"])
  }

  @Test func theStorageDecisionRequestsTheSameURL() async throws {
    let fixture = CacheFixture(Self.answer)
    let hasAsked = Once()
    var request = HTTPRequest(.get, url("http://a.example/"))
    request.options.storageDecision = { answer in
      if hasAsked.first() { _ = try await fixture.get() }
      return answer
    }

    #expect(try await fixture.send(request).text == "one")

    #expect(fixture.sent.count == 2)
  }

  @Test func twoThatReviewEachOthersURLsBothEnd() async throws {
    let (first, second) = (Gate(), Gate())
    let fixture = CacheFixture(
      interceptors: [
        Asking(
          path: "/a", wanted: "/b",
          before: {
            first.open()
            try await second.wait()
          }),
        Asking(
          path: "/b", wanted: "/a",
          before: {
            second.open()
            try await first.wait()
          }),
      ], Self.answer)

    async let a = fixture.get("/a")
    async let b = fixture.get("/b")

    let texts = try await [a.text, b.text]
    #expect(texts == ["one", "one"])
    // One of the requests did not wait; the other one may have.
    #expect((3...4).contains(fixture.sent.count))
  }

  @Test func waitsWithoutACircleAreStillShared() async throws {
    let gate = Gate()
    let fixture = CacheFixture(interceptors: [Asking(path: "/a", wanted: "/b"), Asking(path: "/c", wanted: "/b")]) {
      request in
      if request.url.path == "/b" { try await gate.wait() }
      return .cacheable("one", "max-age=60")
    }
    async let a = fixture.get("/a")
    async let c = fixture.get("/c")
    await fixture.collapsed(1)
    gate.open()

    _ = try await (a, c)
    #expect(fixture.sent.count { $0.url.path == "/b" } == 1)
  }

  @Test func aWaitWithoutContextLastsAsLongAsTheResponseTimeout() async throws {
    let hasAsked = Once()
    let isDone = Mutex(false)
    let fixture = CacheFixture(
      interceptors: [
        ReviewInterceptor { call in
          guard hasAsked.first(), let session = call.session else { return }
          let question = HTTPRequest(.get, url("http://a.example/"))
          _ = try await Task.detached { try await session.data(for: question) }.value
          isDone.withLock { $0 = true }
        }
      ], Self.answer)

    async let answer = fixture.get()
    try await fixture.clock.sleepers(1)
    fixture.clock.advance(by: .seconds(59))
    #expect(!isDone.withLock { $0 })
    fixture.clock.advance(by: .seconds(1))

    #expect(try await answer.text == "one")
    #expect(fixture.sent.count == 2)
  }
}
