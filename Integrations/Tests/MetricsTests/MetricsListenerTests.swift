import CoreMetrics
import Martlet
import MartletMetrics
import MartletTesting
import MetricsTestKit
import Testing

/// Calls are reported to swift-metrics.
@Suite(.timeLimit(.minutes(5))) struct MetricsListenerTests {
  private let factory = TestMetrics()
  private let clock = ManualClock()

  private func session(
    _ transport: any Transport, _ listener: MetricsListener, cache: HTTPCache? = nil
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = [listener]
    configuration.clock = clock
    configuration.cache = cache
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// A transport whose answers take some time.
  private struct SlowTransport: Transport {
    let base: any Transport
    let clock: ManualClock

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      clock.advance(by: .milliseconds(20))
      return try await base.send(request, in: call)
    }
  }

  @Test func attemptsAreTimedByTheConventionsOfOpenTelemetry() async throws {
    let script = ScriptedTransport(
      .redirect(to: "/b"), .status(.notFound), .failure(HTTPError(.connectionLost, "gone")))
    let session = session(
      SlowTransport(base: script, clock: clock), MetricsListener(factory: factory, clock: clock))
    _ = try await session.data(for: HTTPRequest(.get, "http://a.example/"))
    _ = try? await session.data(for: HTTPRequest("PURGE", "http://a.example/"))

    let server = [("server.address", "a.example"), ("server.port", "80"), ("url.scheme", "http")]
    let redirect = try factory.expectTimer(
      "http.client.request.duration",
      [("http.request.method", "GET")] + server + [("http.response.status_code", "302")])
    let missing = try factory.expectTimer(
      "http.client.request.duration",
      [("http.request.method", "GET")] + server + [("http.response.status_code", "404"), ("error.type", "404")])
    let lost = try factory.expectTimer(
      "http.client.request.duration",
      [("http.request.method", "_OTHER")] + server + [("error.type", "connectionLost")])
    for timer in [redirect, missing, lost] {
      #expect(timer.values.count == 1)
      #expect(abs((timer.lastValue ?? 0) - 20_000_000) < 1000)
    }
    #expect(try factory.expectCounter("martlet.calls", [("result", "success")]).totalValue == 1)
    #expect(try factory.expectCounter("martlet.calls", [("result", "connectionLost")]).totalValue == 1)
    #expect(try factory.expectCounter("martlet.resends", server).totalValue == 1)
    #expect(try factory.expectMeter("martlet.calls.active").lastValue == 0)
    #expect(factory.timers.count == 3)
  }

  @Test func theCachesAnswersAreCountedAndNotTimed() async throws {
    let stored = MockResponse(status: .ok, fields: [.cacheControl: "max-age=1000"], content: Data("ok".utf8))
    let session = session(ScriptedTransport(stored), MetricsListener(factory: factory), cache: HTTPCache())
    for _ in 0..<3 { _ = try await session.data(for: HTTPRequest(.get, "http://a.example/")) }

    #expect(try factory.expectCounter("martlet.responses", [("source", "network")]).totalValue == 1)
    #expect(try factory.expectCounter("martlet.responses", [("source", "cache")]).totalValue == 2)
    #expect(factory.timers.map(\.values.count) == [1])
  }

  @Test func poolsAreMetersAndWhatTheyHaveDoneIsCountedOnce() throws {
    let listener = MetricsListener(factory: factory)
    let url = try #require(URL(string: "https://a.example/"))
    let origin = try #require(Origin(url))
    var pool = PoolStatistics()
    (pool.active, pool.idle, pool.opened, pool.reused) = (3, 4, 9, 70)
    listener.recordPools([origin: pool])
    (pool.active, pool.opened) = (1, 11)
    listener.recordPools([origin: pool])

    let server = [("server.address", "a.example"), ("server.port", "443"), ("url.scheme", "https")]
    let active = try factory.expectMeter("martlet.pool.requests", [("state", "active")] + server)
    #expect(active.values == [3, 1])
    #expect(try factory.expectMeter("martlet.pool.connections", [("state", "idle")] + server).lastValue == 4)
    #expect(try factory.expectCounter("martlet.pool.connections.opened", server).totalValue == 11)
    #expect(try factory.expectCounter("martlet.pool.requests.reused", server).totalValue == 70)

    listener.recordPools([:])
    #expect(active.lastValue == 0)
    pool.opened = 2  // a transport that has forgotten the origin begins anew
    listener.recordPools([origin: pool])
    #expect(try factory.expectCounter("martlet.pool.connections.opened", server).totalValue == 13)
  }

  @Test func anOriginThatIsForgottenDoesNotRaiseTheCounterOfOthers() throws {
    let listener = MetricsListener(factory: factory, originLimit: 0)
    let one = try #require(URL(string: "https://a.example/").flatMap { Origin($0) })
    let other = try #require(URL(string: "https://b.example/").flatMap { Origin($0) })
    var (pool, large) = (PoolStatistics(), PoolStatistics())
    (pool.opened, pool.reused, large.opened) = (10, 3, 100)
    listener.recordPools([one: pool, other: large])
    pool.opened = 11
    listener.recordPools([one: pool])

    let shared = [("server.address", "_OTHER")]
    #expect(try factory.expectCounter("martlet.pool.connections.opened", shared).totalValue == 111)
    #expect(try factory.expectCounter("martlet.pool.requests.reused", shared).totalValue == 3)
  }

  @Test func theFactoryIsThatOfTheTaskThatMakesTheListener() async throws {
    let listener = withMetricsFactory(factory) { MetricsListener() }
    let session = session(MockTransport { _ in .text("ok") }, listener)
    try await withMetricsFactory(TestMetrics()) {
      _ = try await session.data(for: HTTPRequest(.get, "http://a.example/"))
    }
    #expect(try factory.expectCounter("martlet.calls", [("result", "success")]).totalValue == 1)
  }

  @Test func aRefusalHasItsStatusAlsoIfItBecomesAnError() async throws {
    let session = session(ScriptedTransport(.status(.notFound)), MetricsListener(factory: factory))
    _ = try? await session.value(of: [Int].self, for: HTTPRequest(.get, "http://a.example/"))

    let types = factory.timers.map { timer in timer.dimensions.first { $0.0 == "error.type" }?.1 }
    #expect(types == ["404"])
  }

  @Test func furtherOriginsShareTheirDimensions() async throws {
    let session = session(
      MockTransport { _ in .text("ok") }, MetricsListener(factory: factory, originLimit: 2))
    for number in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, "http://\(number).example/")) }

    let addresses = factory.timers.compactMap { $0.dimensions.first { $0.0 == "server.address" }?.1 }.sorted()
    #expect(addresses == ["0.example", "1.example", "_OTHER"])
  }
}
