import Dispatch
@_spi(Toolkit) import MartletCombine
import TestSupport
import Testing

/// Operators that run everything on a scheduler, with a clock that the test sets.
@Suite(.timeLimit(.minutes(5)))
struct SchedulingTests {
  private let scheduler = ManualScheduler()
  private let source = Source<Int, Oops>()

  // MARK: - receive(on:) and subscribe(on:)

  @Test func eachEventIsOneActionAmongOtherWork() {
    let seen = Log<String>()
    let subscription = source.receive(on: scheduler).sink { _ in
      seen.append("end")
    } receiveValue: {
      seen.append("\($0)")
    }

    for number in 1...2 {
      source.send(number)
      scheduler.schedule { seen.append("other") }
    }
    source.send(completion: .finished)
    scheduler.advance()

    #expect(seen.entries == ["1", "other", "2", "other", "end"])
    withExtendedLifetime(subscription) {}
  }

  @Test func requestsPassAtOnceAndWhatIsRequestedInReturnFollows() {
    let probe = Probe<Int, Oops>(asking: .max(2)) { _ in .max(3) }
    source.receive(on: scheduler).subscribe(probe)

    #expect(source.send(1) == .none)
    #expect(source.asked == ["max(2)"])
    scheduler.advance()

    #expect(source.asked == ["max(2)", "max(3)"])
  }

  @Test func nothingFollowsTheCompletionOfUpstream() {
    let probes = [
      source.receive(on: scheduler).eraseToAnyPublisher(),
      Source().delay(for: 1, scheduler: scheduler).eraseToAnyPublisher(),
    ].map { $0.probe() }

    source.send(completion: .finished)
    source.send(1)
    scheduler.advance(by: .seconds(2))

    #expect(probes[0].values == [] && probes[0].isFinished)
  }

  @Test func subscribingRequestsAndTheCancellationRunOnTheScheduler() {
    let probe = source.subscribe(on: scheduler).probe(.max(2))
    #expect(source.subscription == nil && probe.subscription == nil)
    scheduler.advance()
    #expect(source.asked == ["max(2)"])

    source.send(1)
    probe.subscription?.request(.max(1))
    #expect(probe.values == [1] && source.asked == ["max(2)"])
    probe.subscription?.cancel()
    source.send(2)
    #expect(source.asked == ["max(2)"])
    scheduler.advance()

    #expect(source.asked == ["max(2)", "max(1)", "cancel"])
    #expect(probe.values == [1])
  }

  /// A publisher that breaks the rules: it sends events before its subscription.
  private struct Hasty: Publisher {
    typealias Output = Int
    typealias Failure = Oops

    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {
      _ = subscriber.receive(1)
      subscriber.receive(completion: .finished)
      subscriber.receive(subscription: Subscriptions.empty)
      _ = subscriber.receive(2)
    }
  }

  @Test func eventsBeforeTheSubscriptionAreIgnored() {
    let probes = [
      Hasty().receive(on: ImmediateScheduler.shared).eraseToAnyPublisher(),
      Hasty().subscribe(on: ImmediateScheduler.shared).eraseToAnyPublisher(),
      Hasty().delay(for: 1, scheduler: ImmediateScheduler.shared).eraseToAnyPublisher(),
      Hasty().debounce(for: 1, scheduler: ImmediateScheduler.shared).eraseToAnyPublisher(),
      Hasty().throttle(for: 1, scheduler: ImmediateScheduler.shared, latest: true).eraseToAnyPublisher(),
      Hasty().prefix(untilOutputFrom: Empty<Int, Never>()).eraseToAnyPublisher(),
    ].map { $0.probe() }

    #expect(probes.allSatisfy { $0.values == [2] && $0.completions.isEmpty })
  }

  // MARK: - timeout

  @Test func theTimeBeginsAnewWithTheFirstRequest() {
    let probe = source.timeout(.seconds(5), scheduler: scheduler).probe(.none)
    scheduler.advance(by: .seconds(3))
    probe.subscription?.request(.max(1))
    scheduler.advance(by: .seconds(3))
    probe.subscription?.request(.max(1))
    #expect(probe.completions.isEmpty)

    scheduler.advance(by: .seconds(2))

    #expect(probe.isFinished && source.asked == ["max(1)", "max(1)", "cancel"])
  }

