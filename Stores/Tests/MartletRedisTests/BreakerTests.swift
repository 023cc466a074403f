import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Testing

@testable import MartletRedis

@Suite struct BreakerTests {
  private let configuration: RedisConfiguration
  private var breaker: RedisBreaker

  init() throws {
    var configuration = try RedisConfiguration("redis://cache")
    configuration.waitLimit = .milliseconds(20)
    configuration.rest = .milliseconds(100)
    configuration.restLimit = .milliseconds(350)
    self.configuration = configuration
    breaker = RedisBreaker(configuration)
  }

  /// In the middle of the jitter, a time is the configured one.
  private let middle = 0.5

  @Test mutating func threeTimeoutsInARowLeaveTheServerAlone() {
    #expect(breaker.timedOut(at: .milliseconds(20), jitter: middle) == nil)
    #expect(breaker.timedOut(at: .milliseconds(40), jitter: middle) == nil)
    #expect(breaker.timedOut(at: .milliseconds(60), jitter: middle) == .milliseconds(100))
  }

  @Test mutating func callsThatFailTogetherAreAStallAndNoMore() {
    for _ in 0..<500 { #expect(breaker.timedOut(at: .milliseconds(20), jitter: middle) == nil) }
    #expect(breaker.timedOut(at: .milliseconds(40), jitter: middle) == .milliseconds(100))
  }

  @Test mutating func anAnswerInTimeBeginsTheCountAnew() {
    for round in 0..<10 {
      #expect(breaker.timedOut(at: .milliseconds(round * 100), jitter: middle) == nil)
      #expect(breaker.timedOut(at: .milliseconds(round * 100 + 50), jitter: middle) == nil)
      breaker.succeeded()
    }
  }

  @Test mutating func theTimeIsDoubledUpToTheLongest() {
    let times = (0..<4).map { _ in breaker.failedToConnect(jitter: middle) }
    #expect(times == [.milliseconds(100), .milliseconds(200), .milliseconds(350), .milliseconds(350)])
    breaker.succeeded()
    #expect(breaker.failedToConnect(jitter: middle) == .milliseconds(100))
  }

  @Test func theTimeIsAMillisecondAtLeast() {
    var configuration = configuration
    (configuration.rest, configuration.restLimit) = (.zero, .zero)
    var breaker = RedisBreaker(configuration)
    #expect(breaker.failedToConnect(jitter: middle) == .milliseconds(1))
  }

  @Test mutating func theTimeIsVariedByAFifth() {
    #expect(breaker.failedToConnect(jitter: 0).inMilliseconds.rounded() == 90)
    breaker.succeeded()
    #expect(breaker.failedToConnect(jitter: 1).inMilliseconds.rounded() == 110)
  }

  @Test mutating func aConnectionThatIsLostAgainAndAgainIsNotMadeAtOnce() {
    #expect(breaker.lostConnection(at: .zero, jitter: middle) == nil)
    #expect(breaker.lostConnection(at: .zero, jitter: middle) == nil)
    #expect(breaker.lostConnection(at: .zero, jitter: middle) == .milliseconds(100))
  }

  @Test func elementsLeaveALineInTheirOrder() {
    var line = Line<Int>()
    var removed: [Int] = []
    for number in 0..<5_000 {
      line.append(number)
      guard number % 3 != 0, let first = line.first else { continue }
      removed.append(first)
      line.removeFirst()
    }
    removed += line.removeAll()
    #expect(removed == Array(0..<5_000))
    #expect(line.isEmpty && line.first == nil)
  }

  @Test func anElementThatHasLeftALineIsNotKept() {
    final class Element {}
    var line = Line<Element>()
    weak var kept: Element?
    do {
      let element = Element()
      kept = element
      line.append(element)
    }
    line.append(Element())
    #expect(kept != nil)
    line.removeFirst()
    #expect(kept == nil)
    #expect(!line.isEmpty)
  }
}
