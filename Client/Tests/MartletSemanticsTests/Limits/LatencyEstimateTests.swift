import MartletSemantics
import Testing

/// The time that an origin takes to answer.
struct LatencyEstimateTests {
  @Test func aQuantileIsNotTooShortAndHardlyTooLong() throws {
    for milliseconds in [0.2, 1, 9.9, 10, 47, 250, 1999, 60_000] {
      var estimate = LatencyEstimate()
      let latency = Duration.seconds(milliseconds / 1000)
      for _ in 0..<90 { estimate.add(latency) }
      for _ in 0..<10 { estimate.add(latency * 1.9) }
      let quantile = try #require(estimate.quantile(0.9))
      #expect(quantile >= latency && quantile <= latency * 1.1893, "\(milliseconds) ms: \(quantile)")
      let last = try #require(estimate.quantile(1))
      #expect(last >= min(latency * 1.9, .seconds(88)), "\(milliseconds) ms: \(last)")
    }
  }

  @Test func withoutLatenciesThereIsNoQuantile() {
    #expect(LatencyEstimate().quantile(0.9) == nil)
  }

  @Test func extremesAreCountedInTheFirstAndTheLastRange() {
    var estimate = LatencyEstimate()
    for latency in [Duration.zero, .seconds(-1), .nanoseconds(1)] { estimate.add(latency) }
    #expect(estimate.quantile(1) == .microseconds(100))
    estimate.add(.seconds(1_000_000_000))
    #expect(estimate.quantile(0.5) == .microseconds(100))
    #expect(estimate.quantile(1).map { $0 > .seconds(60) } == true)
  }

  @Test func whatWasLongAgoCountsLess() throws {
    var estimate = LatencyEstimate()
    for _ in 0..<5000 { estimate.add(.milliseconds(10)) }
    for _ in 0..<3000 { estimate.add(.milliseconds(100)) }
    let median = try #require(estimate.quantile(0.5))
    #expect(median >= .milliseconds(100))
    #expect(estimate.weight <= 1500)
  }
}
