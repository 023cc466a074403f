#if os(Linux)
import Testing

@testable import MartletSockets

/// The work of one connection in a turn.
struct TurnLimitTests {
  /// Returns how many pieces are allowed, each of which takes some time.
  private func allowed(_ size: Int, nanoseconds: UInt64) -> Int {
    var limit = TurnLimit()
    var now: UInt64 = 1000
    var count = 1
    while limit.allowsMore(after: size, clock: { now }) {
      count += 1
      now += nanoseconds
    }
    return count
  }

  @Test(arguments: [
    // all allowed bytes, if they are fast
    (1 << 20, UInt64(0), 1), (256 << 10, 0, 4), (64 << 10, 100_000, 16), (1 << 10, 0, 1024),
    // slow ones until the time is over
    (64 << 10, 1_000_000, 3), (256 << 10, 2_000_000, 2),
  ])
  func aTurnEndsWithItsBytesOrItsTime(_ size: Int, nanoseconds: UInt64, pieces: Int) {
    #expect(allowed(size, nanoseconds: nanoseconds) == pieces)
  }

  @Test func aShortTurnDoesNotReadTheClock() {
    var limit = TurnLimit()
    var isRead = false
    for _ in 0..<63 {
      _ = limit.allowsMore(after: 1024) {
        isRead = true
        return 0
      }
    }
    #expect(!isRead)
  }
}
#endif