  @Test func aCompletionStopsTheTimer() {
    let probe = source.timeout(.seconds(5), scheduler: scheduler) { Oops(number: 1) }.probe()

    source.send(completion: .finished)
    scheduler.advance(by: .seconds(9))

    #expect(probe.isFinished && probe.failure == nil)
  }

  // MARK: - collect

  @Test func valuesOfAnIntervalAreDeliveredTogether() {
    let probe = source.collect(.byTime(scheduler, .seconds(10))).probe()
    #expect(source.asked == ["unlimited"])
    for number in 1...2 { source.send(number) }
    scheduler.advance(by: .seconds(9))
    #expect(probe.values == [])

    scheduler.advance(by: .seconds(21))
    source.send(3)
    source.send(completion: .finished)
    scheduler.advance()

    #expect(probe.values == [[1, 2], [3]] && probe.isFinished)
  }

  @Test func aFullGroupIsDeliveredBeforeTheIntervalEnds() {
    let probe = source.collect(.byTimeOrCount(scheduler, .seconds(10), 2)).probe()
    for number in 1...5 { source.send(number) }
    scheduler.advance()
    #expect(probe.values == [[1, 2], [3, 4]])

    scheduler.advance(by: .seconds(10))

    #expect(probe.values == [[1, 2], [3, 4], [5]])
  }

  @Test func groupsThatAreNotRequestedAreKeptInTheirSize() {
    let probe = source.collect(.byTimeOrCount(scheduler, .seconds(10), 2)).probe(.max(1))
    for number in 1...5 { source.send(number) }
    scheduler.advance(by: .seconds(10))
    #expect(probe.values == [[1, 2]])

    probe.subscription?.request(.unlimited)
    scheduler.advance()

    #expect(probe.values == [[1, 2], [3, 4], [5]])
  }

  @Test func aFailureDropsWhatWasCollected() {
    let probe = source.collect(.byTime(scheduler, .seconds(10))).probe()
    source.send(1)
    source.send(completion: .failure(Oops(number: 1)))
    scheduler.advance()

    #expect(probe.values == [] && probe.failure == Oops(number: 1))
  }

  // MARK: - Schedulers

  @Test func anImmediateSchedulerDeliversNestedValuesAtOnce() {
    let probe = Probe<Int, Oops>(asking: .unlimited) { [source] value in
      if value < 3 { source.send(value + 1) }
      return .none
    }
    source.receive(on: ImmediateScheduler.shared).subscribe(probe)

    source.send(1)

    #expect(probe.values == [1, 2, 3] && probe.deepest == 3)
    #expect([1, 2].publisher.debounce(for: 5, scheduler: ImmediateScheduler.shared).all == [1, 2])
    #expect([1, 2].publisher.throttle(for: 5, scheduler: ImmediateScheduler.shared, latest: true).all == [1, 2])
    #expect([1, 2].publisher.delay(for: 5, scheduler: ImmediateScheduler.shared).all == [1, 2])
  }

  @Test func durationsCountInSeconds() {
    typealias Stride = DispatchQueue.SchedulerTimeType.Stride
    #expect(Stride.milliseconds(300) * 2 == .milliseconds(600))
    #expect(Stride.seconds(.max) + 1 == .nanoseconds(.max))
    #expect(Stride(exactly: 2) == .seconds(2) && 1.5 == Stride.milliseconds(1_500))
    #expect(Stride(.never).timeInterval == .nanoseconds(.max))
    #expect(ImmediateScheduler.SchedulerTimeType.Stride.seconds(5) == 0)
  }

  @Test func aRepetitionEndsWhenItIsCancelled() {
    let runs = Counter()
    let repetition = scheduler.repeating(
      after: scheduler.now, interval: .seconds(1), tolerance: .seconds(0), options: nil
    ) { runs.next() }
    scheduler.advance(by: .seconds(2))
    #expect(runs.value == 3)

    repetition.cancel()
    scheduler.advance(by: .seconds(5))

    #expect(runs.value == 3 && scheduler.pendingCount == 0)
  }
}
