import MartletEngine
import Testing

@testable import MartletSockets

/// How many connections a turn of the loop opens.
@Suite(.timeLimit(.minutes(5)))
struct PoolPaceTests {
  private static func opened(_ numbers: ClosedRange<Int>, _ key: TestKey = "a") -> [TestPool.Action] {
    numbers.map { .open(connection: $0, key: key) }
  }

  /// A pool with a number of waiters that came in one turn.
  private static func pool(_ limits: TestPool.Limits, waiters: Int) -> TestPool {
    var pool = TestPool(limits)
    for waiter in 1...waiters { _ = pool.request(waiter, for: "a", now: 0) }
    return pool
  }

  @Test func aTurnOpensAFewConnectionsAndTheNextOneMore() {
    var pool = TestPool(.wide(openingsPerTurn: 3))
    let actions = (1...8).flatMap { pool.request($0, for: "a", now: 0) }
    #expect(actions == Self.opened(1...3))
    #expect(pool.finishTurn() == [], "this turn has opened enough")
    #expect(pool.hasPostponed)
    #expect(pool.finishTurn() == Self.opened(4...6))
    #expect(pool.finishTurn() == Self.opened(7...8))
    #expect(!pool.hasPostponed)
    #expect(pool.finishTurn() == [])
  }

  @Test func aWaiterTakesAConnectionThatIsReadyBeforeItsOwnIsOpened() {
    var pool = Self.pool(.wide(openingsPerTurn: 2), waiters: 5)
    _ = pool.finishTurn()
    #expect(pool.opened(1, capacity: 1, now: 1) == [.use(connection: 1, waiter: 1)])
    #expect(pool.released(1, now: 2) == [.use(connection: 1, waiter: 2)])
    #expect(pool.released(1, now: 3) == [.use(connection: 1, waiter: 3)])
    #expect(pool.finishTurn() == Self.opened(3...3), "one is being opened for one of the two that wait")
    #expect(pool.finishTurn() == [])
  }

  @Test func aConnectionThatNoWaiterNeedsAnyMoreIsNotOpened() {
    var pool = Self.pool(.wide(openingsPerTurn: 1), waiters: 3)
    for waiter in 1...3 { _ = pool.cancelled(waiter, now: 1) }
    _ = pool.finishTurn()
    #expect(pool.finishTurn() == [])
    #expect(!pool.hasPostponed)
  }

  @Test func keysTakeTurns() {
    var pool = TestPool(.wide(openingsPerTurn: 2))
    for waiter in 1...5 { _ = pool.request(waiter, for: "a", now: 0) }
    for waiter in 6...7 { #expect(pool.request(waiter, for: "b", now: 0) == []) }
    _ = pool.finishTurn()
    #expect(pool.finishTurn() == Self.opened(3...4))
    #expect(pool.finishTurn() == Self.opened(5...6, "b"))
    #expect(pool.finishTurn() == Self.opened(7...7))
  }

  /// The limit of waiting for a full host does not count for it.
  @Test func aWaiterWhoseConnectionIsOpenedLaterIsNotQueued() {
    var pool = Self.pool(.wide(perHost: 3, openingsPerTurn: 1), waiters: 4)
    #expect((1...4).filter { pool.isQueued($0) } == [])
    for _ in 0..<4 { _ = pool.finishTurn() }
    #expect((1...4).filter { pool.isQueued($0) } == [4])
  }

  @Test func connectionsAheadOfRequestsAreOpenedInSeveralTurns() {
    var pool = TestPool(.wide(openingsPerTurn: 2))
    #expect(pool.expect(5, for: "a", now: 0) == Self.opened(1...2))
    #expect(pool.isExpecting("a"))
    _ = pool.finishTurn()
    #expect(pool.finishTurn() == Self.opened(3...4))
    #expect(pool.finishTurn() == Self.opened(5...5))
    for connection in 1...5 { _ = pool.opened(connection, capacity: 1, now: 1) }
    #expect(!pool.isExpecting("a"))
    #expect(pool.statistics["a"] == PoolStatistics(idle: 5, opened: 5))
  }

  @Test func nothingIsOpenedAfterTheEnd() {
    var pool = Self.pool(.wide(openingsPerTurn: 1), waiters: 3)
    _ = pool.shutDown()
    #expect(pool.finishTurn() == [])
    #expect(!pool.hasPostponed)
  }
}
