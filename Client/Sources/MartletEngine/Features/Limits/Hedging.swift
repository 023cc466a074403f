@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Sends a second request if the first takes longer than most, and uses the response that arrives first. A few slow
/// answers of an origin with several machines then hardly matter.
///
/// ```swift
/// configuration.limits.hedging = Hedging()
/// ```
///
/// The delay is learned from the origin's own answers: by default the time within which nine in ten arrive. It starts
/// when the other limits have let the request pass: the wait for them says nothing about the origin, and a second
/// request would not shorten it. Only requests with a safe method (RFC 9110 §9.2.1) or with
/// ``RequestOptions/isIdempotent`` are sent twice: of two simultaneous PUTs, the second may be refused because the
/// first has succeeded. A request whose body can be read only once is never sent twice. The slower of the two is
/// cancelled. If the second request is refused (a status of 400 or above), the call still waits for the first. A budget
/// limits second requests to a share of all requests, so that an overloaded origin does not get much more load.
///
/// Listeners get ``Event/limit(_:)``, and ``HTTPResponse/history`` contains the slower request.
public struct Hedging: Sendable, Hashable {
  /// The share of the origin's answers that arrive before a second request is sent; 0.9 by default.
  public var quantile = 0.9
  /// The share of requests that may be followed by a second one; 0.1 by default.
  public var budget = 0.1
  /// How many answers of an origin are needed before it gets a second request; 20 by default.
  public var minimumCount = 20
  /// The shortest time before a second request; one millisecond by default.
  public var minimumDelay = Duration.milliseconds(1)

  /// Makes the default settings.
  public init() {}

  fileprivate func applies(to request: HTTPRequest) -> Bool {
    request.body.isReplayable && !request.fields.contains(.upgrade) && request.method != .connect
      && request.options.isIdempotent ?? request.method.isSafe
  }
}

/// Sends a request, and a second one if the first takes unusually long.
struct HedgingTransport: TransportLayer {
  let base: any Transport
  private let hedging: Hedging
  private let clock: any Clock<Duration>
  private let origins: HedgedOrigins

  init(base: any Transport, _ hedging: Hedging, clock: any Clock<Duration>) {
    self.base = base
    self.hedging = hedging
    self.clock = clock
    origins = HedgedOrigins(hedging, clock)
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let origin = request.origin, hedging.applies(to: request) else {
      return try await base.send(request, in: call)
    }
    if let delay = origins.delay(for: origin) {
      return try await race(request, to: origin, after: delay, in: call)
    }
    let sendingClock = SendingClock(clock)
    let part = call.part(reportingTo: HeldEvents(for: call, holds: false), measuredBy: sendingClock)
    let response = try await base.send(request, in: part)
    origins.add(sendingClock.elapsed, of: origin)
    return response
  }

  private func race(
    _ request: HTTPRequest, to origin: Origin, after delay: Duration, in call: Call
  ) async throws -> HTTPResponse {
    let race = HedgeRace(base, request, in: call, clock)
    do {
      race.start()
      let early = try await race.firstEnd(within: delay)
      if early == nil, origins.withdraw(from: origin) { race.start() }
      let end = if let early { early } else { try await race.end() }
      for latency in end.latencies { origins.add(latency, of: origin) }
      guard end.count > 1 else { return try end.outcome.get() }
      call.emit(.limit(.hedged(origin, after: delay, secondWon: end.winner == 1)))
      race.report(end.winner)
      var response = try end.outcome.get()
      let reason =
        "no response within \(Quantity.text(delay)), so that a second request was sent; "
        + "the \(end.winner == 1 ? "second" : "first") answered first"
      response.history = [AttemptRecord(request: request.head, response: nil, reason: reason)]
      return response
    } catch {
      race.cancel()
      throw error
    }
  }
}

/// How fast each origin answers, and how many second requests it may still get.
private final class HedgedOrigins: Sendable {
  private struct Entry {
    var latencies = LatencyEstimate()
    var budget: RetryBudget
  }

  private let hedging: Hedging
  private let stopwatch: Stopwatch
  private let entries = Mutex(LRUStorage<Origin, Entry>(countLimit: 200))

  init(_ hedging: Hedging, _ clock: any Clock<Duration>) {
    self.hedging = hedging
    stopwatch = Stopwatch(clock)
  }

  private func update<Result: Sendable>(_ origin: Origin, _ change: (inout Entry) -> Result) -> Result {
    entries.withLock { entries in
      entries.update(
        origin, from: Entry(budget: RetryBudget(share: hedging.budget, reserve: 0, capacity: 10)), change)
    }
  }

