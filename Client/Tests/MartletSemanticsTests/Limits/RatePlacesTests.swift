import MartletSemantics
import TestSupport
import Testing

/// Requests that wait for a rate limit and give up: afterwards, the state is as if they had never existed.
struct RatePlacesTests {
  private final class Waiter: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  /// A request: its arrival, and the time at which it gives up if it is still waiting.
  private struct Request {
    let number: Int
    let comes: Duration
    let givesUp: Duration?
  }

  /// A limit that several processes share, on one clock.
  private struct Limit {
    let interval: Duration
    let burst: Int
    var rate = CellRate()
    var processes: [RatePlaces<Waiter>]
    var due: [Int: (waiter: Waiter, process: Int, due: Duration)] = [:]
    var sent: [Int: Duration] = [:]
    var givenUp: Set<Int> = []

    init(interval: Duration, burst: Int, processes: Int = 1) {
      (self.interval, self.burst) = (interval, burst)
      self.processes = Array(repeating: RatePlaces(), count: processes)
    }

    /// Sends the requests that are due before a time.
    mutating func advance(to now: Duration) {
      for (number, entry) in due where entry.due <= now {
        processes[entry.process].remove(entry.waiter)
        sent[number] = entry.due
        due[number] = nil
      }
    }

    mutating func take(_ number: Int, in process: Int = 0, at now: Duration) {
      advance(to: now)
      let decision = rate.take(interval: interval, burst: burst, wait: .seconds(1_000_000), at: now)
      guard case .allowed(let delay, _, let place?) = decision else { return }
      if delay == .zero { return sent[number] = now }
      let waiter = Waiter(number)
      due[number] = (waiter, process, now + delay)
      move(processes[process].add(waiter, at: place, due: now + delay))
    }

    mutating func giveUp(_ number: Int, at now: Duration) {
      advance(to: now)
      guard let entry = due[number], let result = processes[entry.process].giveUp(entry.waiter) else { return }
      due[number] = nil
      givenUp.insert(number)
      move(result.moved)
      rate.giveBack(result.free)
    }

    private mutating func move(_ moved: [(waiter: Waiter, due: Duration)]) {
      for (waiter, time) in moved { due[waiter.number]?.due = time }
    }
  }

  private func run(_ requests: [Request], interval: Duration, burst: Int) -> Limit {
    var limit = Limit(interval: interval, burst: burst)
    let events = requests.flatMap { request in
      [(request.comes, request.number, true)] + (request.givesUp.map { [($0, request.number, false)] } ?? [])
    }
    for (time, number, comes) in events.sorted(by: { $0.0 < $1.0 }) {
      if comes { limit.take(number, at: time) } else { limit.giveUp(number, at: time) }
    }
    limit.advance(to: .seconds(1_000_000))
    return limit
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func thoseThatGiveUpChangeNothingForTheOthers(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let burst = Int.random(in: 1...4, using: &random)
    let requests = (0..<60).map { number in
      let comes = Duration.microseconds(Int64.random(in: 0...20_000_000, using: &random))
      let waits = Duration.microseconds(Int64.random(in: 0...30_000_000, using: &random))
      return Request(number: number, comes: comes, givesUp: Bool.random(using: &random) ? comes + waits : nil)
    }
    var with = run(requests, interval: .seconds(1), burst: burst)
    let others = requests.filter { !with.givenUp.contains($0.number) }.map {
      Request(number: $0.number, comes: $0.comes, givesUp: nil)
    }
    var without = run(others, interval: .seconds(1), burst: burst)

    #expect(with.sent == without.sent)
    for limit in [0, 1, 2] {
      let now = Duration.seconds(20 + limit)
      let decisions = [
        with.rate.take(interval: .seconds(1), burst: burst, wait: .seconds(99), at: now),
        without.rate.take(interval: .seconds(1), burst: burst, wait: .seconds(99), at: now),
      ]
      #expect(decisions[0] == decisions[1])
    }
  }

  /// A process does not know the waiting requests of the others. It may leave places free that they could use, but
  /// never sends too much.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func processesThatGivePlacesBackNeverExceedTheRate(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let burst = Int.random(in: 1...3, using: &random)
    var limit = Limit(interval: .seconds(1), burst: burst, processes: 3)
    var now = Duration.zero
    for number in 0..<120 {
      now += .microseconds(Int64.random(in: 0...700_000, using: &random))
      limit.advance(to: now)
      let waiting = limit.due.keys.sorted()
      if waiting.count > 5, let number = waiting.randomElement(using: &random) { limit.giveUp(number, at: now) }
      if number % 40 == 39 { limit.rate.pause(for: .milliseconds(1_500), at: now) }
      limit.take(number, in: number % 3, at: now)
    }
    for number in limit.due.keys.sorted().shuffled(using: &random) { limit.giveUp(number, at: now) }

    let sent = limit.sent.values.sorted()
    for start in sent.indices {
      for end in start..<min(sent.count, start + 20) {
        #expect(sent[end] - sent[start] + .microseconds(1) >= .seconds(max(0, end - start - burst + 1)))
      }
    }
    // all waiting requests have given up: nothing waits
    let next = limit.rate.take(interval: .seconds(1), burst: burst, wait: .zero, at: now + .milliseconds(2_500))
    guard case .allowed(.zero, _, _) = next else {
      Issue.record("\(next)")
      return
    }
  }

  @Test func aPlaceBeforeTheEndOfAPauseIsNotForARequestThatCameAfterIt() {
    var limit = Limit(interval: .seconds(10), burst: 1)
    limit.take(1, at: .zero)
    limit.take(2, at: .seconds(1))
    limit.rate.pause(for: .seconds(13), at: .seconds(2))  // until 15
    limit.take(3, at: .seconds(3))
    limit.giveUp(2, at: .seconds(4))
    limit.advance(to: .seconds(100))
    #expect(limit.sent == [1: .zero, 3: .seconds(20)])
  }

  @Test func aPlaceThatIsUnknownOrWasGivenBackBeforeIsIgnored() {
    var limit = Limit(interval: .seconds(1), burst: 1)
    for number in 0..<4 { limit.take(number, at: .zero) }
    let before = limit.rate
    let unknown = RateLimitPlace(start: .seconds(50), arrival: .seconds(51), interval: .seconds(1), earliest: .zero)
    limit.rate.giveBack(unknown)
    #expect(limit.rate == before)
    let second = RateLimitPlace(start: .seconds(2), arrival: .seconds(3), interval: .seconds(1), earliest: .zero)
    limit.rate.giveBack(second)
    let once = limit.rate
    limit.rate.giveBack(second)
    #expect(limit.rate == once)
    #expect(
      limit.rate.take(interval: .seconds(1), burst: 1, wait: .seconds(9), at: .zero)
        == .allowed(after: .seconds(2), remaining: 0, place: second))
    #expect(limit.rate == before)
  }
}
