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
