@_spi(Toolkit) @testable import MartletCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LockedTests {
  private struct Failure: Error {}

  @Test func anErrorIsThrownAndReleasesTheLock() {
    let number = Locked(1)

    #expect(throws: Failure.self) {
      try number.withLock { number in
        number = 2
        throw Failure()
      }
    }

    #expect(number.withLock { $0 } == 2)
  }

  /// A closure that is wrapped anew at each access overflows the stack after some thousand of them.
  @Test func aClosureStaysAsItIsHoweverOftenItIsRead() {
    var count = 0
    let kept = Locked<(() -> Void)?>({ count += 1 })
    for _ in 0..<100_000 { kept.value?() }
    #expect(count == 100_000)
  }

  @Test func aRepetitionRunsAHundredThousandTimes() {
    let scheduler = ManualScheduler()
    var count = 0
    let repetition = scheduler.repeating(after: scheduler.now, interval: 1, tolerance: 0, options: nil) { count += 1 }
    scheduler.advance(by: 99_999)
    #expect(count == 100_000)
    repetition.cancel()
  }

  @Test func aDumpDoesNotShowTheValue() {
    var shown = ""
    dump(Locked("secret"), to: &shown)
    #expect(!shown.isEmpty && !shown.contains("secret"))
  }
}
