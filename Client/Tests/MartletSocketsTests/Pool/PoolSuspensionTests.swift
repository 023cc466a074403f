import Testing

@testable import MartletSockets

/// Connections that may be dead.
@Suite(.timeLimit(.minutes(5)))
struct PoolSuspensionTests {
  @Test func aSuspendedConnectionGetsNoRequestsUntilItIsResumed() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "A", now: 0)
    #expect(pool.opened(1, capacity: 3, now: 1) == [.use(connection: 1, waiter: 1)])
    #expect(pool.suspend(1, now: 2) == [])
    #expect(pool.useAvailable(for: "A", now: 2) == nil)
    #expect(pool.request(2, for: "A", now: 2) == [.open(connection: 2, key: "A")])
    #expect(pool.resume(1, now: 3) == [.use(connection: 1, waiter: 2), .close(connection: 2)])
  }

  @Test func aSuspendedConnectionIsNotIdleAndNotClosedForIt() {
    var pool = TestPool(.wide(idle: 0))
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 3, now: 1)
    _ = pool.suspend(1, now: 2)
    #expect(pool.released(1, now: 3) == [])
    #expect(pool.expire(now: 2_000_000) == [])
    #expect(pool.nextCheck == nil)
    // idle again, and one too many
    #expect(pool.resume(1, now: 4) == [.close(connection: 1)])
  }

  @Test func aConnectionThatDrainsWhileItIsSuspendedIsClosedAfterItsLastRequest() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 3, now: 1)
    _ = pool.suspend(1, now: 2)
    #expect(pool.drain(1, now: 3) == [])
    #expect(pool.resume(1, now: 4) == [])
    #expect(pool.released(1, now: 5) == [.close(connection: 1)])
  }
}
