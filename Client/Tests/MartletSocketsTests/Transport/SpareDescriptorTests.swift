#if os(Linux)
import Glibc
@_spi(Toolkit) import MartletEngine
import TestSupport
import Testing

@testable import MartletSockets

/// What gives up idle connections, and what does not. `ProcessTests` has a process without descriptors: here it would
/// close connections of other tests.
@Suite(.timeLimit(.minutes(5)))
struct SpareDescriptorTests {
  @Test func anotherFailureCostsNoConnection() {
    let (calls, released) = (Counter(), Counter())
    let number = SpareDescriptors.add { _ in released.next() }
    defer { SpareDescriptors.remove(number) }
    let descriptor = SpareDescriptors.making {
      calls.next()
      errno = ENOENT
      return -1
    }
    #expect(descriptor == -1)
    #expect(calls.value == 1 && released.value == 0)
  }

  @Test func theLongestIdleConnectionsAreGivenUp() {
    var pool = TestPool(.wide())
    for number in 1...20 {
      _ = pool.request(number, for: "a", now: 0)
      _ = pool.opened(number, capacity: 1, now: 0)
    }
    for number in 2...20 { _ = pool.released(number, now: UInt64(number)) }
    let closed = pool.giveUpIdle()
    #expect(closed == (2...17).map { .close(connection: $0) })
    #expect(pool.giveUpIdle() == (18...20).map { .close(connection: $0) })
    #expect(pool.giveUpIdle() == [])
  }
}
#endif
