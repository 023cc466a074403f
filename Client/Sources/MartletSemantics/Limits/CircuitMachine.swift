/// The state of a circuit breaker: it decides from the outcomes of earlier requests whether an origin gets further
/// ones.
///
/// | state | requests | changes |
/// |---|---|---|
/// | closed | are sent | opens when the share of failures is reached within the window |
/// | open | are refused | half-open after the time |
/// | half-open | as many as there are probes are sent, the rest is refused | closes when all probes have succeeded, opens when one fails |
///
/// Times are read from any monotonic clock that starts at zero.
package struct CircuitMachine: Sendable {
  /// When it opens, and what closes it again.
  package struct Rule: Sendable, Hashable {
    package var failureShare: Double
    package var minimumCount: Int
    package var window: Duration
    package var openTime: Duration
    package var probes: Int

    package init(failureShare: Double, minimumCount: Int, window: Duration, openTime: Duration, probes: Int) {
      self.failureShare = failureShare
      self.minimumCount = max(1, minimumCount)
      self.window = max(.nanoseconds(1), window)
      self.openTime = max(.zero, openTime)
      self.probes = max(1, probes)
    }
  }

  /// Whether a request is sent.
  package enum Admission: Sendable, Hashable {
    /// It is sent. Its outcome is recorded with this ticket.
    case sent(Ticket)
    /// It is refused; a request after this time may be sent.
    case refused(retryAfter: Duration)
  }

  /// The period in which a request was sent: requests from before the circuit opened say nothing about the time after.
  package struct Ticket: Sendable, Hashable {
    fileprivate let period: Int
    package let isProbe: Bool
  }

  /// The outcome of a request.
  package enum Result: Sendable, Hashable {
    case success
    case failure
    /// It says nothing about the origin: it was cancelled, or not sent.
    case neutral
  }

  private struct Counts: Sendable {
    var all = 0
    var failures = 0
  }

  package private(set) var phase = CircuitState.closed
  private let rule: Rule
  /// Rises with every change of the phase.
  private var period = 0
  /// When the phase began.
  private var began = Duration.zero
  /// The current half of the window and the one before.
  private var counts = (current: Counts(), previous: Counts())
  private var half = 0
  private var probes = (running: 0, succeeded: 0)

  /// Makes a closed circuit.
  package init(_ rule: Rule) { self.rule = rule }

  /// Decides whether a request is sent.
  package mutating func admit(at now: Duration) -> Admission {
    if phase == .open {
      let rest = began + rule.openTime - now
      guard rest <= .zero else { return .refused(retryAfter: rest) }
      change(to: .halfOpen, at: now)
    }
    guard phase == .halfOpen else { return .sent(Ticket(period: period, isProbe: false)) }
    guard probes.running + probes.succeeded < rule.probes else { return .refused(retryAfter: .zero) }
    probes.running += 1
    return .sent(Ticket(period: period, isProbe: true))
  }

  /// Records the outcome of a request that was sent.
  package mutating func record(_ result: Result, of ticket: Ticket, at now: Duration) {
    guard ticket.period == period else { return }
    if ticket.isProbe { return recordProbe(result, at: now) }
    guard phase == .closed, result != .neutral else { return }
    advanceWindow(to: now)
    counts.current.all += 1
    guard result == .failure else { return }
    counts.current.failures += 1
    let all = counts.current.all + counts.previous.all
    let failures = counts.current.failures + counts.previous.failures
    if all >= rule.minimumCount, Double(failures) >= rule.failureShare * Double(all) { change(to: .open, at: now) }
  }

  private mutating func recordProbe(_ result: Result, at now: Duration) {
    probes.running -= 1
    switch result {
    case .neutral: break
    case .failure: change(to: .open, at: now)
    case .success:
      probes.succeeded += 1
      if probes.succeeded >= rule.probes { change(to: .closed, at: now) }
    }
  }

  private mutating func change(to phase: CircuitState, at now: Duration) {
    self.phase = phase
    period += 1
    began = now
    counts = (Counts(), Counts())
    half = halves(at: now)
    probes = (0, 0)
  }

  private func halves(at now: Duration) -> Int { Int(max(.zero, now) / (rule.window / 2)) }

  /// Forgets outcomes that are older than the window: at least half of the window counts, and at most all of it.
  private mutating func advanceWindow(to now: Duration) {
    let next = halves(at: now)
    guard next > half else { return }
    counts = (Counts(), next == half + 1 ? counts.current : Counts())
    half = next
  }
}
