import MartletEngine
import TestSupport
import Testing

@testable import MartletSockets

/// Random sequences of reports, compared with conditions that must always hold.
@Suite(.timeLimit(.minutes(5)))
struct PoolModelTests {
  @Test(
    arguments: [
      TestPool.Limits.wide(), .wide(perHost: 2), .wide(total: 3), .wide(perHost: 2, total: 4, idle: 1),
      .wide(total: 1), .wide(perHost: 3, total: 5, idle: 0), .wide(perHost: 3, idleNanoseconds: 0),
      .wide(openingsPerTurn: 1), .wide(perHost: 2, total: 4, idle: 1, openingsPerTurn: 1),
    ], [1, 2, 4, 5] as [UInt64])
  func invariantsHold(_ limits: TestPool.Limits, seed: UInt64) {
    var model = PoolModel(limits, seed: seed, lifetime: seed > 3 ? 1_000_000 : nil)
    for step in 0..<1000 {
      let operation = model.step()
      let problems = model.problems()
      for problem in problems { Issue.record("step \(step), \(operation): \(problem)") }
      guard problems.isEmpty else { return }
    }
    model.finish()
    for problem in model.problems() { Issue.record("at the end: \(problem)") }
    #expect(model.states.isEmpty, "waiters were forgotten")
    #expect(model.waiterCount > 200)
  }
}

extension PoolModelTests {
  /// After a schedule in which some waiters have already given up, all others do. Then the pool has no trace of them,
  /// and works as before.
  @Test(
    arguments: [
      TestPool.Limits.wide(), .wide(perHost: 2), .wide(perHost: 2, total: 4, idle: 1), .wide(openingsPerTurn: 1),
    ],
    1...20 as ClosedRange<UInt64>)
  func cancelledWaitersLeaveNothingBehind(_ limits: TestPool.Limits, seed: UInt64) {
    var model = PoolModel(limits, seed: seed)
    for _ in 0..<10 {
      for _ in 0..<40 { _ = model.step() }
      model.cancelAll()
      #expect(model.problems() == [])
      #expect(model.rest == [])
    }
    for _ in 0..<100 { _ = model.step() }
    model.finish()
    #expect(model.problems() == [])
    #expect(model.states.isEmpty)
  }
}

/// Peers and callers around a pool: their knowledge about it, from its actions.
private struct PoolModel {
  enum WaiterState: Equatable {
    case waiting(TestKey)
    case using(Int)
  }

  enum ConnectionState: Equatable {
    case opening
    case open(capacity: Int)
  }

  var pool: TestPool
  /// The waiters that have not ended.
  var states: [Int: WaiterState] = [:]
  private(set) var waiterCount = 0
  private var connections: [Int: (key: TestKey, state: ConnectionState)] = [:]
  /// The waiters that need a new connection, with the connections that were already open before.
  private var needsNew: [Int: Set<Int>] = [:]
  private var draining: Set<Int> = []
  private var suspended: Set<Int> = []
  /// The ages at which connections retire.
  private var retirements: [Int: UInt64] = [:]
  private var served: Set<Int> = []
  private let limits: TestPool.Limits
  private let lifetime: UInt64?
  private var random: SeededGenerator
  private var now: UInt64 = 0
  private var actionProblems: [String] = []

  /// - Parameter lifetime: the longest lifetime of a connection; nil for no limit.
  init(_ limits: TestPool.Limits, seed: UInt64, lifetime: UInt64? = nil) {
    (self.limits, self.lifetime) = (limits, lifetime)
    pool = TestPool(limits)
    random = SeededGenerator(seed: seed)
  }

  // MARK: - Operations

  /// Performs an operation. Several may belong to a turn.
  mutating func step() -> String {
    let operation = operate()
    guard Int.random(in: 0..<3, using: &random) > 0 else { return operation }
    take(pool.finishTurn())
    return operation + ", end of the turn"
  }

