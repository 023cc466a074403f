public import MartletEngine
public import MartletSemantics
import Synchronization

/// Counts calls, attempts and what the cache and the limits did, and measures how long requests take: for a service's
/// `/metrics`, without another package.
///
/// ```swift
/// let metrics = CallMetrics()
/// configuration.listeners = [metrics]
/// // later, for Prometheus; with `pools: await transport.statistics()` over sockets
/// let text = metrics.snapshot().text
/// ```
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `http_client_request_duration_seconds` | histogram | those of OpenTelemetry's stable conventions for HTTP clients: method, host, port, scheme, status, `error_type`, version |
/// | `martlet_calls_active` | gauge | – |
/// | `martlet_calls_total` | counter | `result`: `success`, or the kind of the error |
/// | `martlet_resends_total` | counter | host and port: redirects, retries, challenges |
/// | `martlet_responses_total` | counter | `source`: `network`, `cache`, `revalidated`, `stale`, `offline` |
/// | `martlet_limits_total` | counter | `event`: `queued`, `throttled`, `paused`, `circuit_open` …, `hedged_first` or `_second`, which answered; host and port |
/// | `martlet_pool_connections`, `martlet_pool_requests` | gauge | `state`; host and port |
/// | `martlet_pool_connections_opened_total`, `martlet_pool_requests_reused_total` | counter | host and port |
///
/// The duration is that of one attempt over the network until the end of its body, as the transport measured it. A response
/// of 400 and above has its status as `error_type`, a failure the kind of the error.
///
/// The number of label values is bounded: methods that are not registered become `_OTHER`, and so does every host after the
/// first ``originLimit``. A listener may be that of several sessions.
public final class CallMetrics: EventListener {
  /// The most origins that have labels of their own; 100 by default.
  public let originLimit: Int
  private let clock: any Clock<Duration>
  private let records = CallLocal<CallRecord?>(nil)
  private let counts: Mutex<Counts>

  /// Makes metrics that are all zero.
  ///
  /// - Parameters:
  ///   - originLimit: the most origins that have labels of their own.
  ///   - clock: measures the time where the transport does not.
  public init(originLimit: Int = 100, clock: any Clock<Duration> = ContinuousClock()) {
    self.originLimit = originLimit
    self.clock = clock
    counts = Mutex(Counts(originLimit: originLimit))
  }

  public func receive(_ event: Event, in call: Call) {
    switch event {
    case .started:
      call[records] = CallRecord(clock)
      counts.withLock { $0.active += 1 }
    case .attempt(_, let request): call[records]?.begin(request)
    case .sending: call[records]?.change { $0.isSent = true }
    case .cached(let source): call[records]?.change { $0.source = source }
    case .response(let head, _): call[records]?.change { $0.status = head.status }
    case .metrics(let metrics): call[records]?.change { $0.metrics = metrics }
    case .limit(let limit): counts.withLock { $0.add(limit) }
    case .resend:
      guard let attempt = call[records]?.end() else { return }
      counts.withLock { counts in
        counts.add(attempt, error: attempt.status == nil ? "_OTHER" : nil)
        counts.resends[counts.label(attempt.origin), default: 0] += 1
      }
    case .finished(let error):
      guard let record = call[records] else { return }
      let attempt = record.end()
      counts.withLock { counts in
        counts.active -= 1
        counts.calls[error?.kind.name ?? "success", default: 0] += 1
        if let attempt { counts.add(attempt, error: error?.kind.name) }
      }
    case .informational, .progress, .bytes, .cookieRefused, .note: break
    }
  }

  /// Returns the values now.
  ///
  /// - Parameter pools: the connections of a transport, from `SocketTransport.statistics()`; none by default.
  public func snapshot(pools: [Origin: PoolStatistics] = [:]) -> MetricsSnapshot {
    counts.withLock { counts in
      let pools = pools.sorted { "\($0.key)" < "\($1.key)" }.map { (counts.label($0.key), $0.value) }
      return MetricsSnapshot(metrics: counts.metrics + Counts.metrics(of: pools))
    }
  }
}

/// One attempt of a call.
private struct AttemptCount {
  var method: HTTPMethod
  var origin: Origin?
  var isSent = false
  var source = ResponseSource.network
  var status: HTTPStatus?
  var metrics: TransferMetrics?
  var duration = Duration.zero
}

/// The attempt of a call that is in progress.
private final class CallRecord: Sendable {
  private let stopwatch: Stopwatch
  private let state: Mutex<(attempt: AttemptCount?, began: Duration)>

  init(_ clock: any Clock<Duration>) {
    stopwatch = Stopwatch(clock)
    state = Mutex((nil, .zero))
  }

  func begin(_ request: HTTPRequest) {
    let now = stopwatch.elapsed
    state.withLock { $0 = (AttemptCount(method: request.method, origin: Origin(request.url)), now) }
  }

  func change(_ change: (inout AttemptCount) -> Void) {
    state.withLock { state in
      guard var attempt = state.attempt else { return }
      change(&attempt)
      state.attempt = attempt
    }
  }

  /// Returns the attempt with its duration; nil if none is in progress.
  func end() -> AttemptCount? {
    let now = stopwatch.elapsed
    return state.withLock { state in
      guard var attempt = state.attempt else { return nil }
      state.attempt = nil
      attempt.duration = attempt.metrics?.total ?? now - state.began
      return attempt
    }
  }
}

