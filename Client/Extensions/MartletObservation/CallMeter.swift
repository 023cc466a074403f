@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// A metric of calls: its name in OpenTelemetry's form, its type and a description. The names with `http` are those of
/// OpenTelemetry's stable conventions for HTTP clients, and so are the labels.
@_spi(Toolkit) public struct CallMetric: Sendable, Hashable {
  public let name: String
  public let kind: MetricsSnapshot.Metric.Kind
  let help: String

  static let duration = CallMetric(
    name: "http.client.request.duration", kind: .histogram, help: "Duration of HTTP client requests.")
  static let active = CallMetric(name: "martlet.calls.active", kind: .gauge, help: "Calls in progress.")
  static let calls = CallMetric(name: "martlet.calls", kind: .counter, help: "Calls that have ended.")
  static let resends = CallMetric(
    name: "martlet.resends", kind: .counter, help: "Requests that were sent again.")
  static let deprecations = CallMetric(
    name: "martlet.deprecated_resources", kind: .counter,
    help: "Resources that their server calls deprecated, or that will end, each counted once.")
  static let messages = CallMetric(
    name: "martlet.websocket.messages", kind: .counter, help: "Messages of WebSockets by their direction.")
  static let responses = CallMetric(
    name: "martlet.responses", kind: .counter, help: "Responses by where they came from.")
  static let limits = CallMetric(
    name: "martlet.limits", kind: .counter, help: "What the limits of the session did.")
  static let poolConnections = CallMetric(
    name: "martlet.pool.connections", kind: .gauge,
    help: "Connections that are being opened, or that no request uses.")
  static let poolRequests = CallMetric(
    name: "martlet.pool.requests", kind: .gauge, help: "Requests that use a connection, or wait for one.")
  static let poolOpened = CallMetric(
    name: "martlet.pool.connections.opened", kind: .counter, help: "Connections that were opened.")
  static let poolReused = CallMetric(
    name: "martlet.pool.requests.reused", kind: .counter,
    help: "Requests that got a connection which another had used before.")

  /// The metrics of calls, in display order.
  static let ofCalls = [duration, active, calls, resends, responses, deprecations, messages, limits]
  /// The metrics of pools.
  static let ofPools = [poolConnections, poolRequests, poolOpened, poolReused]
}

/// A value for a metric: an addition to a counter or a gauge, or a duration in seconds for a histogram. For a pool, it
/// is the metric's current value.
@_spi(Toolkit) public struct Measurement: Sendable {
  public let metric: CallMetric
  /// The labels in order, without empty labels.
  public let labels: [MetricLabel]
  public let value: Double

  init(_ metric: CallMetric, _ labels: [MetricLabel] = [], _ value: Double = 1) {
    self.metric = metric
    self.labels = labels.filter { !$0.value.isEmpty }
    self.value = value
  }
}

/// A label of a measurement.
@_spi(Toolkit) public struct MetricLabel: Sendable, Hashable {
  public let name: String
  public let value: String

  init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Makes measurements from the events of calls, and passes them on to ``CallMetrics`` and other systems of metrics.
@_spi(Toolkit) public final class CallMeter: EventListener {
  private let clock: any Clock<Duration>
  private let records = CallLocal<CallRecord?>(nil)
  private let origins: OriginLabels
  private let deprecations = DeprecationMemory()
  private let report: @Sendable ([Measurement]) -> Void

  /// - Parameters:
  ///   - originLimit: the maximum number of origins that have their own labels.
  ///   - clock: measures the time if the transport does not.
  ///   - report: called with the measurements of one moment, on any thread.
  public init(
    originLimit: Int, clock: any Clock<Duration>, report: @escaping @Sendable ([Measurement]) -> Void
  ) {
    origins = OriginLabels(limit: originLimit)
    self.clock = clock
    self.report = report
  }

  public var events: Event.Kinds {
    [.started, .attempt, .sending, .cached, .response, .metrics, .message, .limit, .resend, .finished]
  }

  public func receive(_ event: Event, in call: Call) {
    switch event {
    case .started:
      call[records] = CallRecord(clock)
      report([Measurement(.active)])
    case .attempt(_, let request): call[records]?.begin(request)
    case .sending: call[records]?.change { $0.isSent = true }
    case .cached(let source): call[records]?.change { $0.source = source }
    case .response(let head, let url):
      call[records]?.change { $0.status = head.status }
      if deprecations.newNotice(of: head, from: url) != nil {
        report([Measurement(.deprecations, origins.labels(of: Origin(url)))])
      }
    case .metrics(let metrics): call[records]?.change { $0.metrics = metrics }
    case .message(let message):
      if case .close = message.kind { return }
      report([Measurement(.messages, [MetricLabel("direction", message.direction.name)])])
    case .limit(let limit): if let measurement = measurement(of: limit) { report([measurement]) }
    case .resend(_, _, _, let failure):
      guard let attempt = call[records]?.end() else { return }
      let measured = measurements(of: attempt, error: attempt.status == nil ? failure?.kind.name ?? "_OTHER" : nil)
      report(measured + [Measurement(.resends, origins.labels(of: attempt.origin))])
    case .finished(let error):
      guard let record = call[records] else { return }
      let measured = record.end().map { measurements(of: $0, error: error?.kind.name) } ?? []
      let result = MetricLabel("result", error?.kind.name ?? "success")
      report([Measurement(.active, [], -1), Measurement(.calls, [result])] + measured)
    case .written, .informational, .progress, .bytes, .cookieRefused, .cookiesStored, .cacheDecision, .note: break
    @unknown default: break
    }
  }