  private mutating func operate() -> String {
    now += UInt64.random(in: 0...200_000, using: &random)
    switch Int.random(in: 0..<27, using: &random) {
    case 0..<7:
      let key = TestKey(
        ["a", "b", "c", "A", "B"].randomElement(using: &random) ?? "a", identity: .random(in: 0...1, using: &random))
      waiterCount += 1
      let waiter = waiterCount
      states[waiter] = .waiting(key)
      let isNew = Int.random(in: 0..<4, using: &random) == 0
      if isNew { needsNew[waiter] = Set(connections.filter { $0.value.state != .opening }.keys) }
      take(pool.request(waiter, for: key, isAgain: isNew, needsNew: isNew, now: now))
      return "request \(waiter) for \(isNew ? "new " : "")\(key)"
    case 7..<10: return open()
    case 10..<15: return release()
    case 15: return fail()
    case 16: return cancel()
    case 17: return close()
    case 18: return change()
    case 19:
      let key = TestKey(["a", "A", "B"].randomElement(using: &random) ?? "a")
      take(pool.expect(.random(in: 1...4, using: &random), for: key, now: now))
      return "expect \(key)"
    case 20: return lackRoom()
    case 21:
      take(pool.forgetDescriptorLimit(now: now))
      return "forget the lack of room"
    case 22, 23: return suspend()
    case 24 where Int.random(in: 0..<4, using: &random) == 0:
      draining.formUnion(connections.keys)
      take(pool.drainAll(now: now))
      return "drain all"
    case 25 where Int.random(in: 0..<4, using: &random) == 0:
      take(pool.closeIdle())
      return "close the idle ones"
    default:
      take(pool.expire(now: now))
      return "expire"
    }
  }

  private mutating func open() -> String {
    guard let (connection, key) = opening else { return "nothing" }
    let capacity = key.mayMultiplex && key.host == "A" ? Int.random(in: 2...4, using: &random) : 1
    connections[connection]?.state = .open(capacity: capacity)
    let retires = lifetime.map { now + UInt64.random(in: 0...$0, using: &random) } ?? .max
    retirements[connection] = retires
    take(pool.opened(connection, capacity: capacity, retires: retires, now: now))
    return "opened \(connection)"
  }

  private mutating func release() -> String {
    guard let (waiter, connection) = using else { return "nothing" }
    states[waiter] = nil
    take(pool.released(connection, now: now))
    return "released \(connection)"
  }

  private mutating func fail() -> String {
    guard let (connection, _) = opening else { return "nothing" }
    connections[connection] = nil
    failOpening(connection)
    return "failed \(connection)"
  }

  private mutating func lackRoom() -> String {
    guard let (connection, _) = opening else { return "nothing" }
    connections[connection] = nil
    if let actions = pool.lacksDescriptor(for: connection, now: now) {
      take(actions)
    } else {
      failOpening(connection)
    }
    return "no room for \(connection)"
  }

  private mutating func failOpening(_ connection: Int) {
    let (waiter, actions) = pool.failed(connection, now: now)
    if let waiter {
      if case .waiting = states[waiter] {} else { actionProblems.append("\(waiter) gets a failure and does not wait") }
      states[waiter] = nil
    }
    take(actions)
  }

  private mutating func cancel() -> String {
    let all = states.keys.sorted().filter { if case .waiting = states[$0] { true } else { false } }
    guard let waiter = all.randomElement(using: &random) else { return "nothing" }
    states[waiter] = nil
    take(pool.cancelled(waiter, now: now))
    return "cancelled \(waiter)"
  }

  private mutating func close() -> String {
    guard let connection = connections.keys.sorted().randomElement(using: &random) else { return "nothing" }
    connections[connection] = nil
    states = states.filter { $0.value != .using(connection) }
    take(pool.closed(connection, now: now))
    return "closed \(connection)"
  }

