import MartletEngine
import Testing

@testable import MartletSockets

/// The key of the tests: a host in lower case is known not to multiplex, one in capitals may.
struct TestKey: PoolKey, ExpressibleByStringLiteral, CustomStringConvertible {
  let host: String
  /// Whether its connections change the protocol.
  let isForUpgrades: Bool
  /// Distinguishes keys of the same host.
  let identity: Int

  init(_ host: String, identity: Int = 0, isForUpgrades: Bool = false) {
    self.host = host
    self.identity = identity
    self.isForUpgrades = isForUpgrades
  }

  init(stringLiteral value: String) { self.init(value) }

  var mayMultiplex: Bool { host == host.uppercased() }
  var description: String { identity == 0 ? host : "\(host)\(identity)" }
}

typealias TestPool = PoolState<TestKey>

extension PoolState.Limits {
  /// Limits that do not matter.
  static func wide(
    perHost: Int? = nil, upgradesPerHost: Int? = nil, total: Int? = nil, idle: Int = 100,
    idleNanoseconds: UInt64 = 1_000_000, openingsPerTurn: Int = .max
  ) -> Self {
    Self(
      perHost: perHost, upgradesPerHost: upgradesPerHost, total: total, idle: idle, idleNanoseconds: idleNanoseconds,
      openingsPerTurn: openingsPerTurn)
  }
}

/// The assignment of requests to connections.
@Suite(.timeLimit(.minutes(5)))
struct PoolStateTests {
  // MARK: - Waiters and connections

  @Test func aConnectionIsOpenedUsedAndUsedAgain() {
    var pool = TestPool(.wide())
    #expect(pool.request(1, for: "a", now: 0) == [.open(connection: 1, key: "a")])
    #expect(pool.opened(1, capacity: 1, now: 1) == [.use(connection: 1, waiter: 1)])
    #expect(pool.released(1, now: 2) == [])
    #expect(pool.request(2, for: "a", now: 3) == [.use(connection: 1, waiter: 2)])
    #expect(pool.request(3, for: "b", now: 3) == [.open(connection: 2, key: "b")])
    #expect(pool.statistics["a"] == PoolStatistics(active: 1, opened: 1, reused: 1))
    #expect(pool.statistics["b"] == PoolStatistics(queued: 1, opening: 1))
  }

  @Test func aReadyConnectionIsGivenWithoutAWait() {
    var pool = TestPool(.wide(idleNanoseconds: 100))
    #expect(pool.useAvailable(for: "a", now: 0) == nil)
    _ = pool.request(1, for: "a", now: 0)
    #expect(pool.useAvailable(for: "a", now: 0) == nil)
    _ = pool.opened(1, capacity: 1, now: 1)
    #expect(pool.useAvailable(for: "a", now: 1) == nil)
    _ = pool.released(1, now: 2)
    #expect(pool.useAvailable(for: "b", now: 3) == nil)
    #expect(pool.useAvailable(for: "a", now: 3) == 1)
    #expect(pool.useAvailable(for: "a", now: 3) == nil)
    #expect(pool.statistics["a"] == PoolStatistics(active: 1, opened: 1, reused: 1))
    _ = pool.released(1, now: 4)
    #expect(pool.useAvailable(for: "a", now: 104) == nil, "its idle lifetime is over")
    #expect(pool.request(2, for: "a", now: 104) == [.close(connection: 1), .open(connection: 2, key: "a")])
  }

