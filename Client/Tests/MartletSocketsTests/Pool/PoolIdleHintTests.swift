import MartletEngine
import Testing

@testable import MartletSockets

/// The time for which a connection may be idle, if its server says so (`Keep-Alive: timeout=5`).
@Suite(.timeLimit(.minutes(5)))
struct PoolIdleHintTests {
  @Test func serversShortenTheIdleLifetimeOfTheirConnections() {
    var pool = TestPool(.wide(idleNanoseconds: 10))
    for waiter in 1...4 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...4 { _ = pool.opened(connection, capacity: 1, now: 0) }
    pool.limitIdling(of: 1, to: 100)  // never longer than the pool's own
    pool.limitIdling(of: 3, to: 4)
    pool.limitIdling(of: 4, to: 0)
    for connection in 1...4 { _ = pool.released(connection, now: 1) }
    #expect(pool.nextCheck == 1)
    #expect(pool.expire(now: 1) == [.close(connection: 4)])
    #expect(pool.nextCheck == 5)
    #expect(pool.expire(now: 4) == [])
    #expect(pool.request(5, for: "a", now: 5) == [.close(connection: 3), .use(connection: 2, waiter: 5)])
    #expect(pool.expire(now: 10) == [])
    #expect(pool.nextCheck == 11)
  }
}
