import MartletSemantics

/// Limits the requests that a session sends to each origin, and the time that it waits for a slow one. This is meant
/// for services, where one slow or failing upstream must not use up all resources. All limits are off by default.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.limits.concurrency = ConcurrencyLimit(50)
/// configuration.limits.rate = RateLimit(100, per: .seconds(1))
/// configuration.limits.circuitBreaker = CircuitBreaker()
/// configuration.limits.hedging = Hedging()
/// configuration.limits.deadlineField = DeadlineField("X-Request-Timeout-Ms")
/// ```
///
/// They apply to each request that goes over the network, including every redirect, retry and second attempt; a
/// response from the cache is not limited. A request passes them in this order: hedging, circuit breaker, rate,
/// concurrency, deadline. Each session keeps its own state, unless several share a ``RateLimitStore``. The limits
/// report their actions as ``Event/limit(_:)``.
public struct OriginLimits: Sendable {
  /// How many requests an origin gets at the same time; nil, the default, for no limit.
  public var concurrency: ConcurrencyLimit?
  /// How many requests an origin gets per period; nil, the default, for no limit.
  public var rate: RateLimit?
  /// Stops sending to a failing origin; nil, the default, for none.
  public var circuitBreaker: CircuitBreaker?
  /// Sends a second request when the first takes unusually long; nil, the default, for none.
  public var hedging: Hedging?
  /// The field that tells servers how much time a call has left; nil, the default, for none.
  public var deadlineField: DeadlineField?

  /// Makes limits, none of which is set.
  public init() {}

  /// Returns a transport that applies the limits to the requests of this one.
  func around(
    _ network: any Transport, clock: any Clock<Duration>, now: @escaping @Sendable () -> Date
  ) -> any Transport {
    var stack = network
    if let deadlineField { stack = DeadlineFieldTransport(base: stack, field: deadlineField) }
    if hedging != nil { stack = SendingClockTransport(base: stack) }
    if let concurrency { stack = ConcurrencyTransport(base: stack, slots: OriginSlots(concurrency, clock)) }
    if let rate { stack = RateTransport(base: stack, rate, clock: clock, now: now) }
    if let circuitBreaker { stack = CircuitTransport(base: stack, circuitBreaker, clock: clock) }
    if let hedging { stack = HedgingTransport(base: stack, hedging, clock: clock) }
    return stack
  }
}

/// Starts the clock of a request that has passed the other limits, which are above it.
private struct SendingClockTransport: TransportLayer {
  let base: any Transport

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    call.sendingClock?.begin()
    return try await base.send(request, in: call)
  }
}
