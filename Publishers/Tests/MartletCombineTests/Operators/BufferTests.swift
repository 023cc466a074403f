import MartletCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BufferTests {
  private let source = Source<Int, Oops>()

  @Test(arguments: [(Publishers.PrefetchStrategy.keepFull, "max(3)"), (.byRequest, "unlimited")])
  func theStrategyDecidesWhatIsRequested(prefetch: Publishers.PrefetchStrategy, asked: String) {
    let probe = source.buffer(size: 3, prefetch: prefetch, whenFull: .dropNewest).probe(.none)
    #expect(source.asked == [asked])

    for number in 1...3 { #expect(source.send(number) == .none) }
    probe.subscription?.request(.max(2))

    #expect(source.asked == (prefetch == .keepFull ? [asked, "max(2)"] : [asked]))
    probe.subscription?.request(.max(3))
    #expect(source.send(4) == (prefetch == .keepFull ? .max(1) : .none))
    #expect(probe.values == [1, 2, 3, 4])
  }

  @Test(arguments: [(true, [1, 2]), (false, [3, 4])])
  func aFullBufferDropsTheNewestOrTheOldest(dropsNewest: Bool, kept: [Int]) {
    let probe = source.buffer(
      size: 2, prefetch: .byRequest, whenFull: dropsNewest ? .dropNewest : .dropOldest
    ).probe(.none)
    for number in 1...4 { source.send(number) }

    probe.subscription?.request(.unlimited)

    #expect(probe.values == kept)
  }

  @Test func aFullBufferMayFailAfterTheValuesThatAreRequestedNext() {
    let probe = source.buffer(size: 2, prefetch: .byRequest, whenFull: .customError { Oops(number: 5) }).probe(.none)
    for number in 1...4 { source.send(number) }
    #expect(source.asked == ["unlimited", "cancel"] && probe.completions.isEmpty)

    probe.subscription?.request(.max(1))

    #expect(probe.values == [1] && probe.failure == Oops(number: 5))
  }

  @Test(arguments: [true, false])
  func aRequestWhileABufferOverflowsIsFollowedByTheFailure(whileCancelling: Bool) {
    nonisolated(unsafe) var ask: (() -> Void)?
    let upstream = source.handleEvents(receiveCancel: { if whileCancelling { ask?() } })
    let probe = upstream.buffer(
      size: 1, prefetch: .byRequest,
      whenFull: .customError {
        if !whileCancelling { ask?() }
        return Oops(number: 1)
      }
    ).probe(.none)
    ask = { probe.subscription?.request(.unlimited) }

    for number in 1...2 { source.send(number) }

    #expect(probe.values == [1] && probe.failure == Oops(number: 1))
  }

  @Test func itFinishesAfterItsValuesAndFailsAtOnce() {
    let other = Source<Int, Oops>()
    let finishing = source.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest).probe(.none)
    let failing = other.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest).probe(.none)
    for source in [source, other] { source.send(1) }
    source.send(completion: .finished)
    other.send(completion: .failure(Oops(number: 1)))
    #expect(finishing.completions.isEmpty)
    #expect(failing.values == [] && failing.failure == Oops(number: 1))

    finishing.subscription?.request(.max(1))

    #expect(finishing.values == [1] && finishing.isFinished)
    #expect(Empty<Int, Oops>().buffer(size: 1, prefetch: .keepFull, whenFull: .dropNewest).probe(.none).isFinished)
  }

  @Test func aFailureWhileItDeliversOvertakesTheRest() {
    let probe = Probe<Int, Oops> { [source] _ in
      source.send(completion: .failure(Oops(number: 1)))
      return .none
    }
    source.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
    for number in 1...3 { source.send(number) }

    probe.subscription?.request(.max(3))

    #expect(probe.values == [1] && probe.failure == Oops(number: 1))
  }

  @Test func aValueThatComesWhileItDeliversIsTheLast() {
    let other = Source<Int, Oops>()
    for publisher in [
      source.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest).eraseToAnyPublisher(),
      source.merge(with: other).eraseToAnyPublisher(),
    ] {
      let probe = Probe<Int, Oops> { [source] value in
        if value == 1 { source.send(4) }
        return .none
      }
      publisher.subscribe(probe)
      for number in 1...3 { source.send(number) }

      probe.subscription?.request(.unlimited)

      #expect(probe.values == [1, 2, 3, 4])
    }
  }

  @Test func manyValuesNeedNoDeepStack() {
    nonisolated(unsafe) var subscription: (any Subscription)?
    let probe = Probe<Int, Oops> { _ in
      subscription?.request(.max(1))
      return .none
    }
    source.buffer(size: 100_000, prefetch: .byRequest, whenFull: .dropNewest).subscribe(probe)
    for number in 1...100_000 { source.send(number) }
    subscription = probe.subscription

    probe.subscription?.request(.max(1))

    #expect(probe.values.count == 100_000 && probe.deepest == 1)
  }
}
