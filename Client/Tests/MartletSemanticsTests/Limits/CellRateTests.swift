import MartletSemantics
import Testing

/// The rate limit: one request every second in the long run, in the tables.
struct CellRateTests {
  private enum Step {
    case take(at: Double, burst: Int, wait: Double, RateLimitDecision)
    case pause(at: Double, for: Double)
  }

  private func check(_ steps: [Step], sourceLocation: SourceLocation = #_sourceLocation) {
    var rate = CellRate()
    for (index, step) in steps.enumerated() {
      switch step {
      case .take(let time, let burst, let wait, let expected):
        let decision = rate.take(interval: .seconds(1), burst: burst, wait: .seconds(wait), at: .seconds(time))
        #expect(decision.withoutPlace == expected, "step \(index)", sourceLocation: sourceLocation)
      case .pause(let time, let pause): rate.pause(for: .seconds(pause), at: .seconds(time))
      }
    }
  }

  @Test func withoutABurstRequestsAreSpacedEvenly() {
    check([
      .take(at: 5, burst: 1, wait: 0, .allowed(after: .zero, remaining: 0)),
      .take(at: 5.25, burst: 1, wait: 0, .refused(retryAfter: .milliseconds(750))),
      .take(at: 6, burst: 1, wait: 0, .allowed(after: .zero, remaining: 0)),
    ])
  }

  @Test func aBurstIsSentAtOnceAndComesBackWithTime() {
    check([
      .take(at: 5, burst: 3, wait: 0, .allowed(after: .zero, remaining: 2)),
      .take(at: 5, burst: 3, wait: 0, .allowed(after: .zero, remaining: 1)),
      .take(at: 5, burst: 3, wait: 0, .allowed(after: .zero, remaining: 0)),
      .take(at: 5, burst: 3, wait: 0, .refused(retryAfter: .seconds(1))),
      .take(at: 6, burst: 3, wait: 0, .allowed(after: .zero, remaining: 0)),
      .take(at: 60, burst: 3, wait: 0, .allowed(after: .zero, remaining: 2)),
    ])
  }

  @Test func whoWaitsHasAPlaceAndTheNextWaitsLonger() {
    check([
      .take(at: 0, burst: 1, wait: 2, .allowed(after: .zero, remaining: 0)),
      .take(at: 0, burst: 1, wait: 2, .allowed(after: .seconds(1), remaining: 0)),
      .take(at: 0.5, burst: 1, wait: 2, .allowed(after: .milliseconds(1500), remaining: 0)),
      // a refused request takes no place
      .take(at: 0.5, burst: 1, wait: 2, .refused(retryAfter: .milliseconds(2500))),
      .take(at: 1, burst: 1, wait: 2, .allowed(after: .seconds(2), remaining: 0)),
    ])
  }

  @Test func aPauseDelaysEverythingAndALongerOneStays() {
    check([
      .pause(at: 0, for: 10), .pause(at: 1, for: 2),
      .take(at: 2, burst: 2, wait: 5, .refused(retryAfter: .seconds(8))),
      .take(at: 2, burst: 2, wait: 8, .allowed(after: .seconds(8), remaining: 1)),
      .take(at: 11, burst: 2, wait: 0, .allowed(after: .zero, remaining: 1)),
    ])
  }

  @Test func withoutAnIntervalOnlyPausesCount() {
    var rate = CellRate()
    for _ in 0..<1000 {
      #expect(
        rate.take(interval: .zero, burst: 1, wait: .zero, at: .zero).withoutPlace
          == .allowed(after: .zero, remaining: 0))
    }
    rate.pause(for: .seconds(3), at: .seconds(1))
    #expect(rate.take(interval: .zero, burst: 1, wait: .zero, at: .seconds(2)) == .refused(retryAfter: .seconds(2)))
  }

  @Test(arguments: [
    (Duration.seconds(1), Int.max), (.seconds(Int64.max), 1), (.seconds(Int64.max), .max), (.nanoseconds(1), .max),
    (.seconds(1), 1_000_000_000_000_000_000), (.seconds(-1), -1),
  ])
  func extremeValuesAreLimitedAndDoNotTrap(interval: Duration, burst: Int) {
    var rate = CellRate()
    rate.pause(for: .seconds(Int64.max), at: .seconds(1))
    guard case .refused(let delay) = rate.take(interval: interval, burst: burst, wait: .zero, at: .seconds(1)) else {
      Issue.record("the pause was not obeyed")
      return
    }
    #expect(delay > .seconds(1 << 39))
    rate = CellRate()
    for number in 0..<3 {
      let decision = rate.take(interval: interval, burst: burst, wait: .seconds(Int64.max), at: .seconds(1))
      guard case .allowed(_, let remaining, let place?) = decision else {
        Issue.record("refused")
        return
      }
      #expect(remaining >= 0 && remaining < max(1, burst))
      if number > 0 { rate.giveBack(place) }
    }
  }

  @Test func noMoreThanTheRateAndTheBurstIsAllowedInAnyTime() {
    var rate = CellRate()
    var generator = SystemRandomNumberGenerator()
    var sent: [Duration] = []
    var now = Duration.zero
    for _ in 0..<2000 {
      now += .milliseconds(Int.random(in: 0...400, using: &generator))
      if case .allowed(let delay, _, _) = rate.take(interval: .seconds(1), burst: 5, wait: .seconds(1), at: now) {
        sent.append(now + delay)
      }
    }
    for start in sent.indices {
      for end in start..<min(sent.count, start + 20) {
        // this many requests need at least this time
        let least = Duration.seconds(max(0, end - start - 4))
        #expect(sent[end] - sent[start] + .microseconds(1) >= least)
      }
    }
  }
}

extension RateLimitDecision {
  fileprivate var withoutPlace: RateLimitDecision {
    guard case .allowed(let delay, let remaining, _) = self else { return self }
    return .allowed(after: delay, remaining: remaining)
  }
}
