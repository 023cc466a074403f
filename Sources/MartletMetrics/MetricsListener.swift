#if Metrics
public import CoreMetrics
public import MartletEngine
import MartletObservation
public import MartletSemantics
import Synchronization

/// Reports calls to swift-metrics: how long requests take, how calls end, what is sent again, and what the cache and the limits
/// did.
///
/// ```swift
/// let metrics = MetricsListener()
/// configuration.listeners.append(metrics)
/// ```
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `http.client.request.duration` | `Timer` | `http.request.method`, `server.address`, `server.port`, `url.scheme`, `http.response.status_code`, `error.type`, `network.protocol.version` |
/// | `martlet.calls.active` | `Meter` | – |
/// | `martlet.calls` | `Counter` | `result`: `success`, or the kind of the error |
/// | `martlet.resends` | `Counter` | host, port and scheme: redirects, retries, challenges |
/// | `martlet.responses` | `Counter` | `source`: `network`, `cache`, `revalidated`, `stale`, `offline` |
/// | `martlet.limits` | `Counter` | `event`; host, port and scheme |
/// | `martlet.pool.connections`, `martlet.pool.requests` | `Meter` | `state`; host, port and scheme: see ``recordPools(_:)`` |
/// | `martlet.pool.connections.opened`, `martlet.pool.requests.reused` | `Counter` | host, port and scheme |
///
/// The names with `http` are those of OpenTelemetry's stable conventions for HTTP clients. What the values mean, and how the
/// number of dimensions is bounded, is the same as in ``Martlet/CallMetrics``.
public final class MetricsListener: EventListener {
  private let meter: CallMeter
  private let instruments: Instruments

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - factory: makes the metrics. nil, the default, for the one that the program has chosen with
  ///     `MetricsSystem.bootstrap(_:)` by the time of the first call.
  ///   - originLimit: the most origins that have dimensions of their own; 100 by default. All others are `_OTHER`.
  ///   - clock: measures the time where the transport does not.
  public init(
    factory: (any MetricsFactory)? = nil, originLimit: Int = 100, clock: any Clock<Duration> = ContinuousClock()
  ) {
    let instruments = Instruments(factory)
    self.instruments = instruments
    meter = CallMeter(originLimit: originLimit, clock: clock) { instruments.report($0) }
  }

  public func receive(_ event: Event, in call: Call) { meter.receive(event, in: call) }

  /// Reports the connections of a transport, as they are now. Call it every few seconds:
  ///
  /// ```swift
  /// while !Task.isCancelled {
  ///   metrics.recordPools(await transport.statistics())
  ///   try await Task.sleep(for: .seconds(10))
  /// }
  /// ```
  ///
  /// A listener reports the connections of one transport.
  public func recordPools(_ pools: [Origin: PoolStatistics]) {
    instruments.record(meter.measurements(of: pools))
  }
}

/// The metrics that a factory has made, each made once.
private final class Instruments: Sendable {
  private struct Key: Hashable {
    let metric: CallMetric
    let labels: [MetricLabel]
  }

  private enum Instrument: Sendable {
    case counter(Counter)
    case meter(Meter)
    case timer(Timer)
  }

  private let factory: (any MetricsFactory)?
  private let made = Mutex<[Key: Instrument]>([:])
  /// What pools had when they were recorded last.
  private let pools = Mutex<[Key: Double]>([:])

  init(_ factory: (any MetricsFactory)?) { self.factory = factory }

  /// Adds each value to its metric.
  func report(_ measurements: [Measurement]) {
    for measurement in measurements {
      switch instrument(Key(metric: measurement.metric, labels: measurement.labels)) {
      case .counter(let counter): counter.increment(by: Int64(measurement.value))
      // a meter ignores negative amounts
      case .meter(let meter) where measurement.value < 0: meter.decrement(by: -measurement.value)
      case .meter(let meter): meter.increment(by: measurement.value)
      case .timer(let timer): timer.recordNanoseconds(Int64(measurement.value * 1e9))
      }
    }
  }

  /// Sets each metric to its value; meters that are not among them to zero. A counter rises by the difference to the last value,
  /// or by the value if that is smaller: then it has begun anew.
  func record(_ measurements: [Measurement]) {
    let now = Dictionary(
      measurements.map { (Key(metric: $0.metric, labels: $0.labels), $0.value) }, uniquingKeysWith: +)
    let last = pools.withLock { pools in
      defer { pools = now }
      return pools
    }
    for (key, value) in now {
      switch instrument(key) {
      case .counter(let counter):
        let before = last[key] ?? 0
        counter.increment(by: Int64(value < before ? value : value - before))
      case .meter(let meter): meter.set(value)
      case .timer: break
      }
    }
    for key in last.keys where now[key] == nil {
      if case .meter(let meter) = instrument(key) { meter.set(0) }
    }
  }

  private func instrument(_ key: Key) -> Instrument {
    if let instrument = made.withLock({ $0[key] }) { return instrument }
    let new = make(key)
    return made.withLock { made in
      let instrument = made[key] ?? new
      made[key] = instrument
      return instrument
    }
  }

  private func make(_ key: Key) -> Instrument {
    let factory = factory ?? MetricsSystem.factory
    let dimensions = key.labels.map { ($0.name, $0.value) }
    switch key.metric.kind {
    case .counter: return .counter(Counter(label: key.metric.name, dimensions: dimensions, factory: factory))
    case .gauge: return .meter(Meter(label: key.metric.name, dimensions: dimensions, factory: factory))
    case .histogram: return .timer(Timer(label: key.metric.name, dimensions: dimensions, factory: factory))
    }
  }
}
#endif
