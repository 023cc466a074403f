@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Reconnecting")
struct ReconnectRuleTests {
  /// What happens to a connection.
  enum Happening {
    case failed
    case lost(after: Duration)
    case closed(after: Duration)
    case succeeded
  }

  /// Returns the rule after these happenings.
  private func rule(
    _ happenings: [Happening], minimum: Duration = .zero, limit: Duration = .seconds(8)
  ) -> ReconnectRule {
    var rule = ReconnectRule(backoff: Backoff(base: .seconds(1), delayLimit: limit), minimumDelay: minimum)
    for happening in happenings {
      switch happening {
      case .failed: rule.failed()
      case .lost(let time):
        rule.ended(after: time)
        rule.failed()
      case .closed(let time): rule.ended(after: time)
      case .succeeded: rule.succeeded()
      }
    }
    return rule
  }

  @Test(
    arguments: [
      ([], 0, 1),
      ([.failed], 1, 1), ([.failed, .failed], 2, 2), ([.failed, .failed, .failed], 3, 4),
      (Array(repeating: .failed, count: 9), 9, 8),  // the limit
      // A server that greets and drops.
      ([.lost(after: .zero)], 1, 1), ([.lost(after: .zero), .lost(after: .seconds(1))], 2, 2),
      ([.lost(after: .zero), .lost(after: .seconds(1)), .lost(after: .seconds(2))], 3, 4),
      // A connection that lasts longer than the longest delay before it.
      ([.failed, .failed, .lost(after: .seconds(2))], 3, 4),
      ([.failed, .failed, .lost(after: .milliseconds(2001))], 1, 1),
      // An end that is no failure.
      ([.failed, .failed, .closed(after: .seconds(2))], 2, 2), ([.failed, .failed, .closed(after: .seconds(3))], 0, 1),
      ([.failed, .failed, .succeeded], 0, 1), ([.failed, .failed, .succeeded, .failed], 1, 1),
    ] as [([Happening], Int, Int)])
  func theLongestDelayDoublesWithEachFailureInARow(_ happenings: [Happening], failures: Int, seconds: Int) {
    let rule = rule(happenings)
    #expect(rule.failures == failures)
    #expect(rule.delay(fraction: 1) == .seconds(seconds))
    #expect(rule.delay(fraction: 0.5) == Duration.seconds(seconds) / 2)
    #expect(rule.delay(fraction: 0) == .zero)
  }

  @Test(arguments: [(0, 0.0, 3000), (0, 0.5, 3500), (0, 1.0, 4000), (3, 0.0, 3000), (3, 0.5, 5000), (9, 1.0, 11_000)])
  func theRandomPartFollowsTheShortestDelay(failures: Int, fraction: Double, milliseconds: Int) {
    let rule = rule(Array(repeating: .failed, count: failures), minimum: .seconds(3))
    #expect(rule.delay(fraction: fraction) == .milliseconds(milliseconds))
  }

  @Test(arguments: [(3999, 2), (4000, 2), (4001, 1)])
  func aConnectionHasToOutliveTheShortestDelayToo(milliseconds: Int, failures: Int) {
    let rule = rule([.failed, .lost(after: .milliseconds(milliseconds))], minimum: .seconds(3))
    #expect(rule.failures == failures)
  }

  @Test func delaysCanBeAddedToAnyTime() {
    let rule = rule([.failed], minimum: .milliseconds(Int64.max), limit: .seconds(Int64.max))
    #expect(rule.delay(fraction: 1) <= .seconds(3601))
  }

  @Test(arguments: [(0, 8), (8, 8), (9, 9), (3600, 3600), (3601, 3600), (Int64.max, 3600)])
  func aServerMayAskForALongerDelayUpToAnHour(asked: Int64, seconds: Int) {
    let rule = rule(Array(repeating: .failed, count: 9))
    #expect(rule.delay(fraction: 1, asked: .seconds(asked)) == .seconds(seconds))
  }

  @Test(arguments: [(3599, 3599), (3600, 3600), (3601, 3600), (Int64.max, 3600)])
  func aServerMaySetAShortestDelayUpToAnHour(minimum: Int64, seconds: Int) {
    #expect(rule([], minimum: .seconds(minimum)).delay(fraction: 0) == .seconds(seconds))
  }
}