  private mutating func change() -> String {
    let shared = connections.keys.sorted().filter {
      if case .open = connections[$0]?.state { connections[$0]?.key.host == "A" } else { false }
    }
    guard let connection = shared.randomElement(using: &random) else { return "nothing" }
    if Int.random(in: 0..<4, using: &random) == 0 {
      draining.insert(connection)
      take(pool.drain(connection, now: now))
      return "drain \(connection)"
    }
    let capacity = Bool.random(using: &random) ? 1 : Int.random(in: 2...6, using: &random)
    connections[connection]?.state = .open(capacity: capacity)
    take(pool.changed(connection, capacity: capacity, now: now))
    return "changed \(connection) to \(capacity)"
  }

  /// Suspends a connection, or resumes one.
  private mutating func suspend() -> String {
    if let connection = suspended.sorted().randomElement(using: &random), Bool.random(using: &random) {
      suspended.remove(connection)
      take(pool.resume(connection, now: now))
      return "resumed \(connection)"
    }
    let all = connections.keys.sorted().filter { connections[$0]?.state != .opening && !draining.contains($0) }
    guard let connection = all.randomElement(using: &random) else { return "nothing" }
    suspended.insert(connection)
    take(pool.suspend(connection, now: now))
    return "suspended \(connection)"
  }

  /// Cancels all waiters.
  mutating func cancelAll() {
    while cancel() != "nothing" {}
  }

  /// The remains of waiters.
  var rest: [String] {
    pool.entries.filter { $0.waiterCount > 0 }.map { "\($0.key)" } + pool.waiting.values.map { "\($0)" }
  }

  /// Lets everything that is open end: no waiter may be left.
  mutating func finish() {
    for connection in suspended.sorted() {
      suspended.remove(connection)
      take(pool.resume(connection, now: now))
    }
    for _ in 0..<100_000 {
      if open() != "nothing" { continue }
      if release() != "nothing" { continue }
      guard pool.hasPostponed else { break }
      take(pool.finishTurn())
    }
  }

  private var opening: (Int, TestKey)? {
    mutating get {
      let all = connections.keys.sorted().filter { connections[$0]?.state == .opening }
      guard let connection = all.randomElement(using: &random), let key = connections[connection]?.key else {
        return nil
      }
      return (connection, key)
    }
  }

  private var using: (Int, Int)? {
    mutating get {
      let all = states.keys.sorted().compactMap { waiter -> (Int, Int)? in
        if case .using(let connection) = states[waiter] { (waiter, connection) } else { nil }
      }
      return all.randomElement(using: &random)
    }
  }

  // MARK: - Conditions

  private mutating func take(_ actions: [TestPool.Action]) {
    for action in actions {
      switch action {
      case .use(let connection, let waiter):
        guard case .waiting(let key) = states[waiter], let used = connections[connection], used.key == key else {
          actionProblems.append("\(action) of a waiter in state \(String(describing: states[waiter]))")
          continue
        }
        states[waiter] = .using(connection)
        if needsNew[waiter]?.contains(connection) == true { actionProblems.append("\(action), which is not new") }
        if !served.insert(connection).inserted, isRetired(connection) {
          actionProblems.append("\(action), which has reached its age")
        }
        let count = uses(of: connection)
        if case .open(let capacity) = used.state, count <= capacity, !draining.contains(connection),
          !suspended.contains(connection)
        {
          continue
        }
        actionProblems.append("\(action), \(count) uses of \(used)")
      case .open(let connection, let key):
        if connections[connection] != nil { actionProblems.append("\(action) twice") }
        connections[connection] = (key, .opening)
      case .close(let connection):
        if uses(of: connection) > 0 || connections[connection] == nil { actionProblems.append("\(action) in use") }
        connections[connection] = nil
      case .refuse: actionProblems.append("\(action)")
      }
    }
  }

  private func isRetired(_ connection: Int) -> Bool { retirements[connection].map { $0 <= now } ?? false }

  private func uses(of connection: Int) -> Int { states.values.count { $0 == .using(connection) } }