  /// Returns the delay before a second request; nil while too little is known. Adds the request to the budget.
  func delay(for origin: Origin) -> Duration? {
    let now = stopwatch.elapsed
    return update(origin) { entry in
      entry.budget.deposit(at: now)
      guard entry.latencies.weight >= Double(max(1, hedging.minimumCount)) else { return nil }
      return entry.latencies.quantile(hedging.quantile).map { max($0, hedging.minimumDelay) }
    }
  }

  func add(_ latency: Duration, of origin: Origin) {
    update(origin) { $0.latencies.add(latency) }
  }

  func withdraw(from origin: Origin) -> Bool {
    let now = stopwatch.elapsed
    return update(origin) { $0.budget.withdraw(at: now) }
  }
}

/// One request that is sent once or twice at the same time.
private final class HedgeRace: Sendable {
  /// The first response, or the error if there is none.
  struct End {
    let winner: Int
    let outcome: Outcome
    /// How many times the request was sent.
    let count: Int
    /// The latencies to learn from; empty after an error. If the first request was overtaken, its time so far counts;
    /// that of an overtaken second one does not.
    let latencies: [Duration]
  }

  private struct State {
    var runs: [Run] = []
    /// The outcome that arrived first but did not end the race. It wins unless the other one ranks higher.
    var kept: (index: Int, outcome: Outcome)?
    var winner: (index: Int, outcome: Outcome)?
    var isCancelled = false
    /// Gets the end of the race.
    var waiter: (@Sendable (End) -> Void)?
    /// Ends the wait for the first response.
    var alarm: Alarm?

    /// The end of the race; nil while it is not decided.
    var end: End? {
      guard let winner else { return nil }
      let latencies = runs.indices.compactMap { index -> Duration? in
        if case .failure = winner.outcome { return nil }
        // An overtaken second request started late, so its time so far means nothing.
        return runs[index].latency ?? (index == 0 ? runs[index].clock.elapsed : nil)
      }
      return End(winner: winner.index, outcome: winner.outcome, count: runs.count, latencies: latencies)
    }
  }

  private struct Run {
    let clock: SendingClock
    let events: HeldEvents?
    var task: Task<Void, Never>?
    /// nil while it is running.
    var latency: Duration?
  }

  private let base: any Transport
  private let request: HTTPRequest
  private let call: Call
  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  init(_ base: any Transport, _ request: HTTPRequest, in call: Call, _ clock: any Clock<Duration>) {
    self.base = base
    self.request = request
    self.call = call
    self.clock = clock
  }

  /// Sends the request, for the first or the second time; not if it has been answered in the meantime.
  func start() {
    let index = state.withLock { $0.runs.count }
    let events = HeldEvents(for: call, holds: index > 0)
    let sendingClock = SendingClock(clock)
    let isNeeded = state.withLock { state in
      guard state.winner == nil else { return false }
      for run in state.runs { run.events?.hold() }
      state.runs.append(Run(clock: sendingClock, events: events))
      return true
    }
    guard isNeeded else { return }
    let part = call.part(reportingTo: events, measuredBy: sendingClock)
    let task = Task { [base, request] in
      do { finish(index, .success(try await base.send(request, in: part))) } catch {
        finish(index, .failure(HTTPError(wrapping: error)))
      }
    }
    let isOver = state.withLock { state in
      state.runs[index].task = task
      return state.isCancelled || state.winner.map { $0.index != index } ?? false
    }
    if isOver { task.cancel() }
  }

  /// Waits like ``end()``, but returns nil if that takes longer than this time after the first request was sent.
  func firstEnd(within time: Duration) async throws -> End? {
    let waiter = OneShot<End?>()
    if let end = end(orLater: { waiter.answer(.success($0)) }) { return end }
    state.withLock { $0.runs[0].clock }.whenSent { [weak self, clock] in
      self?.set(Alarm(after: time, on: clock) { waiter.answer(.success(nil)) })
    }
    defer { set(nil) }
    return try await call.wait(for: waiter)
  }

  /// Waits until the race is decided, by a response that counts or because all requests have ended.
  func end() async throws -> End {
    let waiter = OneShot<End>()
    if let end = end(orLater: { waiter.answer(.success($0)) }) { return end }
    return try await call.wait(for: waiter)
  }

  /// Returns the end if the race is decided; otherwise passes it to the closure later.
  private func end(orLater waiter: @escaping @Sendable (End) -> Void) -> End? {
    state.withLock { state in
      state.waiter = waiter
      return state.end
    }
  }

  private func set(_ alarm: Alarm?) {
    let last = state.withLock { state in
      defer { state.alarm = alarm }
      return state.alarm
    }
    last?.cancel()
  }

