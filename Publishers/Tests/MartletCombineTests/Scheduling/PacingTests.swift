import Dispatch
import Foundation
import MartletCombine
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PacingTests {
  private let scheduler = ManualScheduler()
  private let subject = PassthroughSubject<Int, Oops>()

  @Test func debounceDeliversValuesThatNoOtherFollowsInTime() {
    let probe = subject.debounce(for: .milliseconds(500), scheduler: scheduler).probe()

    // The times of Combine's own example: quarters of a second.
    for (number, pause) in [(0, 1), (1, 3), (2, 1), (3, 1), (4, 2), (5, 4)] {
      subject.send(number)
      scheduler.advance(by: .milliseconds(250 * pause))
    }

    #expect(probe.values == [1, 4, 5])
  }

  @Test func debounceDropsThePendingValueAtTheEnd() {
    let probe = subject.debounce(for: .seconds(1), scheduler: scheduler).probe()
    subject.send(1)
    subject.send(completion: .finished)
    #expect(probe.completions.isEmpty)

    scheduler.advance()

    #expect(probe.values == [])
    #expect(probe.isFinished)
  }

  @Test func debounceDropsUnrequestedValues() {
    let probe = subject.debounce(for: .seconds(1), scheduler: scheduler).probe(.max(1))
    for number in 1...2 {
      subject.send(number)
      scheduler.advance(by: .seconds(1))
    }
    probe.subscription?.request(.max(1))
    #expect(probe.values == [1])

    subject.send(3)
    scheduler.advance(by: .seconds(1))

    #expect(probe.values == [1, 3])
  }

  @Test func debounceDeliversNoNewValueInTheTimeOfTheOneBefore() {
    let probe = subject.debounce(for: .seconds(1), scheduler: scheduler).probe()
    subject.send(1)
    scheduler.whenAsked = { [scheduler] in scheduler.advance(by: .seconds(1)) }

    subject.send(2)

    #expect(probe.values == [1])
    scheduler.advance(by: .seconds(1))
    #expect(probe.values == [1, 2])
  }

  @Test(arguments: [(true, [1, 3, 4]), (false, [1, 2, 4])])
  func throttleDeliversOneValueInAnInterval(latest: Bool, expected: [Int]) {
    let probe = subject.throttle(for: .seconds(10), scheduler: scheduler, latest: latest).probe()
    subject.send(1)
    scheduler.advance(by: .seconds(1))
    #expect(probe.values == [1])

    subject.send(2)
    subject.send(3)
    scheduler.advance(by: .seconds(8))
    #expect(probe.values == [1])
    scheduler.advance(by: .seconds(1))
    #expect(probe.values == Array(expected.prefix(2)))

    scheduler.advance(by: .seconds(20))
    subject.send(4)
    scheduler.advance()
    #expect(probe.values == expected)
  }

  @Test func throttleCompletesWithThePendingValue() {
    let probe = subject.throttle(for: .seconds(10), scheduler: scheduler, latest: true).probe()
    subject.send(1)
    scheduler.advance()
    subject.send(2)
    subject.send(completion: .failure(Oops(number: 7)))
    scheduler.advance(by: .seconds(9))
    #expect(probe.completions.isEmpty)

    scheduler.advance(by: .seconds(1))

    #expect(probe.values == [1, 2])
    #expect(probe.failure == Oops(number: 7))
  }

  @Test func throttleDropsUnrequestedValues() {
    let probe = subject.throttle(for: .seconds(1), scheduler: scheduler, latest: true).probe(.none)
    subject.send(1)
    scheduler.advance(by: .seconds(5))
    probe.subscription?.request(.max(1))
    #expect(probe.values == [])

    subject.send(2)
    scheduler.advance()

    #expect(probe.values == [2])
  }

  @Test func delayDeliversEachValueLaterByTheSameTime() {
    let probe = subject.delay(for: .seconds(5), scheduler: scheduler).probe()
    subject.send(1)
    scheduler.advance(by: .seconds(4))
    subject.send(2)
    subject.send(completion: .finished)
    scheduler.advance(by: .seconds(1))
    #expect(probe.values == [1])

    scheduler.advance(by: .seconds(4))

    #expect(probe.values == [1, 2])
    #expect(probe.isFinished)
  }

  @Test func timeoutCountsFromTheLastValue() {
    let probe = subject.timeout(.seconds(5), scheduler: scheduler) { Oops(number: 3) }.probe()
    scheduler.advance(by: .seconds(4))
    subject.send(1)
    scheduler.advance(by: .seconds(4))
    #expect(probe.values == [1] && probe.completions.isEmpty)

    scheduler.advance(by: .seconds(1))

    #expect(probe.failure == Oops(number: 3))
  }

  @Test func manyValuesLeaveOneScheduledActionOfEachOperator() {
    let debounced = subject.debounce(for: .seconds(5), scheduler: scheduler).probe()
    let limited = subject.timeout(.seconds(5), scheduler: scheduler) { Oops(number: 3) }.probe()

    for number in 1...1_000 {
      subject.send(number)
      scheduler.advance(by: .milliseconds(1))
    }
    #expect(scheduler.pendingCount == 2)

    // The last value was sent a millisecond ago.
    scheduler.advance(by: .milliseconds(4_998))
    #expect(debounced.values == [] && limited.completions.isEmpty)
    scheduler.advance(by: .milliseconds(1))
    #expect(debounced.values == [1_000] && limited.failure == Oops(number: 3))
  }

  @Test func nothingIsDeliveredAfterACancellation() {
    let probes = [
      subject.debounce(for: .seconds(1), scheduler: scheduler).eraseToAnyPublisher(),
      subject.throttle(for: .seconds(1), scheduler: scheduler, latest: false).eraseToAnyPublisher(),
      subject.delay(for: .seconds(1), scheduler: scheduler).eraseToAnyPublisher(),
      subject.receive(on: scheduler).eraseToAnyPublisher(),
    ].map { $0.probe() }
    subject.send(1)
    for probe in probes { probe.subscription?.cancel() }
    subject.send(completion: .finished)

    scheduler.advance(by: .seconds(10))

    #expect(probes.allSatisfy { $0.values.isEmpty && $0.completions.isEmpty })
  }

  @Test func receiveOnDeliversOnTheScheduler() {
    let seen = Log<Bool>()
    let keeper = subject.receive(on: scheduler).sink { [scheduler] _ in
      seen.append(scheduler.isRunning)
    } receiveValue: { [scheduler] _ in
      seen.append(scheduler.isRunning)
    }
    subject.send(1)
    subject.send(2)
    subject.send(completion: .finished)
    #expect(seen.entries == [])

    scheduler.advance()

    #expect(seen.entries == [true, true, true])
    withExtendedLifetime(keeper) {}
  }

  @Test func aValueWhoseDeinitializerCallsBackDoesNotBlock() {
    final class Owner {
      var atEnd: () -> Void = {}
      deinit { atEnd() }
    }
    let values = CurrentValueSubject<Owner?, Never>(nil)
    let probe = values.map { $0 == nil }.probe(.max(1))
    let released = Log<Int>()
    do {
      let owner = Owner()
      owner.atEnd = { [weak values] in
        released.append(1)
        values?.map { $0 == nil }.probe().subscription?.cancel()
      }
      values.send(owner)
    }

    values.send(nil)

    #expect(released.entries == [1])
    #expect(probe.values == [true])
  }
}

