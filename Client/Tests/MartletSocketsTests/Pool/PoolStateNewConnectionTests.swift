import MartletEngine
import Testing

@testable import MartletSockets

/// Requests that need a connection without earlier requests.
@Suite(.timeLimit(.minutes(5)))
struct PoolStateNewConnectionTests {
  // RFC 9112 §9.3.1.
  @Test func aRequestThatNeedsANewConnectionGetsTheNextThatIsOpened() {
    var pool = TestPool(.wide())
    for waiter in 1...2 { _ = pool.request(waiter, for: "a", now: 0) }
    for connection in 1...2 { _ = pool.opened(connection, capacity: 1, now: 0) }
    _ = pool.released(1, now: 1)
    let again = pool.request(3, for: "a", isAgain: true, needsNew: true, now: 1)
    #expect(again == [.open(connection: 3, key: "a")])
    #expect(pool.released(2, now: 2) == [])
    #expect(pool.statistics["a"] == PoolStatistics(queued: 1, opening: 1, idle: 2, opened: 2))
    #expect(pool.request(4, for: "a", now: 3) == [.use(connection: 2, waiter: 4)])
    #expect(pool.opened(3, capacity: 1, now: 4) == [.use(connection: 3, waiter: 3)])
  }

  @Test func anIdleConnectionIsClosedForOneThatIsNeededNew() {
    var pool = TestPool(.wide(perHost: 1))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    _ = pool.released(1, now: 1)
    #expect(
      pool.request(2, for: "a", needsNew: true, now: 2) == [.close(connection: 1), .open(connection: 2, key: "a")])
  }

  @Test func atALimitTheNextConnectionThatIsReleasedMakesRoomForANewOne() {
    var pool = TestPool(.wide(perHost: 1))
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    #expect(pool.request(2, for: "a", needsNew: true, now: 1) == [])
    #expect(pool.request(3, for: "a", now: 1) == [])
    #expect(pool.released(1, now: 2) == [.close(connection: 1), .open(connection: 2, key: "a")])
    #expect(pool.opened(2, capacity: 1, now: 3) == [.use(connection: 2, waiter: 2)])
    #expect(pool.released(2, now: 4) == [.use(connection: 2, waiter: 3)])
  }

  @Test func aNewMultiplexedConnectionServesAllWhoNeedOne() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "A", now: 0)
    _ = pool.opened(1, capacity: 2, now: 0)
    #expect(pool.request(2, for: "A", needsNew: true, now: 1) == [.open(connection: 2, key: "A")])
    #expect(pool.request(3, for: "A", needsNew: true, now: 1) == [])
    #expect(
      pool.opened(2, capacity: 2, now: 2) == [
        .use(connection: 2, waiter: 2), .use(connection: 2, waiter: 3),
      ])
  }

  @Test func aNewConnectionThatIsNotNeededAnyMoreIsNotOpened() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", needsNew: true, now: 0)
    #expect(pool.cancelled(1, now: 1) == [.close(connection: 1)])
    _ = pool.request(2, for: "a", needsNew: true, now: 2)
    #expect(pool.failed(2, now: 3) == (2, []))
    _ = pool.request(3, for: "a", needsNew: true, now: 4)
    #expect(pool.shutDown() == [.refuse(waiter: 3), .close(connection: 3)])
  }
}