/// What was counted.
private struct Counts {
  let originLimit: Int
  var active = 0
  var calls: [String: Int] = [:]
  var resends: [OriginLabel: Int] = [:]
  private var responses: [String: Int] = [:]
  private var limits: [LimitLabel: Int] = [:]
  private var durations: [RequestLabel: MetricsSnapshot.Histogram] = [:]
  private var origins: Set<OriginLabel> = []

  /// Host, port and scheme as labels; the same for all origins beyond the limit.
  struct OriginLabel: Hashable {
    var host = "_OTHER"
    var port = ""
    var scheme = ""
  }

  private struct LimitLabel: Hashable {
    let event: String
    let origin: OriginLabel
  }

  private struct RequestLabel: Hashable {
    let method: String
    let origin: OriginLabel
    let status: String
    let error: String
    let version: String
  }

  init(originLimit: Int) { self.originLimit = originLimit }

  mutating func label(_ origin: Origin?) -> OriginLabel {
    guard let origin else { return OriginLabel() }
    let label = OriginLabel(host: origin.host, port: "\(origin.port)", scheme: origin.scheme)
    guard !origins.contains(label) else { return label }
    guard origins.count < originLimit else { return OriginLabel() }
    origins.insert(label)
    return label
  }

  mutating func add(_ attempt: AttemptCount, error: String?) {
    if attempt.status != nil { responses[attempt.source.rawValue, default: 0] += 1 }
    guard attempt.isSent else { return }
    let status = attempt.status.map { "\($0.code)" } ?? ""
    let refusal = attempt.status.map { $0.code >= 400 } ?? false ? status : ""
    let label = RequestLabel(
      method: Self.methods.contains(attempt.method.rawValue) ? attempt.method.rawValue : "_OTHER",
      origin: label(attempt.origin), status: status, error: error ?? refusal,
      version: attempt.metrics?.version?.number ?? "")
    durations[label, default: MetricsSnapshot.Histogram()].add(attempt.duration.inMilliseconds / 1000)
  }

  mutating func add(_ event: LimitEvent) {
    let (name, origin): (String, Origin) =
      switch event {
      case .queued(let origin, _): ("queued", origin)
      case .throttled(let origin, _): ("throttled", origin)
      case .paused(let origin, _): ("paused", origin)
      case .circuit(let origin, let state): ("circuit_\(state.rawValue.replacing("-", with: "_"))", origin)
      case .hedged(let origin, _, let secondWon): (secondWon ? "hedged_second" : "hedged_first", origin)
      }
    limits[LimitLabel(event: name, origin: label(origin)), default: 0] += 1
  }

  /// The registered methods that clients use (RFC 9110 §9.1, RFC 5789).
  private static let methods: Set = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ]
}

extension Counts {
  typealias Metric = MetricsSnapshot.Metric
  typealias Series = MetricsSnapshot.Series

  var metrics: [Metric] {
    [
      Metric(
        "http_client_request_duration_seconds", .histogram, "Duration of HTTP client requests.",
        durations.map { Series(Self.labels($0), .histogram($1)) }),
      Metric("martlet_calls_active", .gauge, "Calls in progress.", [Series([], .number(Double(active)))]),
      Metric("martlet_calls_total", .counter, "Calls that have ended.", calls.map { Series([("result", $0)], $1) }),
      Metric(
        "martlet_resends_total", .counter, "Requests that were sent again.",
        resends.map { Series(Self.labels($0), $1) }),
      Metric(
        "martlet_responses_total", .counter, "Responses by where they came from.",
        responses.map { Series([("source", $0)], $1) }),
      Metric(
        "martlet_limits_total", .counter, "What the limits of the session did.",
        limits.map { Series([("event", $0.event)] + Self.labels($0.origin), $1) }),
    ]
  }

  static func metrics(of pools: [(OriginLabel, PoolStatistics)]) -> [Metric] {
    guard !pools.isEmpty else { return [] }
    // origins beyond the limit have the same labels
    let sums = Dictionary(pools, uniquingKeysWith: { $0 + $1 })
    func states(_ name: String, _ value: @escaping (PoolStatistics) -> Int) -> [Series] {
      sums.map { Series([("state", name)] + labels($0), value($1)) }
    }
    return [
      Metric(
        "martlet_pool_connections", .gauge, "Connections that are being opened, or that no request uses.",
        states("opening") { $0.opening } + states("idle") { $0.idle }),
      Metric(
        "martlet_pool_requests", .gauge, "Requests that use a connection, or wait for one.",
        states("active") { $0.active } + states("queued") { $0.queued }),
      Metric(
        "martlet_pool_connections_opened_total", .counter, "Connections that were opened.",
        sums.map { Series(labels($0), $1.opened) }),
      Metric(
        "martlet_pool_requests_reused_total", .counter, "Requests that got a connection which another had used before.",
        sums.map { Series(labels($0), $1.reused) }),
    ]
  }

  private static func labels(_ request: RequestLabel) -> [(String, String)] {
    var labels = [("http_request_method", request.method)]
    labels += self.labels(request.origin)
    labels += [
      ("http_response_status_code", request.status), ("error_type", request.error),
      ("network_protocol_version", request.version),
    ]
    return labels
  }

  private static func labels(_ origin: OriginLabel) -> [(String, String)] {
    [("server_address", origin.host), ("server_port", origin.port), ("url_scheme", origin.scheme)]
  }
}
