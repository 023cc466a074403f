import MartletEngine
import Testing

@testable import MartletSockets

/// Keys for which there is no room, in the pool or in the system.
@Suite(.timeLimit(.minutes(5)))
struct PoolStateRoomTests {
  @Test func aCancelledWaiterOfAnotherKeyIsNotInTheWay() {
    var pool = TestPool(.wide(total: 1))
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 2, now: 0)
    _ = pool.request(2, for: "b", now: 1)
    #expect(pool.useAvailable(for: "A", now: 1) == nil)
    #expect(pool.cancelled(2, now: 1) == [])
    #expect(pool.useAvailable(for: "A", now: 1) == 1)
  }

  private let upgrade = TestKey("a", isForUpgrades: true)

  @Test func connectionsThatChangeTheProtocolHaveALimitOfTheirOwn() {
    var pool = TestPool(.wide(perHost: 1, upgradesPerHost: 2))
    for number in 1...2 {
      #expect(pool.request(number, for: upgrade, now: 0) == [.open(connection: number, key: upgrade)])
      #expect(pool.opened(number, capacity: 1, now: 0) == [.use(connection: number, waiter: number)])
    }
    #expect(pool.isFull(upgrade) && !pool.isFull("a"))
    #expect(pool.request(3, for: upgrade, now: 1) == [])
    #expect(pool.request(4, for: "a", now: 1) == [.open(connection: 3, key: "a")])
    #expect(pool.opened(3, capacity: 1, now: 1) == [.use(connection: 3, waiter: 4)])
    #expect(pool.request(5, for: "a", now: 1) == [])
    // each makes room under its own limit only
    #expect(pool.closed(1, now: 2) == [.open(connection: 4, key: upgrade)])
    #expect(pool.released(3, now: 3) == [.use(connection: 3, waiter: 5)])
    #expect(pool.hosts.connectionCount(to: upgrade.limitedHost) == 2)
    #expect(pool.hosts.connectionCount(to: TestKey("a").limitedHost) == 1)
  }

  @Test func anIdleConnectionOfRequestsMakesNoRoomForAnUpgrade() {
    var pool = TestPool(.wide(perHost: 1, upgradesPerHost: 1))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.released(1, now: 0)
    _ = pool.request(2, for: upgrade, now: 1)
    _ = pool.opened(2, capacity: 1, now: 1)
    #expect(pool.request(3, for: upgrade, now: 2) == [])
    #expect(pool.useAvailable(for: "a", now: 2) == nil)  // while a key waits for room
    #expect(pool.request(4, for: "a", now: 2) == [.use(connection: 1, waiter: 4)])
    #expect(pool.statistics[upgrade]?.queued == 1)
    // busy connections of the same host yield nothing to it either
    for number in 5...40 {
      _ = pool.request(number, for: "a", now: 3)
      #expect(pool.released(1, now: 3) == [.use(connection: 1, waiter: number)])
    }
  }

  @Test func allConnectionsCountForTheLimitOfAll() {
    var pool = TestPool(.wide(total: 1))
    _ = pool.request(1, for: upgrade, now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    #expect(pool.request(2, for: "a", now: 1) == [])
    #expect(pool.closed(1, now: 2) == [.open(connection: 2, key: "a")])
  }

  @Test func withoutRoomInTheSystemRequestsWaitForOtherConnections() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    #expect(pool.request(2, for: "b", now: 1) == [.open(connection: 2, key: "b")])
    #expect(pool.lacksDescriptor(for: 2, now: 1) == [])
    #expect(pool.request(3, for: "b", now: 1) == [])
    #expect(pool.isQueued(2) && pool.isQueued(3))
    // as at a limit: the other key's connection makes room when it is idle
    #expect(pool.released(1, now: 2) == [.close(connection: 1), .open(connection: 3, key: "b")])
    #expect(pool.opened(3, capacity: 1, now: 3) == [.use(connection: 3, waiter: 2)])
    // after a while it is tried again
    #expect(pool.forgetDescriptorLimit(now: 4) == [.open(connection: 4, key: "b")])
    #expect(pool.opened(4, capacity: 1, now: 5) == [.use(connection: 4, waiter: 3)])
  }

  @Test func anIdleConnectionMakesRoomAtOnceWhereTheSystemHasNone() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.released(1, now: 1)
    _ = pool.request(2, for: "b", now: 1)
    #expect(pool.lacksDescriptor(for: 2, now: 1) == [.close(connection: 1), .open(connection: 3, key: "b")])
    // without any other connection the request fails
    #expect(pool.lacksDescriptor(for: 3, now: 1) == nil)
    #expect(pool.failed(3, now: 1) == (2, []))
  }
}
