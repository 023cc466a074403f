#if os(Linux)
import Testing

@testable import MartletSockets

/// Durations as nanoseconds for the loop's timers.
@Suite(.timeLimit(.minutes(5)))
struct DurationTests {
  private static let table: [(Duration, UInt64)] = [
    (.zero, 0), (.nanoseconds(1), 1), (.milliseconds(1500), 1_500_000_000),
    (Duration(secondsComponent: 2, attosecondsComponent: 999_999_999), 2_000_000_000), (.seconds(-1), 0),
    (.nanoseconds(-1), 0), (.seconds(60), 60_000_000_000), (.seconds(1 << 33), mostNanoseconds),
    (.seconds(Int64.max), mostNanoseconds),
  ]
  private static let mostNanoseconds: UInt64 = (1 << 33) * 1_000_000_000

  @Test(arguments: table) func aDurationIsWholeNanosecondsThatATimerCanAdd(_ duration: Duration, _ nanoseconds: UInt64)
  {
    #expect(duration.nanoseconds == nanoseconds)
  }
}
#endif
