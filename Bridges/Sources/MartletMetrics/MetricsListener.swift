#if Metrics
public import CoreMetrics
@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) import MartletObservation
public import MartletSemantics
import Synchronization

/// Reports calls to swift-metrics: how long requests take, how calls end, resends, and the actions of the cache and the
/// limits.
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
/// | `martlet.deprecated_resources` | `Counter` | host, port and scheme: resources with `Deprecation` or `Sunset`, each counted once |
/// | `martlet.responses` | `Counter` | `source`: `network`, `cache`, `revalidated`, `stale`, `offline` |
/// | `martlet.websocket.messages` | `Counter` | `direction`: `sent`, `received` |
/// | `martlet.limits` | `Counter` | `event`; host, port and scheme |
/// | `martlet.pool.connections`, `martlet.pool.requests` | `Meter` | `state`; host, port and scheme: see ``recordPools(_:)`` |
/// | `martlet.pool.connections.opened`, `martlet.pool.requests.reused` | `Counter` | host, port and scheme |
///
/// The names with `http` are those of OpenTelemetry's stable conventions for HTTP clients. The meaning of the values,
/// and the limits on the number of dimensions, are the same as in ``MartletObservation/CallMetrics``.
public final class MetricsListener: EventListener {
  private let meter: CallMeter
  private let instruments: Instruments
  /// The last recorded pools.
  private let pools = Mutex<[Origin: PoolStatistics]>([:])

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - factory: makes the metrics. nil, the default, means the current `MetricsSystem.factory`: that of
  ///     `withMetricsFactory` within its closure, otherwise the one that the program has set with
  ///     `MetricsSystem.bootstrap(_:)`.
  ///   - originLimit: the maximum number of origins that have their own dimensions; 100 by default. All others are
  ///     `_OTHER`.
  ///   - clock: measures the time if the transport does not.
  public init(
    factory: (any MetricsFactory)? = nil, originLimit: Int = 100, clock: any Clock<Duration> = ContinuousClock()
  ) {
    let instruments = Instruments(factory ?? MetricsSystem.factory)
    self.instruments = instruments
    meter = CallMeter(originLimit: originLimit, clock: clock) { instruments.report($0) }
  }

  public var events: Event.Kinds { meter.events }

  public func receive(_ event: Event, in call: Call) { meter.receive(event, in: call) }

  /// Reports the current connections of a transport. Call it every few seconds:
  ///
  /// ```swift
  /// while !Task.isCancelled {
  ///   metrics.recordPools(await transport.statistics())
  ///   try await clock.sleep(for: .seconds(10))
  /// }
  /// ```
  ///
  /// A listener reports the connections of only one transport.
  public func recordPools(_ pools: [Origin: PoolStatistics]) {
    let last = self.pools.withLock { last in
      defer { last = pools }
      return last
    }
    // The differences of each origin, computed before the origins beyond the limit are combined: a sum falls when the
    // transport forgets an origin.
    let changes = pools.map { origin, pool in
      var change = pool
      change.opened = Self.increase(pool.opened, since: last[origin]?.opened)
      change.reused = Self.increase(pool.reused, since: last[origin]?.reused)
      return (origin, change)
    }
    instruments.record(meter.measurements(of: Dictionary(changes, uniquingKeysWith: +)))
  }

  /// Returns the increase of a number; a number smaller than the last has started again.
  private static func increase(_ number: Int, since last: Int?) -> Int {
    guard let last, number >= last else { return number }
    return number - last
  }
}

/// The metrics made by a factory, each made once.
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

  private let factory: any MetricsFactory
  private let made = Mutex<[Key: Instrument]>([:])
  /// The meters of the last recorded pools.
  private let poolMeters = Mutex<Set<Key>>([])

  init(_ factory: any MetricsFactory) { self.factory = factory }

  /// Adds each value to its metric.
  func report(_ measurements: [Measurement]) {
    for measurement in measurements {
      switch instrument(Key(metric: measurement.metric, labels: measurement.labels)) {
      case .counter(let counter): counter.increment(by: Int64(measurement.value))
      // A meter ignores negative amounts.
      case .meter(let meter) where measurement.value < 0: meter.decrement(by: -measurement.value)
      case .meter(let meter): meter.increment(by: measurement.value)
      case .timer(let timer): timer.recordNanoseconds(Int64(measurement.value * 1e9))
      }
    }
  }

  /// Sets each meter to its value, and meters that are no longer among them to zero. Adds each value to its counter.
  func record(_ measurements: [Measurement]) {
    var current: Set<Key> = []
    for measurement in measurements {
      let key = Key(metric: measurement.metric, labels: measurement.labels)
      switch instrument(key) {
      case .counter(let counter): counter.increment(by: Int64(measurement.value))
      case .meter(let meter):
        current.insert(key)
        meter.set(measurement.value)
      case .timer: break
      }
    }
    let last = poolMeters.withLock { [current] meters in
      defer { meters = current }
      return meters
    }
    for key in last.subtracting(current) {
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
    let dimensions = key.labels.map { ($0.name, $0.value) }
    switch key.metric.kind {
    case .counter: return .counter(Counter(label: key.metric.name, dimensions: dimensions, factory: factory))
    case .gauge: return .meter(Meter(label: key.metric.name, dimensions: dimensions, factory: factory))
    case .histogram: return .timer(Timer(label: key.metric.name, dimensions: dimensions, factory: factory))
    }
  }
}
#endif
