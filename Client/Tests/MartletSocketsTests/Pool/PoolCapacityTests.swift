import MartletEngine
import Testing

@testable import MartletSockets

/// Connections whose peers allow no requests for a time.
@Suite(.timeLimit(.minutes(5)))
struct PoolCapacityTests {
  /// RFC 9113 §5.1.2: a server may allow no streams for a time.
  @Test func aConnectionWithoutCapacityGetsNoRequestsAndNoOtherIsOpened() {
    for isInUse in [true, false] {
      var pool = TestPool(.wide())
      _ = pool.request(1, for: "A", now: 0)
      _ = pool.opened(1, capacity: 100, now: 0)
      if !isInUse { _ = pool.released(1, now: 1) }
      #expect(pool.changed(1, capacity: 0, now: 1) == [])

      #expect(pool.useAvailable(for: "A", now: 2) == nil)
      #expect(pool.request(2, for: "A", now: 2) == [])
      #expect(pool.request(3, for: "A", now: 2) == [])
      #expect(pool.isQueued(2))
      if isInUse { #expect(pool.released(1, now: 3) == []) }

      #expect(pool.changed(1, capacity: 2, now: 4) == [.use(connection: 1, waiter: 2), .use(connection: 1, waiter: 3)])
    }
  }

  /// The peer has not said how many requests it allows: it gets a few, and no other connection is opened.
  @Test func aConnectionGetsFewRequestsUntilItsPeerSaysHowManyItAllows() {
    var pool = TestPool(.wide())
    for waiter in 1...5 { _ = pool.request(waiter, for: "A", now: 0) }
    let first = pool.opened(1, capacity: 100, first: 2, now: 1)
    #expect(first == [.use(connection: 1, waiter: 1), .use(connection: 1, waiter: 2)])
    #expect(pool.request(6, for: "A", now: 2) == [])
    #expect(pool.released(1, now: 3) == [.use(connection: 1, waiter: 3)])

    let confirmed = pool.changed(1, capacity: 4, now: 4)
    #expect(
      confirmed == [.use(connection: 1, waiter: 4), .use(connection: 1, waiter: 5), .open(connection: 2, key: "A")])
  }

  /// However it ends before its peer has said so, another connection is opened for the requests that wait.
  @Test func thoseThatWaitForTheWordOfAPeerGetAnotherConnection() {
    for end in 0..<3 {
      var pool = TestPool(.wide())
      for waiter in 1...3 { _ = pool.request(waiter, for: "A", now: 0) }
      _ = pool.opened(1, capacity: 100, first: 2, now: 1)
      let actions =
        switch end {
        case 0: pool.closed(1, now: 2)
        case 1: pool.drain(1, now: 2)
        default: pool.suspend(1, now: 2)
        }
      #expect(actions == [.open(connection: 2, key: "A")])
    }
  }

  /// However the connection that allows no requests ends, another one is opened.
  @Test func thoseThatWaitForAConnectionWithoutCapacityGetAnother() {
    for end in 0..<4 {
      var pool = TestPool(.wide(total: 1, idleNanoseconds: 100))
      _ = pool.request(1, for: "A", now: 0)
      _ = pool.opened(1, capacity: 100, now: 0)
      _ = pool.released(1, now: 1)
      _ = pool.changed(1, capacity: 0, now: 1)
      #expect(pool.request(2, for: "A", now: 2) == [])
      let open = TestPool.Action.open(connection: 2, key: "A")
      switch end {
      case 0: #expect(pool.closed(1, now: 3) == [open])
      case 1: #expect(pool.expire(now: 300) == [.close(connection: 1), open])
      case 2: #expect(pool.drain(1, now: 3) == [.close(connection: 1), open])
      default:
        // another key takes the room, and is the next to give it back
        #expect(pool.request(3, for: "b", now: 3) == [.close(connection: 1), .open(connection: 2, key: "b")])
        #expect(pool.opened(2, capacity: 1, now: 4) == [.use(connection: 2, waiter: 3)])
        let actions = pool.released(2, now: 5)
        #expect(actions == [.close(connection: 2), .open(connection: 3, key: "A")])
      }
    }
  }
}