  @Test func aReadyConnectionIsNotGivenBeforeThoseThatWait() {
    var pool = TestPool(.wide(total: 1))
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 2, now: 0)
    #expect(pool.useAvailable(for: "A", now: 1) == 1)
    _ = pool.request(2, for: "A", now: 1)
    _ = pool.changed(1, capacity: 3, now: 1)
    #expect(pool.useAvailable(for: "A", now: 1) == nil, "three requests use it")
    _ = pool.released(1, now: 2)
    _ = pool.request(3, for: "b", now: 2)
    #expect(pool.useAvailable(for: "A", now: 2) == nil, "another key waits for room")
  }

  @Test func aWaiterTakesWhicheverConnectionIsReadyFirst() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    #expect(pool.request(2, for: "a", now: 1) == [.open(connection: 2, key: "a")])
    #expect(pool.request(3, for: "a", now: 1) == [.open(connection: 3, key: "a")])
    #expect(pool.released(1, now: 2) == [.use(connection: 1, waiter: 2)])
    #expect(pool.opened(3, capacity: 1, now: 3) == [.use(connection: 3, waiter: 3)])
    #expect(pool.opened(2, capacity: 1, now: 4) == [])
    #expect(pool.statistics["a"]?.idle == 1)
  }

  @Test func theIdleConnectionThatWasUsedLastIsUsedFirst() {
    var pool = TestPool(.wide())
    for waiter in 1...3 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...3 { _ = pool.opened(connection, capacity: 1, now: 0) }
    for connection in [2, 3, 1] { _ = pool.released(connection, now: 1) }
    #expect(pool.request(4, for: "a", now: 2) == [.use(connection: 1, waiter: 4)])
    #expect(pool.request(5, for: "a", now: 2) == [.use(connection: 3, waiter: 5)])
  }

  @Test func aRequestWhoseConnectionWasClosedIsServedBeforeOthers() {
    var pool = TestPool(.wide(perHost: 1))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    #expect(pool.request(2, for: "a", now: 0) == [])
    #expect(pool.closed(1, now: 1) == [.open(connection: 2, key: "a")])
    #expect(pool.request(1, for: "a", isAgain: true, now: 1) == [])
    #expect(pool.opened(2, capacity: 1, now: 2) == [.use(connection: 2, waiter: 1)])
  }

  @Test func aCancelledWaiterGetsNothing() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.request(2, for: "a", now: 0)
    #expect(pool.cancelled(1, now: 1) == [.close(connection: 2)])
    #expect(pool.opened(1, capacity: 1, now: 2) == [.use(connection: 1, waiter: 2)])
    #expect(pool.cancelled(2, now: 3) == [])
    #expect(pool.cancelled(7, now: 3) == [])
    #expect(pool.released(1, now: 4) == [])
    #expect(pool.statistics["a"] == PoolStatistics(idle: 1, opened: 1))
  }

  @Test func reportsAboutUnknownConnectionsAreIgnored() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    #expect(pool.cancelled(1, now: 0) == [.close(connection: 1)])
    for connection in [1, 9] {
      #expect(pool.opened(connection, capacity: 1, now: 1) == [])
      #expect(pool.failed(connection, now: 1) == (nil, []))
      #expect(pool.released(connection, now: 1) == [])
      #expect(pool.changed(connection, capacity: 5, now: 1) == [])
      #expect(pool.drain(connection, now: 1) == [])
      #expect(pool.closed(connection, now: 1) == [])
    }
  }

  // MARK: - Multiplexing

  @Test func aColdKeyThatMayMultiplexOpensOneConnection() {
    var pool = TestPool(.wide())
    #expect(pool.request(1, for: "A", now: 0) == [.open(connection: 1, key: "A")])
    for waiter in 2...4 { #expect(pool.request(waiter, for: "A", now: 0) == []) }
    var http2 = pool
    #expect(
      http2.opened(1, capacity: 3, now: 1) == (1...3).map { .use(connection: 1, waiter: $0) } + [
        .open(connection: 2, key: "A")
      ])
    #expect(http2.released(1, now: 2) == [.use(connection: 1, waiter: 4)])
    // the other connection is not needed any more, but it is almost established
    #expect(http2.opened(2, capacity: 3, now: 3) == [])
    #expect(
      pool.opened(1, capacity: 1, now: 1) == [.use(connection: 1, waiter: 1)]
        + (2...4).map { .open(connection: $0, key: "A") })
    #expect(pool.request(5, for: "A", now: 1) == [.open(connection: 5, key: "A")])
  }

  @Test func aMultiplexedConnectionIsSharedUpToItsCapacity() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 2, now: 0)
    #expect(pool.request(2, for: "A", now: 0) == [.use(connection: 1, waiter: 2)])
    #expect(pool.request(3, for: "A", now: 0) == [.open(connection: 2, key: "A")])
    #expect(pool.request(4, for: "A", now: 0) == [])
    #expect(pool.request(5, for: "A", now: 0) == [.open(connection: 3, key: "A")])
    #expect(pool.changed(1, capacity: 3, now: 1) == [.use(connection: 1, waiter: 3)])
    #expect(
      pool.opened(2, capacity: 100, now: 2) == [
        .use(connection: 2, waiter: 4), .use(connection: 2, waiter: 5), .close(connection: 3),
      ])
    #expect(pool.statistics["A"] == PoolStatistics(active: 5, opened: 2, reused: 3))
    #expect(pool.changed(1, capacity: 1, now: 2) == [])
    #expect(pool.released(1, now: 3) == [])
    #expect(pool.request(6, for: "A", now: 3) == [.use(connection: 2, waiter: 6)])
  }

  @Test func aConnectionWhoseCapacityBecameOneIsNotIdleInUse() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 2, now: 0)
    #expect(pool.changed(1, capacity: 1, now: 1) == [])
    #expect(pool.released(1, now: 2) == [])
    #expect(pool.request(2, for: "A", now: 3) == [.use(connection: 1, waiter: 2)])
    #expect(pool.statistics["A"] == PoolStatistics(active: 1, opened: 1, reused: 1))
    #expect(pool.expire(now: 9_000_000) == [])
  }

  @Test func aDrainingConnectionGetsNoFurtherRequests() {
    var pool = TestPool(.wide())
    for waiter in 1...2 { _ = pool.request(waiter, for: "A", now: 0) }
    _ = pool.opened(1, capacity: 100, now: 0)
    #expect(pool.drain(1, now: 1) == [])
    #expect(pool.request(3, for: "A", now: 1) == [.open(connection: 2, key: "A")])
    #expect(pool.released(1, now: 2) == [])
    #expect(pool.released(1, now: 2) == [.close(connection: 1)])
    #expect(pool.opened(2, capacity: 100, now: 3) == [.use(connection: 2, waiter: 3)])
    #expect(pool.released(2, now: 4) == [])
    #expect(pool.drain(2, now: 5) == [.close(connection: 2)])
  }

  // MARK: - Failures

  @Test func aFailureEndsTheLongestWaitAndTheOthersTryAtOnce() {
    var pool = TestPool(.wide())
    for waiter in 1...3 { _ = pool.request(waiter, for: "A", now: 0) }
    #expect(pool.failed(1, now: 1) == (1, [.open(connection: 2, key: "A"), .open(connection: 3, key: "A")]))
    #expect(pool.failed(3, now: 2) == (2, []))
    #expect(pool.opened(2, capacity: 100, now: 3) == [.use(connection: 2, waiter: 3)])
    #expect(pool.request(4, for: "A", now: 3) == [.use(connection: 2, waiter: 4)])
  }

  @Test func aFailureThatNobodyWaitsForIsNobodys() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.request(2, for: "a", now: 0)
    #expect(pool.released(1, now: 1) == [.use(connection: 1, waiter: 2)])
    #expect(pool.failed(2, now: 2) == (nil, []))
  }

  // MARK: - Limits

  @Test func connectionsToAHostAreLimited() {
    var pool = TestPool(.wide(perHost: 2))
    #expect(pool.request(1, for: "a", now: 0).count == 1)
    #expect(pool.request(2, for: TestKey("a", identity: 1), now: 0).count == 1)
    #expect(pool.request(3, for: "a", now: 0) == [])
    #expect(pool.request(4, for: "b", now: 0).count == 1)
    _ = pool.opened(1, capacity: 1, now: 1)
    _ = pool.opened(2, capacity: 1, now: 1)
    // the other key's connection is closed when it is idle, because it prevents this key from opening one
    #expect(pool.released(2, now: 2) == [.close(connection: 2), .open(connection: 4, key: "a")])
  }

  @Test func theLongestIdleConnectionOfAnotherKeyMakesRoom() {
    var pool = TestPool(.wide(total: 2))
    for (waiter, key) in [(1, "a"), (2, "b")] as [(Int, TestKey)] {
      _ = pool.request(waiter, for: key, now: 0)
      _ = pool.opened(waiter, capacity: 1, now: 0)
    }
    _ = pool.released(2, now: 1)
    _ = pool.released(1, now: 2)
    #expect(pool.request(3, for: "c", now: 3) == [.close(connection: 2), .open(connection: 3, key: "c")])
    #expect(pool.request(4, for: "a", now: 3) == [.use(connection: 1, waiter: 4)])
    #expect(pool.request(5, for: "d", now: 3) == [])
    #expect(pool.failed(3, now: 4) == (3, [.open(connection: 4, key: "d")]))
  }

  @Test func idleConnectionsAreLimited() {
    var pool = TestPool(.wide(idle: 1))
    for waiter in 1...2 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...2 { _ = pool.opened(connection, capacity: 1, now: 0) }
    #expect(pool.released(1, now: 1) == [])
    #expect(pool.released(2, now: 2) == [.close(connection: 1)])
    var none = TestPool(.wide(idle: 0))
    _ = none.request(1, for: "a", now: 0)
    _ = none.opened(1, capacity: 1, now: 0)
    _ = none.request(2, for: "a", now: 0)
    #expect(none.released(1, now: 1) == [.use(connection: 1, waiter: 2)])
    #expect(none.released(1, now: 1) == [.close(connection: 1)])
  }

  @Test func idleConnectionsExpire() {
    var pool = TestPool(.wide(idleNanoseconds: 10))
    for waiter in 1...3 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...3 { _ = pool.opened(connection, capacity: 1, now: 0) }
    for connection in 1...3 { _ = pool.released(connection, now: UInt64(connection)) }
    // they were idle for a moment when they were opened
    #expect(pool.nextCheck == 10)
    #expect(pool.expire(now: 10) == [])
    #expect(pool.nextCheck == 11)
    #expect(pool.expire(now: 11) == [.close(connection: 1)])
    #expect(pool.nextCheck == 12)
    // without a timer they are noticed when they are about to be used
    #expect(
      pool.request(4, for: "a", now: 20) == [
        .close(connection: 2), .close(connection: 3), .open(connection: 4, key: "a"),
      ])
    #expect(pool.expire(now: 20) == [])
    #expect(pool.nextCheck == nil)
  }

  @Test func withoutAnIdleLifetimeNoConnectionIsUsedAgain() {
    var pool = TestPool(.wide(idleNanoseconds: 0))
    _ = pool.request(1, for: "a", now: 0)
    #expect(pool.opened(1, capacity: 1, now: 5) == [.use(connection: 1, waiter: 1)])
    #expect(pool.request(2, for: "a", now: 5) == [.open(connection: 2, key: "a")])
    #expect(pool.released(1, now: 6) == [.close(connection: 1)])
    #expect(pool.opened(2, capacity: 1, now: 7) == [.use(connection: 2, waiter: 2)])
    #expect(pool.released(2, now: 8) == [.close(connection: 2)])
  }

  @Test func extremeTimesDoNotOverflow() {
    var pool = TestPool(.wide(idleNanoseconds: .max))
    _ = pool.request(1, for: "a", now: .max)
    _ = pool.opened(1, capacity: .max, now: .max)
    _ = pool.released(1, now: .max)
    #expect(pool.nextCheck == .max)
    #expect(pool.expire(now: .max) == [])
    #expect(pool.request(2, for: "a", now: 0) == [.use(connection: 1, waiter: 2)])
  }

  // MARK: - Fairness

  /// One key has many requests and all connections; another one comes later.
  @Test(arguments: [1, 2, 5])
  func aBusyKeyYieldsToAnother(_ total: Int) {
    var pool = TestPool(.wide(total: total))
    var uses: [Int] = []
    var busy: [Int] = []
    func take(_ actions: [TestPool.Action]) {
      for action in actions {
        switch action {
        case .use(let connection, let waiter):
          uses.append(waiter)
          busy.append(connection)
        case .open(let connection, _): take(pool.opened(connection, capacity: 1, now: 0))
        case .close(let connection): busy.removeAll { $0 == connection }
        case .refuse: Issue.record("\(action)")
        }
      }
    }
    for waiter in 1...1000 { take(pool.request(waiter, for: "a", now: 0)) }
    for waiter in 1001...1010 { take(pool.request(waiter, for: "b", now: 0)) }
    while !busy.isEmpty { take(pool.released(busy.removeFirst(), now: 0)) }
    #expect(uses.count == 1010)
    #expect(Set(uses).count == 1010)
    let last = uses.lastIndex { $0 > 1000 } ?? .max
    #expect(last < 100, "the other key was served after \(last) requests")
  }

  @Test func manyKeysTakeTurns() {
    var pool = TestPool(.wide(total: 2))
    var served: [String: Int] = [:]
    var keys: [Int: TestKey] = [:]
    var busy: [(connection: Int, waiter: Int)] = []
    var waiter = 0
    func take(_ actions: [TestPool.Action]) {
      for action in actions {
        switch action {
        case .use(let connection, let waiter):
          served[keys[waiter]?.host ?? "", default: 0] += 1
          busy.append((connection, waiter))
        case .open(let connection, _): take(pool.opened(connection, capacity: 1, now: 0))
        default: break
        }
      }
    }
    func ask(_ key: TestKey) {
      waiter += 1
      keys[waiter] = key
      take(pool.request(waiter, for: key, now: 0))
    }
    for key in ["a", "b", "c", "d", "e"] as [TestKey] { for _ in 0..<3 { ask(key) } }
    // every key sends another request as soon as it is answered
    for _ in 0..<2000 {
      let (connection, waiter) = busy.removeFirst()
      if let key = keys[waiter] { ask(key) }
      take(pool.released(connection, now: 0))
    }
    #expect(served.count == 5)
    #expect(served.values.allSatisfy { (300...500).contains($0) }, "\(served)")
  }

  // MARK: - The end

  @Test func aShutDownPoolClosesAndRefuses() {
    var pool = TestPool(.wide(perHost: 3))
    for waiter in 1...4 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...2 { _ = pool.opened(connection, capacity: 1, now: 0) }
    for _ in 1...3 { _ = pool.released(1, now: 1) }
    #expect(pool.statistics["a"] == PoolStatistics(active: 1, opening: 1, idle: 1, opened: 2, reused: 2))
    _ = pool.request(5, for: "A", now: 2)
    #expect(
      pool.shutDown() == [
        .refuse(waiter: 5), .close(connection: 1), .close(connection: 3), .close(connection: 4),
      ])
    #expect(pool.request(6, for: "a", now: 3) == [.refuse(waiter: 6)])
    #expect(pool.released(2, now: 4) == [.close(connection: 2)])
    #expect(pool.opened(3, capacity: 1, now: 5) == [])
  }

  @Test func keysThatAreNotInUseAreForgotten() {
    var pool = TestPool(.wide(idle: 2))
    for index in 1...5000 {
      let key = TestKey("h\(index)")
      _ = pool.request(index, for: key, now: 0)
      _ = pool.opened(index, capacity: 1, now: 0)
      _ = pool.released(index, now: 0)
    }
    #expect(pool.statistics.count <= 1000)
    #expect(pool.hosts.count == pool.statistics.count)
  }
}
