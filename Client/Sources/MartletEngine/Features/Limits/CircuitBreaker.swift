@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// Stops sending to a failing origin, so that it can recover and callers do not wait for failures.
///
/// ```swift
/// var breaker = CircuitBreaker()
/// breaker.openTime = .seconds(5)
/// configuration.limits.circuitBreaker = breaker
/// ```
///
/// | state | requests |
/// |---|---|
/// | closed | are sent. It opens when at least ``failureShare`` of at least ``minimumCount`` outcomes in ``window`` are failures |
/// | open | fail at once with ``HTTPError/Kind/circuitOpen``, for ``openTime`` |
/// | half-open | ``probes`` are sent, the others fail. It closes when all have succeeded, and opens when one fails |
///
/// While the circuit is open, a stored response that may be used when the origin fails (`stale-if-error`, RFC 5861 §4)
/// still answers requests.
public struct CircuitBreaker: Sendable {
  /// The share of failures that opens the circuit, from 0 to 1; 0.5 by default.
  public var failureShare = 0.5
  /// The fewest outcomes in the window before the circuit may open; 10 by default.
  public var minimumCount = 10
  /// The period whose outcomes count; 30 seconds by default. Old outcomes are forgotten half a window at a time.
  public var window = Duration.seconds(30)
  /// How long it stays open; 10 seconds by default.
  public var openTime = Duration.seconds(10)
  /// How many requests test whether the origin works again; 1 by default.
  public var probes = 1
  /// Decides whether an outcome is a failure of the origin. By default these are the statuses 500, 502, 503 and 504,
  /// and errors without a response: no connection, no TLS, a lost connection, an invalid response, a timeout, and the
  /// call's deadline. It is not called for requests that were cancelled or not sent. It is called for each response, so
  /// it must return quickly, and must not read the body.
  public var isFailure: @Sendable (Outcome) -> Bool = CircuitBreaker.isUsualFailure

  /// Makes the default circuit breaker.
  public init() {}

  /// The states of a circuit.
  public typealias State = CircuitState

  /// The default of ``isFailure``.
  public static let isUsualFailure: @Sendable (Outcome) -> Bool = { outcome in
    switch outcome {
    case .success(let response): return failing.contains(response.status)
    case .failure(let error):
      return error.isUnreachable || error.isTLSFailure || error.isTimeout || error.kind == .protocolViolation
    }
  }

  private static let failing: Set<HTTPStatus> = [
    .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
  ]

  fileprivate var rule: CircuitMachine.Rule {
    CircuitMachine.Rule(
      failureShare: failureShare, minimumCount: minimumCount, window: window, openTime: openTime, probes: probes)
  }

  fileprivate func result(of outcome: Outcome) -> CircuitMachine.Result {
    guard case .failure(let reason) = outcome else { return isFailure(outcome) ? .failure : .success }
    guard !reason.isCancelled, reason.phase != .preparing else { return .neutral }
    // A deadline that passes while the request waits for a connection is a sign of a slow origin.
    guard reason.phase != .queued || reason.kind == .deadlineExceeded else { return .neutral }
    // An error that is not a failure of the origin is not a sign of its health either.
    return isFailure(outcome) ? .failure : .neutral
  }
}

/// Refuses requests to origins whose circuit is open.
struct CircuitTransport: TransportLayer {
  let base: any Transport
  private let breaker: CircuitBreaker
  private let circuits: Circuits

  init(base: any Transport, _ breaker: CircuitBreaker, clock: any Clock<Duration>) {
    self.base = base
    self.breaker = breaker
    circuits = Circuits(breaker.rule, clock)
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let origin = request.origin else { return try await base.send(request, in: call) }
    let ticket = try circuits.admit(origin, in: call)
    do {
      let response = try await base.send(request, in: call)
      circuits.record(breaker.result(of: .success(response)), of: ticket, origin, in: call)
      return response
    } catch {
      circuits.record(breaker.result(of: .failure(HTTPError(wrapping: error))), of: ticket, origin, in: call)
      throw error
    }
  }
}

/// The circuits of the origins.
private final class Circuits: Sendable {
  private let states = Mutex(LRUStorage<Origin, CircuitMachine>(countLimit: 1000))
  private let rule: CircuitMachine.Rule
  private let stopwatch: Stopwatch

  init(_ rule: CircuitMachine.Rule, _ clock: any Clock<Duration>) {
    self.rule = rule
    stopwatch = Stopwatch(clock)
  }

  func admit(_ origin: Origin, in call: Call) throws(HTTPError) -> CircuitMachine.Ticket {
    switch change(origin, in: call, { $0.admit(at: $1) }) {
    case .sent(let ticket): return ticket
    case .refused(let delay):
      let pause =
        delay > .zero
        ? "no requests will be sent for another \(Quantity.text(delay))"
        : "no others will be sent until those in progress have succeeded"
      throw HTTPError(
        .circuitOpen,
        "\(origin): too many requests failed, so \(pause); check the origin, or change limits.circuitBreaker",
        phase: .preparing)
    }
  }

  func record(_ result: CircuitMachine.Result, of ticket: CircuitMachine.Ticket, _ origin: Origin, in call: Call) {
    change(origin, in: call) { $0.record(result, of: ticket, at: $1) }
  }

  /// Changes a circuit, and reports its phase if that has changed.
  @discardableResult
  private func change<Result: Sendable>(
    _ origin: Origin, in call: Call, _ change: (inout CircuitMachine, Duration) -> Result
  ) -> Result {
    let now = stopwatch.elapsed
    let (result, phase) = states.withLock { states in
      states.update(origin, from: CircuitMachine(rule)) { state in
        let before = state.phase
        let result = change(&state, now)
        return (result, state.phase == before ? nil : state.phase)
      }
    }
    if let phase { call.emit(.limit(.circuit(origin, phase))) }
    return result
  }
}
