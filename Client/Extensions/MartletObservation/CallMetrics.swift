public import MartletEngine
public import MartletSemantics
import Synchronization

/// Counts calls, attempts and the actions of the cache and the limits, and measures how long requests take. Use it for
/// a service's `/metrics`, without another package.
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
/// | `martlet_deprecated_resources_total` | counter | host and port: resources with `Deprecation` or `Sunset`, each counted once (``Martlet/DeprecationNotice``) |
/// | `martlet_websocket_messages_total` | counter | `direction`: `sent`, `received` |
/// | `martlet_limits_total` | counter | `event`: `queued`, `throttled`, `paused`, `circuit_open` …, `hedged_first` or `_second`, which answered; host and port |
/// | `martlet_pool_connections`, `martlet_pool_requests` | gauge | `state`; host and port |
/// | `martlet_pool_connections_opened_total`, `martlet_pool_requests_reused_total` | counter | host and port |
///
/// The duration is that of one attempt over the network until the end of its body, as the transport measured it. For a
/// response with status 400 or above, `error_type` is the status; for a failure, it is the kind of the error.
///
/// The number of label values is bounded: methods that are not registered become `_OTHER`, and so does every host after
/// the first ``originLimit``. Several sessions may share a listener.
public final class CallMetrics: EventListener {
  /// The maximum number of origins that have their own labels; 100 by default.
  public let originLimit: Int
  private let meter: CallMeter
  private let counts: Counts

  /// Makes metrics that are all zero.
  ///
  /// - Parameters:
  ///   - originLimit: the maximum number of origins that have their own labels.
  ///   - clock: measures the time if the transport does not.
  public init(originLimit: Int = 100, clock: any Clock<Duration> = ContinuousClock()) {
    self.originLimit = originLimit
    let counts = Counts()
    self.counts = counts
    meter = CallMeter(originLimit: originLimit, clock: clock) { counts.add($0) }
  }

  public var events: Event.Kinds { meter.events }

  public func receive(_ event: Event, in call: Call) { meter.receive(event, in: call) }

  /// Returns the current values.
  ///
  /// - Parameter pools: the connections of a transport, from `SocketTransport.statistics()`; none by default.
  public func snapshot(pools: [Origin: PoolStatistics] = [:]) -> MetricsSnapshot {
    let ofPools = Values(meter.measurements(of: pools))
    return MetricsSnapshot(
      metrics: counts.values.snapshot(of: CallMetric.ofCalls)
        + (pools.isEmpty ? [] : ofPools.snapshot(of: CallMetric.ofPools)))
  }
}

/// The counted values.
private final class Counts: Sendable {
  private let current = Mutex(Values([Measurement(.active, [], 0)]))

  var values: Values { current.withLock { $0 } }

  func add(_ measurements: [Measurement]) { current.withLock { $0.add(measurements) } }
}

/// The sums and histograms of measurements.
private struct Values {
  private var values: [CallMetric: [[MetricLabel]: MetricsSnapshot.Value]] = [:]

  init(_ measurements: [Measurement]) { add(measurements) }

  mutating func add(_ measurements: [Measurement]) {
    for measurement in measurements {
      let empty: MetricsSnapshot.Value = measurement.metric.kind == .histogram ? .histogram(.init()) : .number(0)
      values[measurement.metric, default: [:]][measurement.labels, default: empty].add(measurement.value)
    }
  }

  func snapshot(of metrics: [CallMetric]) -> [MetricsSnapshot.Metric] {
    metrics.map { metric in
      let series = (values[metric] ?? [:]).map { labels, value in
        MetricsSnapshot.Series(labels.map { (Self.prometheus($0.name), $0.value) }, value)
      }
      return MetricsSnapshot.Metric(metric.nameInPrometheus, metric.kind, metric.help, series)
    }
  }

  /// Prometheus does not allow dots in names.
  fileprivate static func prometheus(_ name: String) -> String { name.replacing(".", with: "_") }
}

extension MetricsSnapshot.Value {
  fileprivate mutating func add(_ value: Double) {
    switch self {
    case .number(let number): self = .number(number + value)
    case .histogram(var histogram):
      self = .number(0)  // so that the counts are not shared with this value
      histogram.add(value)
      self = .histogram(histogram)
    }
  }
}

extension CallMetric {
  /// The name in Prometheus's form, with the unit or with the suffix of a counter.
  fileprivate var nameInPrometheus: String {
    let suffix =
      switch kind {
      case .counter: "_total"
      case .gauge: ""
      case .histogram: "_seconds"
      }
    return Values.prometheus(name) + suffix
  }
}
