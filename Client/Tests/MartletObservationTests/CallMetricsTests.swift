import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// The metrics of calls, and how they are printed.
@Suite(.timeLimit(.minutes(5)))
struct CallMetricsTests {
  private let clock = ManualClock()

  private func session(
    _ transport: any Transport, _ metrics: CallMetrics, change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = [metrics]
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// A transport whose answers take some time.
  private struct SlowTransport: Transport {
    let base: any Transport
    let clock: ManualClock
    let time: Duration

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      clock.advance(by: time)
      return try await base.send(request, in: call)
    }
  }

  @Test func aDeprecatedResourceIsCountedOnce() async throws {
    let metrics = CallMetrics(clock: clock)
    let session = session(MockTransport { _ in .text("ok").with("Deprecation", "@1688169599") }, metrics) {
      $0.cache = nil
    }
    for path in ["a", "a?page=2", "b"] {
      _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/\(path)")))
    }
    let counted = try #require(metrics.snapshot()["martlet_deprecated_resources_total"])
    #expect(counted.sum() == 2)
    #expect(counted.series.first?["server_address"] == "a.example")
  }

  @Test func attemptsAreMeasuredByTheirLabels() async throws {
    let metrics = CallMetrics(clock: clock)
    let script = ScriptedTransport(
      .redirect(to: "/b"), .status(.notFound), .failure(HTTPError(.connectionLost, "gone")))
    let session = session(SlowTransport(base: script, clock: clock, time: .milliseconds(20)), metrics) {
      $0.cache = nil
    }
    _ = try await session.data(for: HTTPRequest(.get, origin))
    _ = try? await session.data(for: HTTPRequest(HTTPMethod(rawValue: "PURGE") ?? .get, origin))

    let snapshot = metrics.snapshot()
    let durations = try #require(snapshot["http_client_request_duration_seconds"])
    let labels = durations.series.map { $0.labels.map { "\($0.name)=\($0.value)" }.joined(separator: " ") }
    #expect(
      labels == [
        "http_request_method=GET server_address=a.example server_port=80 url_scheme=http http_response_status_code=302",
        "http_request_method=GET server_address=a.example server_port=80 url_scheme=http http_response_status_code=404 "
          + "error_type=404",
        "http_request_method=_OTHER server_address=a.example server_port=80 url_scheme=http error_type=connectionLost",
      ])
    #expect(durations.sum() == 3)
    guard case .histogram(let histogram)? = durations.series.first?.value else {
      Issue.record("no histogram")
      return
    }
    #expect(histogram.counts[2] == 1 && histogram.count == 1)  // up to 25 ms
    #expect(abs(histogram.sum - 0.02) < 0.000_001)
    #expect(snapshot["martlet_calls_total"]?.sum(where: ["result": "success"]) == 1)
    #expect(snapshot["martlet_calls_total"]?.sum(where: ["result": "connectionLost"]) == 1)
    #expect(snapshot["martlet_resends_total"]?.sum() == 1)
    #expect(snapshot["martlet_calls_active"]?.sum() == 0)
  }

  @Test func anAttemptThatFailsAndIsRepeatedHasTheKindOfItsError() async throws {
    let metrics = CallMetrics(clock: clock)
    let script = ScriptedTransport(.failure(HTTPError(.connectionLost, "gone")), .text("ok"))
    let session = session(SlowTransport(base: script, clock: clock, time: .zero), metrics) {
      $0.cache = nil
      $0.options.retryPolicy = .standard
      $0.options.retryPolicy.backoff = Backoff(base: .zero)
    }
    _ = try await session.data(for: HTTPRequest(.get, origin))

    let durations = metrics.snapshot()["http_client_request_duration_seconds"]
    #expect(durations?.sum(where: ["error_type": "connectionLost"]) == 1)
    #expect(durations?.sum() == 2)
  }

  @Test func callsInProgressAreAGauge() async throws {
    let metrics = CallMetrics(), gate = Gate()
    let transport = MockTransport { _ in
      try await gate.wait()
      return .text("ok")
    }
    let session = session(transport, metrics)
    async let answer = session.data(for: HTTPRequest(.get, origin))
    try await until { metrics.snapshot()["martlet_calls_active"]?.sum() == 1 }
    gate.open()
    _ = try await answer
    #expect(metrics.snapshot()["martlet_calls_active"]?.sum() == 0)
  }

  @Test func whatTheCacheAnswersIsNoRequest() async throws {
    let metrics = CallMetrics()
    let stored = MockResponse(status: .ok, fields: ["Cache-Control": "max-age=1000"], content: Data("ok".utf8))
    let session = session(ScriptedTransport(stored), metrics)
    for _ in 0..<3 { _ = try await session.data(for: HTTPRequest(.get, origin)) }
    let snapshot = metrics.snapshot()
    #expect(snapshot["martlet_responses_total"]?.sum(where: ["source": "network"]) == 1)
    #expect(snapshot["martlet_responses_total"]?.sum(where: ["source": "cache"]) == 2)
    #expect(snapshot["http_client_request_duration_seconds"]?.sum() == 1)
  }

  @Test func whatLimitsDoIsCounted() async throws {
    let metrics = CallMetrics()
    let session = session(
      ScriptedTransport(MockResponse(status: .tooManyRequests, fields: ["Retry-After": "60"])), metrics
    ) {
      $0.limits.rate = .ofServers
    }
    _ = try await session.data(for: HTTPRequest(.get, origin))
    _ = try? await session.data(for: HTTPRequest(.get, origin))
    let snapshot = metrics.snapshot()
    #expect(snapshot["martlet_limits_total"]?.sum(where: ["event": "paused", "server_address": "a.example"]) == 1)
    #expect(snapshot["martlet_calls_total"]?.sum(where: ["result": "rateLimited"]) == 1)
    #expect(snapshot["http_client_request_duration_seconds"]?.sum() == 1)  // what was not sent is not measured
  }

  @Test func furtherOriginsShareOneLabel() async throws {
    let metrics = CallMetrics(originLimit: 2)
    let session = session(MockTransport { _ in .text("ok") }, metrics)
    for number in 0..<10 { _ = try await session.data(for: HTTPRequest(.get, url("http://\(number).example/"))) }
    let durations = try #require(metrics.snapshot()["http_client_request_duration_seconds"])
    #expect(durations.series.compactMap { $0["server_address"] } == ["0.example", "1.example", "_OTHER"])
    #expect(durations.sum(where: ["server_address": "_OTHER"]) == 8)
  }

  @Test func theNumbersOfAPoolAreGauges() throws {
    let origin = try #require(Origin(url("https://a.example/")))
    let pool = PoolStatistics(active: 3, queued: 2, opening: 1, idle: 4, opened: 9, reused: 70)
    let snapshot = CallMetrics().snapshot(pools: [origin: pool])
    #expect(snapshot["martlet_pool_requests"]?.sum(where: ["state": "active"]) == 3)
    #expect(snapshot["martlet_pool_requests"]?.sum(where: ["state": "queued", "server_port": "443"]) == 2)
    #expect(snapshot["martlet_pool_connections"]?.sum(where: ["state": "idle"]) == 4)
    #expect(snapshot["martlet_pool_connections_opened_total"]?.sum() == 9)
    #expect(snapshot["martlet_pool_requests_reused_total"]?.sum() == 70)
  }

  @Test func theTextIsThatOfPrometheus() {
    var histogram = MetricsSnapshot.Histogram()
    for seconds in [0.001953125, 0.5, 100] { histogram.add(seconds) }
    let snapshot = MetricsSnapshot(metrics: [
      .init("empty", .gauge, "Nothing.", []),
      .init(
        "calls_total", .counter, "Calls \\ of\nall.",
        [.init([("a", "y"), ("none", "")], .number(2.5)), .init([("a", "\"x\\\n")], .number(1))]),
      .init("time_seconds", .histogram, "Time.", [.init([], .histogram(histogram))]),
    ])
    #expect(
      snapshot.text == #"""
        # HELP calls_total Calls \\ of\nall.
        # TYPE calls_total counter
        calls_total{a="\"x\\\n"} 1
        calls_total{a="y"} 2.5
        # HELP time_seconds Time.
        # TYPE time_seconds histogram
        time_seconds_bucket{le="0.005"} 1
        time_seconds_bucket{le="0.01"} 1
        time_seconds_bucket{le="0.025"} 1
        time_seconds_bucket{le="0.05"} 1
        time_seconds_bucket{le="0.075"} 1
        time_seconds_bucket{le="0.1"} 1
        time_seconds_bucket{le="0.25"} 1
        time_seconds_bucket{le="0.5"} 2
        time_seconds_bucket{le="0.75"} 2
        time_seconds_bucket{le="1"} 2
        time_seconds_bucket{le="2.5"} 2
        time_seconds_bucket{le="5"} 2
        time_seconds_bucket{le="7.5"} 2
        time_seconds_bucket{le="10"} 2
        time_seconds_bucket{le="+Inf"} 3
        time_seconds_sum 100.501953125
        time_seconds_count 3

        """#)
  }
}