  func problems() -> [String] {
    var problems = actionProblems
    if let most = limits.total, connections.count > most { problems.append("\(connections.count) connections") }
    let hosts = Dictionary(grouping: connections.values, by: \.key.host)
    for (host, all) in hosts {
      if let most = limits.perHost, all.count > most { problems.append("\(all.count) connections to \(host)") }
    }
    let idle = connections.filter { isIdle($0.key, $0.value.state) }
    if idle.count > limits.idle { problems.append("\(idle.count) idle connections") }
    if pool.connections.count != connections.count { problems.append("the pool counts other connections") }
    for entry in pool.entries where Set(entry.shared).count < entry.shared.count {
      problems.append("a connection is shared twice: \(entry.shared)")
    }
    for entry in pool.entries where entry.expected > 0 && entry.opening.isEmpty && !entry.isPostponed {
      problems.append("\(entry.key) expects requests, and opens nothing for them")
    }
    problems += problemsOfExpiry()
    for (key, statistics) in pool.statistics { problems += self.problems(of: key, statistics) }
    for case (let waiter, .waiting(let key)) in states {
      problems += starvation(of: key, needsNew[waiter] != nil, idle.keys.sorted(), hosts)
    }
    return problems
  }

  /// The order of the idle connections and the next expiry are those that a look at all connections finds.
  private func problemsOfExpiry() -> [String] {
    let idle = pool.connections.compactMap { connection, state in state.idleSince.map { (since: $0, connection) } }
    let oldest = idle.map(\.since).min()
    var problems: [String] = []
    if pool.idleOrder.longest.flatMap({ pool.connections[$0]?.idleSince }) != oldest {
      problems.append("\(String(describing: pool.idleOrder.longest)) is not idle since \(String(describing: oldest))")
    }
    let expiries = idle.map { $0.since + limits.idleNanoseconds } + pool.connections.map(\.value.retires)
    if let first = expiries.filter({ $0 < .max }).min(), pool.nextCheck ?? .max > max(first, now + 1) {
      problems.append("the next check is at \(String(describing: pool.nextCheck)), after \(first)")
    }
    if pool.expiries.count > 2 * pool.connections.count + 65 { problems.append("\(pool.expiries.count) checks") }
    return problems
  }

  private func isIdle(_ connection: Int, _ state: ConnectionState) -> Bool {
    state != .opening && uses(of: connection) == 0 && !suspended.contains(connection)
  }

  private func problems(of key: TestKey, _ statistics: PoolStatistics) -> [String] {
    let own = connections.filter { $0.value.key == key }
    let expected = PoolStatistics(
      active: own.keys.reduce(0) { $0 + uses(of: $1) }, queued: states.values.count { $0 == .waiting(key) },
      opening: own.values.count { $0.state == .opening },
      idle: own.count { isIdle($0.key, $0.value.state) }, opened: statistics.opened,
      reused: statistics.reused)
    return statistics == expected ? [] : ["\(key) has \(statistics), and not \(expected)"]
  }

  /// No waiter waits although a connection could serve it, and each waits for an event that will happen.
  private func starvation(
    of key: TestKey, _ needsNew: Bool, _ idle: [Int], _ hosts: [String: [(key: TestKey, state: ConnectionState)]]
  ) -> [String] {
    for (connection, state) in connections
    where !needsNew && state.key == key && !draining.contains(connection) && !suspended.contains(connection) {
      guard case .open(let capacity) = state.state, uses(of: connection) < capacity else { continue }
      // in the pool's view, a connection that yields to another key is draining, too
      guard pool.connections[connection]?.isDraining == false, !isRetired(connection) else { continue }
      return ["a waiter for \(key) beside connection \(connection)"]
    }
    if connections.values.contains(where: { $0.key == key && $0.state == .opening }) { return [] }
    if pool.entries.contains(where: { $0.key == key && $0.isPostponed }) { return [] }
    let isHostFull = limits.perHost.map { hosts[key.host, default: []].count >= $0 } ?? false
    let isFull = connections.count >= min(limits.total ?? .max, pool.descriptorLimit ?? .max)
    guard isHostFull || isFull else { return ["a waiter for \(key), and nothing is opened"] }
    let inTheWay = idle.filter { !isHostFull || connections[$0]?.key.host == key.host }
    return inTheWay.isEmpty ? [] : ["a waiter for \(key), and \(inTheWay) are idle"]
  }
}
