import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

/// What the cache tells listeners about its decisions.
@Suite(.timeLimit(.minutes(5)))
struct CacheDecisionTests {
  /// Sends the requests in turn, and returns what is reported about the last one.
  private func decisions(
    _ requests: [HTTPRequest], _ responses: MockResponse...
  ) async throws -> [Event.CacheDecision] {
    let reported = Awaitable<[Event.CacheDecision]>([])
    let fixture = CacheFixture(store: MemoryCacheStore(), transport: ScriptedTransport(responses))
    for request in requests {
      reported.update { $0 = [] }
      var request = request
      request.options.listeners.append(
        EventHandler(.cacheDecision) { event, _ in
          if case .cacheDecision(let decision) = event { reported.update { $0.append(decision) } }
        })
      _ = try await fixture.send(request)
    }
    return reported.value
  }

  private func get(_ fields: HTTPFields = [:], policy: CachePolicy = .useProtocolCachePolicy) -> HTTPRequest {
    var request = HTTPRequest(.get, origin, fields: fields)
    request.options.cachePolicy = policy
    return request
  }

  @Test func aNewResponseIsStoredWithItsLifetime() async throws {
    let decisions = try await decisions([get()], .cacheable("a", "max-age=60"))

    #expect(decisions.map(\.action) == [.forward, .store])
    #expect(decisions.map(\.rule) == ["RFC 9111 §4", "RFC 9111 §4.2.1"])
    #expect(decisions.last?.reason == "it is fresh for 60 s")
  }

  @Test func aFreshResponseNeedsNoDecisionBesidesItsUse() async throws {
    #expect(try await decisions([get(), get()], .cacheable("a", "max-age=60")).isEmpty)
  }

  @Test func aStaleResponseIsValidated() async throws {
    let decisions = try await decisions(
      [get(), get()], .cacheable("a", "max-age=0", [.eTag: "\"1\""]), MockResponse(status: .notModified))

    #expect(decisions.map(\.action) == [.validate])
    #expect(decisions.first?.reason == "the stored response is stale")
  }

  @Test func aReloadIsTheCallersWish() async throws {
    let decisions = try await decisions(
      [get(policy: .reloadIgnoringCacheData)], .cacheable("a", "no-store"))

    #expect(decisions.map(\.action) == [.forward, .pass])
    #expect(decisions.map(\.rule) == ["RFC 9111 §5.2.1.4", "RFC 9111 §5.2.2.5"])
  }

  @Test func aWriteRemovesStoredResponses() async throws {
    let decisions = try await decisions([get(), HTTPRequest(.put, origin)], .cacheable("a", "max-age=60"), .text("b"))

    #expect(decisions.map(\.action) == [.forward, .remove])
    #expect(decisions.map(\.rule) == ["RFC 9111 §4", "RFC 9111 §4.4"])
  }

  @Test func aResponseThatReplacesAStoredOneIsNamed() async throws {
    let decisions = try await decisions(
      [get(), get()], .cacheable("a", "max-age=0", [.eTag: "\"1\""]), .cacheable("b", "no-store"))

    #expect(decisions.map(\.action) == [.validate, .pass, .remove])
  }

  @Test(
    arguments: [
      (HTTPRequest(.get, origin, fields: [.host: "b.example"]), "its Host is not that of its URL", "RFC 9111 §2"),
      (HTTPRequest(.put, origin, fields: [.host: "b.example"]), "its Host is not that of its URL", "RFC 9111 §2"),
      (HTTPRequest(.put, origin), "its method is PUT", "RFC 9111 §4"),
      (
        HTTPRequest(.get, origin, body: .data(Data("x".utf8))),
        "it has a body, which the key of the cache does not contain", "RFC 9111 §2"
      ),
      (HTTPRequest(.get, origin, fields: [.upgrade: "other"]), "it asks for another protocol", "RFC 9110 §7.8"),
    ] as [(HTTPRequest, String, String)])
  func theReasonWhyTheCacheCannotAnswerIsReportedAndInTheError(
    request: HTTPRequest, reason: String, rule: String
  ) async throws {
    let reported = try await decisions([request], .cacheable("a", "no-store"))
    var offline = request
    offline.options.cachePolicy = .returnCacheDataDontLoad
    let forbidden = offline
    let error = await #expect(throws: HTTPError.self) { _ = try await decisions([forbidden]) }

    #expect(reported.first?.action == .forward)
    #expect(reported.first?.reason == reason)
    #expect(reported.first?.rule == rule)
    #expect(error?.kind == .notCached)
    #expect(error?.message.contains(reason) == true)
  }

  /// At 9 seconds the stored response is stale; at 11 seconds it would also be older than the request allows.
  @Test func aReasonIsThatOfTheDecisionEvenIfTimePasses() async throws {
    let clock = Mutex((date: Date(timeIntervalSince1970: 1_735_689_600), step: 0.0))
    let cache = HTTPCache(now: {
      clock.withLock { clock in
        defer { clock.date += clock.step }
        return clock.date
      }
    })
    var configuration = SessionConfiguration()
    configuration.cache = cache
    let transport = ScriptedTransport(
      .cacheable("a", "max-age=5", [.eTag: "\"1\""]), MockResponse(status: .notModified))
    let session = HTTPSession(transport: transport, configuration: configuration)
    _ = try await session.data(for: get())
    clock.withLock { $0 = ($0.date + 9, 2) }
    let reasons = Mutex<[String]>([])
    var request = get([.cacheControl: "max-age=10"])
    request.options.listeners.append(
      EventHandler(.cacheDecision) { event, _ in
        if case .cacheDecision(let decision) = event { reasons.withLock { $0.append(decision.reason) } }
      })

    _ = try await session.data(for: request)

    #expect(reasons.withLock { $0 } == ["the stored response is stale"])
  }
}