  /// Reports the events of the request that has won, past and future, and no others.
  func report(_ winner: Int) {
    let events = state.withLock { $0.runs.map(\.events) }
    for (index, events) in events.enumerated() where index != winner { events?.drop() }
    // One request of an attempt is reported.
    events[winner]?.release(withRequest: events[0]?.hasReportedRequest != true || winner == 0)
  }

  /// Cancels the running requests. A response that still arrives is dropped.
  func cancel() {
    let (tasks, kept) = state.withLock { state in
      state.isCancelled = true
      return (state.runs.compactMap(\.task), state.kept.take())
    }
    for task in tasks { task.cancel() }
    kept?.outcome.drop()
  }

  private func finish(_ index: Int, _ outcome: Outcome) {
    typealias Action = @Sendable () -> Void
    let (wake, others, dropped) = state.withLock { state -> (Action?, [Task<Void, Never>], Outcome?) in
      guard state.winner == nil, !state.isCancelled else { return (nil, [], outcome) }
      if case .success = outcome { state.runs[index].latency = state.runs[index].clock.elapsed }
      state.runs[index].task = nil
      let dropped: Outcome?
      if let kept = state.kept.take() {
        let isBetter = outcome.rank(of: index) > kept.outcome.rank(of: kept.index)
        state.winner = isBetter ? (index, outcome) : kept
        dropped = isBetter ? kept.outcome : outcome
      } else if state.runs.count == 1 || outcome.rank(of: index) > Outcome.decisive {
        state.winner = (index, outcome)
        dropped = nil
      } else {
        state.kept = (index, outcome)  // The other one is still running.
        return (nil, [], nil)
      }
      let others = state.runs.compactMap(\.task)
      guard let waiter = state.waiter.take(), let end = state.end else { return (nil, others, dropped) }
      return ({ waiter(end) }, others, dropped)
    }
    wake?()
    for task in others { task.cancel() }
    dropped?.drop()
  }
}

extension Outcome {
  /// The race ends at once with an outcome that ranks higher than this.
  fileprivate static var decisive: Int { 2 }

  /// Orders the outcomes of two requests: a response ranks above a refusal of the second request, which may be due to
  /// the first, and a refusal above an error. Of two errors, that of the first request counts.
  fileprivate func rank(of index: Int) -> Int {
    switch self {
    case .failure: index == 0 ? 1 : 0
    case .success(let response): index == 0 || response.status.code < 400 ? 3 : 2
    }
  }

  /// Cancels the body of a response that is not used.
  fileprivate func drop() {
    if case .success(let response) = self { response.body.cancel() }
  }
}

/// The events of one of two requests, until it is known which of them counts.
private final class HeldEvents: EventListener {
  private enum Mode {
    case passing
    case holding([Event])
    case dropping
  }

  private struct State {
    var mode: Mode
    var hasReportedRequest = false
    /// Whether events of the request, not of its response, are dropped.
    var dropsRequest = false
  }

  private let call: Call
  private let state: Mutex<State>
  var events: Event.Kinds { call.events.union(.sending) }

  /// nil if the call has no listeners.
  init?(for call: Call, holds: Bool) {
    guard !call.events.isEmpty else { return nil }
    self.call = call
    state = Mutex(State(mode: holds ? .holding([]) : .passing))
  }

  /// Whether the listeners know that the request was sent.
  var hasReportedRequest: Bool { state.withLock(\.hasReportedRequest) }

  func receive(_ event: Event, in own: Call) {
    let passes = state.withLock { state in
      switch state.mode {
      case .passing:
        if state.dropsRequest, event.isOfRequest { return false }
        if case .sending = event { state.hasReportedRequest = true }
        return true
      case .holding(let events):
        state.mode = .holding(events + [event])
        return false
      case .dropping: return false
      }
    }
    if passes { call.emit(event) }
  }

  func hold() { state.withLock { if case .passing = $0.mode { $0.mode = .holding([]) } } }

  func drop() { state.withLock { $0.mode = .dropping } }

  /// Reports the held events and all later ones.
  ///
  /// - Parameter withRequest: whether to report the events of the request too, or only the events of its response.
  func release(withRequest: Bool) {
    // Until all are reported, later ones are held too, so that they stay in order.
    while true {
      let events = state.withLock { state in
        guard case .holding(let events) = state.mode, !events.isEmpty else {
          (state.mode, state.dropsRequest) = (.passing, !withRequest)
          return [Event]()
        }
        state.mode = .holding([])
        return events
      }
      guard !events.isEmpty else { return }
      for event in events where withRequest || !event.isOfRequest { call.emit(event) }
    }
  }
}

extension Event {
  /// Whether it concerns the request rather than the response.
  fileprivate var isOfRequest: Bool {
    switch self {
    case .sending, .written, .bytes(_, .sent, _): true
    case .progress(let progress): progress.direction == .sent
    default: false
    }
  }
}