  private func measurements(of attempt: MeasuredAttempt, error: String?) -> [Measurement] {
    var measurements: [Measurement] = []
    if attempt.status != nil {
      measurements.append(Measurement(.responses, [MetricLabel("source", attempt.source.rawValue)]))
    }
    guard attempt.isSent else { return measurements }
    let status = attempt.status.map { "\($0.code)" } ?? ""
    // The error made from a refusal says less than the refusal's status.
    let error = attempt.status.map { $0.code >= 400 } ?? false ? status : error ?? ""
    let labels =
      [MetricLabel("http.request.method", attempt.method.registeredName)] + origins.labels(of: attempt.origin) + [
        MetricLabel("http.response.status_code", status), MetricLabel("error.type", error),
        MetricLabel("network.protocol.version", attempt.metrics?.version?.number ?? ""),
      ]
    return measurements + [Measurement(.duration, labels, attempt.duration.inMilliseconds / 1000)]
  }

  private func measurement(of event: Event.Limit) -> Measurement? {
    let counted: (name: String, origin: Origin)? =
      switch event {
      case .queued(let origin, _): ("queued", origin)
      case .throttled(let origin, _): ("throttled", origin)
      case .paused(let origin, _): ("paused", origin)
      case .circuit(let origin, let state): ("circuit_\(state.rawValue.replacing("-", with: "_"))", origin)
      case .hedged(let origin, _, let secondWon): (secondWon ? "hedged_second" : "hedged_first", origin)
      @unknown default: nil
      }
    return counted.map { Measurement(.limits, [MetricLabel("event", $0.name)] + origins.labels(of: $0.origin)) }
  }
}

extension Event.Progress.Direction {
  fileprivate var name: String {
    switch self {
    case .sent: "sent"
    case .received: "received"
    }
  }
}

extension CallMeter {
  /// Returns the current values of a transport's connections. Origins beyond the limit are counted as one.
  @_spi(Toolkit) public func measurements(of pools: [Origin: PoolStatistics]) -> [Measurement] {
    let labeled = pools.sorted { "\($0.key)" < "\($1.key)" }.map { (origins.labels(of: $0.key), $0.value) }
    return Dictionary(labeled, uniquingKeysWith: { $0 + $1 }).flatMap { labels, pool in
      func state(_ name: String, _ metric: CallMetric, _ count: Int) -> Measurement {
        Measurement(metric, [MetricLabel("state", name)] + labels, Double(count))
      }
      return [
        state("opening", .poolConnections, pool.opening), state("idle", .poolConnections, pool.idle),
        state("active", .poolRequests, pool.active), state("queued", .poolRequests, pool.queued),
        Measurement(.poolOpened, labels, Double(pool.opened)), Measurement(.poolReused, labels, Double(pool.reused)),
      ]
    }
  }
}

/// The labels of origins: host, port and scheme. Beyond the limit they are `_OTHER` for every origin.
private final class OriginLabels: Sendable {
  private let limit: Int
  private let known = Mutex<Set<Origin>>([])

  init(limit: Int) { self.limit = limit }

  func labels(of origin: Origin?) -> [MetricLabel] {
    let isKnown = known.withLock { known in
      guard let origin else { return false }
      if !known.contains(origin), known.count < limit { known.insert(origin) }
      return known.contains(origin)
    }
    guard let origin, isKnown else { return [MetricLabel("server.address", "_OTHER")] }
    return [
      MetricLabel("server.address", origin.host), MetricLabel("server.port", "\(origin.port)"),
      MetricLabel("url.scheme", origin.scheme),
    ]
  }
}

/// One attempt of a call.
private struct MeasuredAttempt {
  var method: HTTPMethod
  var origin: Origin?
  var isSent = false
  var source = HTTPResponse.Source.network
  var status: HTTPStatus?
  var metrics: TransferMetrics?
  var duration = Duration.zero
}

/// The attempt of a call that is in progress.
private final class CallRecord: Sendable {
  private let stopwatch: Stopwatch
  private let state: Mutex<(attempt: MeasuredAttempt?, began: Duration)>

  init(_ clock: any Clock<Duration>) {
    stopwatch = Stopwatch(clock)
    state = Mutex((nil, .zero))
  }

  func begin(_ request: HTTPRequest) {
    let now = stopwatch.elapsed
    state.withLock { $0 = (MeasuredAttempt(method: request.method, origin: request.origin), now) }
  }

  func change(_ change: (inout MeasuredAttempt) -> Void) {
    state.withLock { state in
      guard var attempt = state.attempt else { return }
      change(&attempt)
      state.attempt = attempt
    }
  }

  /// Returns the attempt with its duration; nil if none is in progress.
  func end() -> MeasuredAttempt? {
    let now = stopwatch.elapsed
    return state.withLock { state in
      guard var attempt = state.attempt else { return nil }
      state.attempt = nil
      attempt.duration = attempt.metrics?.total ?? now - state.began
      return attempt
    }
  }
}
