import MartletEngine
import MartletSemantics
import MartletTesting
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
}
