import MartletEngine
import Testing

@testable import MartletSockets

/// Connections that reach an age, and those that the program gives up.
@Suite(.timeLimit(.minutes(5)))
struct PoolExpiryTests {
  @Test(
    arguments: [
      // lifetime, time of the opening, random fraction, end
      (1000, 0, 0, 900), (1000, 0, 0.5, 1000), (1000, 0, 1, 1100), (1000, 50, 1, 1150), (1000, 0, -1, 900),
      (1000, 0, 2, 1100), (0, 7, 0.5, 7), (.max, 1, 1, .max), (1000, .max, 0, .max),
    ] as [(UInt64, UInt64, Double, UInt64)])
  func aLifetimeIsVariedByATenth(_ lifetime: UInt64, now: UInt64, fraction: Double, end: UInt64) {
    #expect(PoolConnection.retirement(after: lifetime, now: now, fraction: fraction) == end)
  }

  @Test func anIdleConnectionIsClosedAtItsAge() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, retires: 100, now: 0)
    _ = pool.released(1, now: 10)
    #expect(pool.expire(now: 99) == [])
    #expect(pool.nextCheck == 100)
    #expect(pool.expire(now: 100) == [.close(connection: 1)])
    #expect(pool.request(2, for: "a", now: 100) == [.open(connection: 2, key: "a")])
    #expect(pool.connections[2]?.cause == .age)
  }

  /// The timer may be late.
  @Test func aConnectionOfThatAgeIsNotUsedEvenBeforeItIsClosed() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, retires: 100, now: 0)
    _ = pool.released(1, now: 10)
    #expect(pool.useAvailable(for: "a", now: 100) == nil)
    #expect(pool.request(2, for: "a", now: 100) == [.open(connection: 2, key: "a")])
  }

  @Test func aBusyConnectionFinishesItsRequest() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, retires: 100, now: 0)
    #expect(pool.expire(now: 100) == [])
    #expect(pool.released(1, now: 200) == [.close(connection: 1)])
    #expect(pool.nextCheck == nil)
  }

  @Test func theStreamsOfAMultiplexedConnectionEndInPeace() {
    var pool = TestPool(.wide())
    for waiter in 1...2 { _ = pool.request(waiter, for: "A", now: 0) }
    _ = pool.opened(1, capacity: 100, retires: 100, now: 0)
    #expect(pool.request(3, for: "A", now: 99) == [.use(connection: 1, waiter: 3)])
    #expect(pool.expire(now: 100) == [])
    #expect(pool.request(4, for: "A", now: 101) == [.open(connection: 2, key: "A")])
    #expect(pool.released(1, now: 102) == [])
    #expect(pool.opened(2, capacity: 100, retires: 300, now: 103) == [.use(connection: 2, waiter: 4)])
    #expect(pool.released(1, now: 104) == [])
    #expect(pool.released(1, now: 105) == [.close(connection: 1)])
  }

  /// Otherwise a lifetime that is shorter than the time of an opening would open connections for ever.
  @Test func eachConnectionIsUsedAtLeastOnce() {
    var pool = TestPool(.wide())
    for waiter in 1...2 { _ = pool.request(waiter, for: "a", now: 0) }
    #expect(pool.opened(1, capacity: 1, retires: 5, now: 5) == [.use(connection: 1, waiter: 1)])
    #expect(pool.released(1, now: 6) == [])
    #expect(pool.expire(now: 6) == [.close(connection: 1)])
    #expect(pool.opened(2, capacity: 1, retires: 7, now: 8) == [.use(connection: 2, waiter: 2)])
  }

  @Test func allConnectionsAreDrained() {
    var pool = TestPool(.wide(perHost: 3))
    for (waiter, key) in [(1, "a"), (2, "a"), (3, "a"), (4, "B")] as [(Int, TestKey)] {
      _ = pool.request(waiter, for: key, now: 0)
    }
    _ = pool.opened(1, capacity: 1, now: 1)
    _ = pool.opened(2, capacity: 1, now: 1)
    _ = pool.opened(4, capacity: 9, now: 1)
    _ = pool.released(2, now: 2)
    // 1, 2 and 4 are in use, and 3 is being opened for the next two
    _ = pool.request(5, for: "a", now: 3)
    _ = pool.request(6, for: "a", now: 3)
    #expect(pool.statistics["a"]?.queued == 2)

    let actions = pool.drainAll(now: 4)

    // the one that is being opened is opened anew for the request that waits for it
    #expect(actions == [.close(connection: 3), .open(connection: 5, key: "a")])
    #expect(pool.connections[5]?.cause == .drained)
    #expect(pool.released(4, now: 5) == [.close(connection: 4)])
    #expect(pool.released(1, now: 5) == [.close(connection: 1), .open(connection: 6, key: "a")])
    #expect(pool.released(2, now: 5) == [.close(connection: 2)])
  }

  @Test func idleConnectionsAreClosedAndOthersLeftAlone() {
    var pool = TestPool(.wide())
    for (waiter, key) in [(1, "a"), (2, "b"), (3, "C")] as [(Int, TestKey)] {
      _ = pool.request(waiter, for: key, now: 0)
      _ = pool.opened(waiter, capacity: 5, now: 0)
    }
    _ = pool.released(2, now: 1)
    _ = pool.released(1, now: 2)
    #expect(pool.closeIdle() == [.close(connection: 2), .close(connection: 1)])
    #expect(pool.closeIdle() == [])
    #expect(pool.request(4, for: "C", now: 3) == [.use(connection: 3, waiter: 4)])
  }

  /// A request changes nothing in the queue: it has one check for a connection, however often that is used.
  @Test func checksDoNotAccumulate() {
    var pool = TestPool(.wide())
    _ = pool.request(1, for: "a", now: 0)
    _ = pool.opened(1, capacity: 1, now: 0)
    for number in 2...1000 {
      _ = pool.released(1, now: UInt64(number))
      #expect(pool.request(number, for: "a", now: UInt64(number)) == [.use(connection: 1, waiter: number)])
    }
    #expect(pool.expiries.count == 1)
    for number in 2000...3000 {  // connections that are closed leave few behind
      _ = pool.request(number, for: "b", now: 0)
      _ = pool.opened(number - 1998, capacity: 1, retires: 500_000, now: 0)
      _ = pool.closed(number - 1998, now: 0)
    }
    #expect(pool.expiries.count < 80)
  }
}
