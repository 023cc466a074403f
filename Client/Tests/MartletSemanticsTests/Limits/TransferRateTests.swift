import MartletSemantics
import TestSupport
import Testing

/// The maximum and the minimum rate of a transfer.
struct TransferRateTests {
  // MARK: - The maximum

  @Test func bytesPassWhenThoseBeforeThemHave() {
    var bucket = RateBucket(bytesPerSecond: 1000)
    #expect(bucket.take(500, at: .zero) == .zero)
    #expect(bucket.take(500, at: .zero) == .milliseconds(500))
    #expect(bucket.take(1, at: .milliseconds(100)) == .seconds(1))
    // no reserve is kept for times without bytes
    #expect(bucket.take(1000, at: .seconds(60)) == .seconds(60))
    #expect(bucket.take(1, at: .seconds(60)) == .seconds(61))
  }

  @Test(arguments: [(1000, 100), (9, 1), (1, 1), (0, 1), (-5, 1), (.max, .max / 10)])
  func aPieceHasTheBytesOfATenthOfASecond(_ rate: Int, size: Int) {
    #expect(RateBucket(bytesPerSecond: rate).pieceSize == size)
  }

  // MARK: - The minimum

  /// A step of a transfer: a wait in seconds, then bytes.
  typealias Step = (wait: Double, bytes: Int)

  /// The number of steps after which the transfer is too slow; nil if it never is.
  private func end(_ floor: RateFloor, _ steps: [Step]) -> Int? {
    var floor = floor
    for (index, step) in steps.enumerated() {
      if floor.wait(.seconds(step.wait)) { return index }
      floor.add(step.bytes)
    }
    return nil
  }

  @Test(
    arguments: [
      (Named("nothing for a span", [(9.9, 0), (0.2, 0)]), 1), (Named("nothing for less", [(9.9, 0)]), nil),
      (Named("exactly the rate", Array(repeating: (1, 100), count: 60)), nil),
      (Named("a little less", Array(repeating: (1, 99), count: 60)), 10),
      (Named("fast, then nothing", [(1, 100_000)] + Array(repeating: (1, 0), count: 30)), 11),
      (Named("nothing, then enough", [(9.5, 1000)] + Array(repeating: (1, 100), count: 30)), nil),
      (Named("all at once after the span", [(30, 1 << 40)]), 0),
      (Named("no time at all", Array(repeating: (0, 1), count: 50)), nil),
      (Named("huge numbers", [(1, .max), (1, .max), (1, 5)]), nil),
      (Named("a wait that goes back", [(-5, 0), (9, 0)]), nil),
    ] as [(Named<[Step]>, Int?)])
  func aTransferIsTooSlowIfASpanHasTooFewBytes(_ steps: Named<[Step]>, _ expected: Int?) {
    #expect(end(RateFloor(bytesPerSecond: 100, over: .seconds(10)), steps.value) == expected)
  }

  /// After this time without bytes, and not before, the transfer is too slow.
  @Test(
    arguments: [
      (Named("no step", []), 10.0), (Named("half a span without bytes", [(5, 0)]), 5),
      (Named("ten times the rate at once", [(0, 1000)]), 11), (Named("nearly a span without bytes", [(9.5, 0)]), 0.5),
      (Named("exactly the rate", Array(repeating: (1, 100), count: 20)), 1),
      (Named("twice the rate", Array(repeating: (1, 200), count: 20)), 6),
    ] as [(Named<[Step]>, Double)])
  func patienceIsTheTimeUntilThen(_ steps: Named<[Step]>, _ seconds: Double) {
    var floor = RateFloor(bytesPerSecond: 100, over: .seconds(10))
    for step in steps.value {
      let isTooSlow = floor.wait(.seconds(step.wait))
      #expect(!isTooSlow)
      floor.add(step.bytes)
    }
    #expect(floor.patience == .seconds(seconds))
    var (before, after) = (floor, floor)
    let (isSlowBefore, isSlowAfter) = (before.wait(floor.patience), after.wait(floor.patience + .nanoseconds(1)))
    #expect(!isSlowBefore)
    #expect(isSlowAfter)
  }

  @Test(arguments: [
    (Duration.zero, Duration.seconds(1)), (.seconds(-3), .seconds(1)), (.seconds(1 << 40), .seconds(86_400)),
  ])
  func aSpanHasLimits(_ span: Duration, _ patience: Duration) {
    #expect(RateFloor(bytesPerSecond: 0, over: span).patience == patience)
  }
}
