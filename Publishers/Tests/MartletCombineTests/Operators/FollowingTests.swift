import MartletCombine
import TestSupport
import Testing

/// Operators that attach one publisher after another: catch, retry, append and others.
@Suite(.timeLimit(.minutes(5)))
struct FollowingTests {
  typealias Numbers = Source<Int, Oops>

  @Test func outstandingDemandIsCarriedOver() {
    func check<P: Publisher<Int, Oops>>(failing: Bool = false, _ make: (Numbers, Numbers) -> P) {
      let (first, second) = (Numbers(), Numbers())
      let probe = make(first, second).probe(.max(3))
      first.send(1)
      first.send(completion: failing ? .failure(Oops(number: 1)) : .finished)
      probe.subscription?.request(.max(2))
      second.send(2)
      second.send(completion: .finished)

      #expect(first.asked == ["max(3)"])
      #expect(second.asked == ["max(2)", "max(2)"])
      #expect(probe.values == [1, 2] && probe.isFinished)
    }
    check { $0.append($1) }
    check { $1.prepend($0) }
    check(failing: true) { first, second in first.catch { _ in second } }
    check(failing: true) { first, second in
      first.tryCatch { _ in second }.mapError { $0 as? Oops ?? Oops(number: 0) }
    }
    check(failing: true) { first, second in
      let attempts = Counter()
      return Deferred { attempts.next() == 1 ? first : second }.retry(1)
    }
  }

  @Test func whatASubscriberRequestsWhileThePublisherChangesIsNotLost() {
    let (first, second) = (Numbers(), Numbers())
    let probe = Probe<Int, Oops>(asking: .max(1)) { value in
      if value == 1 { first.send(completion: .finished) }
      return .max(4)
    }
    first.append(second).subscribe(probe)

    first.send(1)

    #expect(second.asked == ["max(4)"])
  }

  @Test func valuesWithoutDemandAreDropped() {
    let source = Numbers()
    let probe = source.append(9).probe(.max(2))
    for number in 1...4 { source.send(number) }

    #expect(probe.values == [1, 2])
  }

  @Test func aFailureOfTheFirstEndsAnAppendedPublisher() {
    let (first, second) = (Numbers(), Numbers())
    let probe = first.append(second).probe()
    first.send(completion: .failure(Oops(number: 3)))

    #expect(probe.failure == Oops(number: 3))
    #expect(second.asked.isEmpty)
  }

  @Test func aCancellationReachesTheCurrentPublisherOnly() {
    let (first, second, third) = (Numbers(), Numbers(), Numbers())
    let probe = first.append(second).append(third).probe()
    first.send(completion: .finished)

    probe.subscription?.cancel()
    second.send(completion: .finished)

    #expect(first.asked == ["unlimited"])
    #expect(second.asked == ["unlimited", "cancel"])
    #expect(third.asked.isEmpty)
    #expect(probe.completions.isEmpty)
  }

  @Test func aClosureThatCancelsAttachesNothing() {
    nonisolated(unsafe) var cancel: (() -> Void)?
    let (first, second) = (Numbers(), Numbers())
    let probe = first.catch { _ -> Numbers in
      cancel?()
      return second
    }.probe()
    cancel = { probe.subscription?.cancel() }

    first.send(completion: .failure(Oops(number: 1)))

    #expect(second.asked.isEmpty)
    #expect(probe.completions.isEmpty)
  }

  @Test func anOldPublisherIsNotListenedTo() {
    let (first, second) = (PassthroughSubject<Int, Oops>(), PassthroughSubject<Int, Oops>())
    /// A publisher that goes on after its completion.
    struct Rude: Publisher {
      typealias Output = Int
      typealias Failure = Oops
      let events: (AnySubscriber<Int, Oops>) -> Void
      func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {
        subscriber.receive(subscription: Subscriptions.empty)
        events(AnySubscriber(subscriber))
      }
    }
    nonisolated(unsafe) var late: AnySubscriber<Int, Oops>?
    let probe = Rude {
      late = $0
      $0.receive(completion: .finished)
    }.append(first).append(second).probe()
    _ = late?.receive(7)
    late?.receive(completion: .failure(Oops(number: 7)))
    first.send(1)

    #expect(probe.values == [1] && probe.completions.isEmpty)
  }

  @Test func manyFailuresInARowAreRetriedInALoop() {
    let attempts = Counter()
    let failing = Deferred {
      attempts.next()
      return Fail<Int, Oops>(error: Oops(number: 1))
    }

    #expect(failing.retry(100_000).probe(.max(1)).failure == Oops(number: 1))
    #expect(attempts.value == 100_001)
  }

  @Test func retryWithoutALimitGoesOnUntilItSucceeds() {
    let attempts = Counter()
    let flaky = Deferred { () -> Result<Int, Oops>.Publisher in
      let count = attempts.next()
      return count < 50 ? Fail(error: Oops(number: count)).result : .init(count)
    }

    #expect(Publishers.Retry(upstream: flaky, retries: nil).all == [50])
  }
}

extension Fail where Output == Int, Failure == Oops {
  fileprivate var result: Result<Int, Oops>.Publisher { .init(error) }
}
