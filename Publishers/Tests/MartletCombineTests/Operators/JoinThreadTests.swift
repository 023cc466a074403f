import Dispatch
import MartletCombine
import TestSupport
import Testing

/// Runs the work on another thread, and waits for it.
func onAnotherThread(_ work: @escaping () -> Void) {
  let work = Unchecked(work)
  let isDone = DispatchSemaphore(value: 0)
  DispatchQueue.global().async {
    work.value()
    isDone.signal()
  }
  isDone.wait()
}

/// Values of several threads arrive one after another, and completely.
@Suite(.timeLimit(.minutes(5)))
struct JoinThreadTests {
  typealias Numbers = PassthroughSubject<Int, Never>

  private let a = Numbers()
  private let b = Numbers()
  private let count = 10_000

  private func sendFromTwoThreads() async {
    await withTaskGroup(of: Void.self) { [a, b, count] group in
      group.addTask { for number in 1...count { a.send(number) } }
      group.addTask { for number in 1...count { b.send(-number) } }
    }
  }

  private func expectAll(_ values: [Int], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(values.filter { $0 > 0 } == Array(1...count), sourceLocation: sourceLocation)
    #expect(values.filter { $0 < 0 } == (1...count).map { -$0 }, sourceLocation: sourceLocation)
  }

  @Test func mergedValuesArriveCompletelyAndOneAfterAnother() async {
    let merged = a.merge(with: b).probe()
    let flat = [a, b].publisher.flatMap { $0 }.probe()

    await sendFromTwoThreads()

    for probe in [merged, flat] {
      expectAll(probe.values)
      #expect(probe.deepest == 1)
    }
  }

  @Test func theLatestPublisherLosesNoValue() async {
    let both = CurrentValueSubject<AnyPublisher<Int, Never>, Never>(a.merge(with: b).eraseToAnyPublisher())
    let probe = both.switchToLatest().probe()

    await sendFromTwoThreads()

    expectAll(probe.values)
    #expect(probe.deepest == 1)
  }

  @Test func everyValueIsPairedAndEveryLatestPairIsDelivered() async {
    let zipped = a.zip(b) { $0 + $1 }.probe()
    let latest = a.combineLatest(b) { [$0, $1] }.probe()

    await sendFromTwoThreads()

    #expect(zipped.values == Array(repeating: 0, count: count))
    #expect(latest.values.last == [count, -count])
    #expect(latest.values.allSatisfy { $0[0] > 0 && $0[1] < 0 } && latest.deepest == 1)
    // A pair for each value, except values before the other publisher's first one.
    let first = latest.values.first ?? []
    #expect(latest.values.count == 2 * count - first[0] + first[1] + 1)
  }

  @Test func aSubscriberMayWaitForAThreadThatSends() {
    let seen = Log<Int>()
    let subscription = a.merge(with: b).sink { [b] value in
      seen.append(value)
      if value == 1 { onAnotherThread { b.send(2) } }
    }

    a.send(1)

    #expect(seen.entries == [1, 2])
    withExtendedLifetime(subscription) {}
  }

  @Test func aCancellationFromAnotherThreadStopsBoth() async {
    let probe = a.merge(with: b).probe()
    let subscription = Unchecked(probe.subscription)

    await withTaskGroup(of: Void.self) { [a, b, count] group in
      group.addTask { for number in 1...count { a.send(number) } }
      group.addTask { for number in 1...count { b.send(-number) } }
      group.addTask { subscription.value?.cancel() }
    }
    let number = probe.values.count
    a.send(1)

    #expect(probe.values.count == number)
  }

  @Test func aBufferKeepsTheOrderOfItsUpstream() async {
    let probe = a.buffer(size: .max, prefetch: .byRequest, whenFull: .dropNewest).probe(.none)
    let subscription = Unchecked(probe.subscription)

    await withTaskGroup(of: Void.self) { [a, count] group in
      group.addTask { for number in 1...count { a.send(number) } }
      group.addTask { for _ in 1...count { subscription.value?.request(.max(1)) } }
    }

    #expect(probe.values == Array(1...count) && probe.deepest == 1)
  }

  @Test func aConcurrentQueueKeepsTheOrder() async {
    let (finished, tell) = AsyncStream.makeStream(of: Void.self)
    let seen = Log<Int>()
    let subscription = (1...1_000).publisher.receive(on: DispatchQueue.global()).sink { _ in
      tell.finish()
    } receiveValue: {
      seen.append($0)
    }

    for await _ in finished {}

    #expect(seen.entries == Array(1...1_000))
    withExtendedLifetime(subscription) {}
  }
}
