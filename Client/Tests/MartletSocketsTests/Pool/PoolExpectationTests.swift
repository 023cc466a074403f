import MartletEngine
import Testing

@testable import MartletSockets

/// Connections that are opened ahead of requests, and requests that wait because of the limits.
@Suite(.timeLimit(.minutes(5)))
struct PoolExpectationTests {
  // MARK: - Connections ahead of requests

  @Test func connectionsAreOpenedAheadOfRequests() {
    var pool = TestPool(.wide())
    #expect(pool.expect(2, for: "a", now: 0) == [.open(connection: 1, key: "a"), .open(connection: 2, key: "a")])
    #expect(pool.isExpecting("a"))
    #expect(pool.opened(1, capacity: 1, now: 1) == [])
    #expect(pool.opened(2, capacity: 1, now: 1) == [])
    #expect(!pool.isExpecting("a"))
    #expect(pool.statistics["a"] == PoolStatistics(idle: 2, opened: 2))
    #expect(pool.expect(3, for: "a", now: 2) == [.open(connection: 3, key: "a")])
  }

  /// Another connection takes the place of the one that the request gets.
  @Test func aRequestTakesTheFirstConnectionThatIsOpenedAhead() {
    var pool = TestPool(.wide())
    #expect(pool.expect(1, for: "a", now: 0) == [.open(connection: 1, key: "a")])
    #expect(pool.request(1, for: "a", now: 0) == [.open(connection: 2, key: "a")])
    #expect(pool.opened(1, capacity: 1, now: 1) == [.use(connection: 1, waiter: 1)])
    #expect(pool.isExpecting("a"))
    #expect(pool.opened(2, capacity: 1, now: 1) == [])
    #expect(!pool.isExpecting("a"))
  }

  @Test func oneConnectionIsOpenedAheadUntilItsCapacityIsKnown() {
    var pool = TestPool(.wide())
    #expect(pool.expect(3, for: "A", now: 0) == [.open(connection: 1, key: "A")])
    #expect(
      pool.opened(1, capacity: 1, now: 1) == [.open(connection: 2, key: "A"), .open(connection: 3, key: "A")])
    #expect(pool.expect(3, for: "B", now: 2) == [.open(connection: 4, key: "B")])
    #expect(pool.opened(4, capacity: 100, now: 3) == [])
    #expect(!pool.isExpecting("B"))
  }

  @Test func nothingIsClosedForAConnectionAheadOfRequests() {
    var pool = TestPool(.wide(perHost: 2, total: 2))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.released(1, now: 0)
    #expect(pool.expect(2, for: "b", now: 1) == [.open(connection: 2, key: "b")])
    #expect(pool.isExpecting("b"))
    #expect(pool.failed(2, now: 2) == (nil, []))
    #expect(!pool.isExpecting("b"))
  }

  @Test func asManyAreExpectedAsTheLimitsAllow() {
    var pool = TestPool(.wide(perHost: 3))
    #expect(pool.expect(5, for: "a", now: 0).count == 3)
    #expect(pool.opened(1, capacity: 1, now: 1) == [])
    #expect(pool.opened(2, capacity: 1, now: 1) == [])
    #expect(pool.isExpecting("a"))
    #expect(pool.opened(3, capacity: 1, now: 1) == [])
    #expect(!pool.isExpecting("a"))
  }

  @Test(arguments: [(-1, 0), (Int.min, 0), (Int.max, 2)])
  func anyNumberMayBeExpected(requests: Int, opened: Int) {
    var pool = TestPool(.wide(perHost: 2, idle: .max))
    #expect(pool.expect(requests, for: "a", now: 0).count == opened)
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.expect(requests, for: "a", now: 0)
    var idle = TestPool(.wide(idle: .min))
    #expect(idle.expect(requests, for: "a", now: 0) == [])
  }

  @Test func aFailureEndsWhatIsOpenedAhead() {
    var pool = TestPool(.wide())
    _ = pool.expect(2, for: "a", now: 0)
    #expect(pool.failed(1, now: 1) == (nil, []))
    #expect(!pool.isExpecting("a"))
    #expect(pool.opened(2, capacity: 1, now: 2) == [])
  }

  // MARK: - The queue

  @Test func aWaiterIsInTheQueueIfNoConnectionIsOpenedForIt() {
    var pool = TestPool(.wide(perHost: 2))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.request(2, for: "a", now: 0)
    _ = pool.request(3, for: "a", now: 0)
    #expect(!pool.isQueued(1))  // it has one
    #expect(!pool.isQueued(2))
    #expect(pool.isQueued(3))
    _ = pool.cancelled(2, now: 1)
    #expect(!pool.isQueued(3))
    _ = pool.request(4, for: "A", now: 2)
    _ = pool.request(5, for: "A", now: 2)
    #expect(!pool.isQueued(5))  // it may share the connection
  }
}