@Suite(.timeLimit(.minutes(5)))
struct SchedulerTests {
  @Test func strideIsWrittenInSeconds() {
    typealias Stride = DispatchQueue.SchedulerTimeType.Stride
    let literals: [Stride] = [3, 0.5]
    #expect(literals == [Stride.seconds(3), .nanoseconds(500_000_000)])
    #expect(Stride.seconds(0.5) == Stride.milliseconds(500))
    #expect(Stride.milliseconds(2) == Stride.microseconds(2_000))
    #expect(Stride(DispatchTimeInterval.milliseconds(3)) == Stride.milliseconds(3))
    #expect(Stride.seconds(Int.max) + Stride.seconds(1) == Stride(DispatchTimeInterval.never))
    #expect(Stride.seconds(Int.min) < Stride.seconds(0))
  }

  @Test func timesDifferByWhatTheyWereAdvanced() {
    let queue = DispatchQueue.main.now
    #expect(queue.distance(to: queue.advanced(by: .seconds(3))) == .seconds(3))
    #expect(queue.advanced(by: .seconds(-1)) < queue)
  }

  @Test func aQueueRunsWorkNowLaterAndRepeatedly() async {
    let queue = DispatchQueue(label: "a test's")
    let runs = Log<String>()
    let due = queue.now.advanced(by: .milliseconds(1))
    await withCheckedContinuation { done in
      queue.schedule { runs.append("now") }
      queue.schedule(after: due) {
        runs.append("later")
        done.resume()
      }
    }
    #expect(runs.entries == ["now", "later"])
    #expect(queue.now >= due)
    await runsAgainUntilCancelled(queue)
  }

  /// - Parameter scheduler: one that runs its work serially.
  private func runsAgainUntilCancelled(_ scheduler: some Scheduler) async {
    let runs = Counter()
    let (third, report) = AsyncStream.makeStream(of: Void.self)
    let repetition = scheduler.schedule(after: scheduler.now, interval: .milliseconds(1)) {
      if runs.next() == 3 { report.finish() }
    }
    for await _ in third {}

    let (count, later) = await withCheckedContinuation { (done: CheckedContinuation<(Int, Int), Never>) in
      // On the scheduler, so that no run is under way.
      scheduler.schedule {
        repetition.cancel()
        let count = runs.value
        scheduler.schedule(after: scheduler.now.advanced(by: .milliseconds(20))) {
          done.resume(returning: (count, runs.value))
        }
      }
    }

    #expect(count >= 3 && later == count)
  }
}
