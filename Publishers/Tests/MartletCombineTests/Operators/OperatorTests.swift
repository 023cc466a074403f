import MartletCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OperatorTests {
  @Test func valuesAreTransformedFilteredAndCounted() {
    let numbers = [1, 1, 2, 3, 3].publisher
    #expect(numbers.compactMap { $0 > 1 ? "\($0)" : nil }.all == ["2", "3", "3"])
    #expect(numbers.removeDuplicates().all == [1, 2, 3])
    #expect(numbers.scan(0, +).all == [1, 2, 4, 7, 10])
    #expect(numbers.collect().all == [[1, 1, 2, 3, 3]])
    #expect(numbers.reduce(0, +).all == [10])
    #expect(numbers.count().all == [5])
    #expect(numbers.last().all == [3])
    #expect(numbers.first().all == [1])
    #expect(numbers.first { $0 > 2 }.all == [3])
    #expect([1, nil, 3].publisher.replaceNil(with: 2).all == [1, 2, 3])
    #expect(Empty<Int, Never>().replaceEmpty(with: 7).all == [7])
    #expect(numbers.ignoreOutput().probe().isFinished)
  }

  @Test func aThrownErrorEndsTheChain() {
    let probe = [1, 2, 3].publisher.tryMap { number in
      if number == 2 { throw Oops(number: number) }
      return number
    }.probe()

    #expect(probe.values == [1])
    #expect(probe.failure as? Oops == Oops(number: 2))
  }

  @Test func anErrorIsMappedReplacedOrCaught() {
    let failing = Fail<Int, Oops>(error: Oops(number: 1))
    #expect(failing.mapError { Oops(number: $0.number + 1) }.probe().failure == Oops(number: 2))
    #expect(failing.replaceError(with: 5).all == [5])
    #expect(failing.catch { Just($0.number + 10) }.all == [11])
    #expect(failing.tryCatch { _ -> Just<Int> in throw Oops(number: 9) }.probe().failure as? Oops == Oops(number: 9))
  }

  @Test func retrySubscribesAgainUpToItsLimit() {
    nonisolated(unsafe) var attempts = 0
    let flaky = Deferred { () -> AnyPublisher<Int, Oops> in
      attempts += 1
      return attempts < 3
        ? Fail(error: Oops(number: attempts)).eraseToAnyPublisher()
        : Just(attempts).setFailureType(to: Oops.self).eraseToAnyPublisher()
    }

    #expect(flaky.retry(1).probe().failure == Oops(number: 2))
    attempts = 0
    #expect(flaky.retry(2).all == [3])
  }

  @Test func flatMapRunsAtMostTheAllowedNumberOfPublishers() {
    let subjects = (0..<3).map { _ in PassthroughSubject<Int, Never>() }
    nonisolated(unsafe) var begun = 0
    let probe = [0, 1, 2].publisher.flatMap(maxPublishers: .max(2)) { index in
      begun += 1
      return subjects[index]
    }.probe()
    #expect(begun == 2)

    subjects[0].send(1)
    subjects[0].send(completion: .finished)
    subjects[2].send(3)
    subjects[1].send(completion: .finished)
    #expect(!probe.isFinished)
    subjects[2].send(completion: .finished)

    #expect(begun == 3)
    #expect(probe.values == [1, 3])
    #expect(probe.isFinished)
  }

  @Test func switchToLatestCancelsThePreviousPublisher() {
    let first = PassthroughSubject<Int, Never>()
    let second = PassthroughSubject<Int, Never>()
    let choice = PassthroughSubject<PassthroughSubject<Int, Never>, Never>()
    let watched = choice.switchToLatest().probe()

    choice.send(first)
    first.send(1)
    choice.send(second)
    first.send(2)
    second.send(3)
    choice.send(completion: .finished)
    #expect(!watched.isFinished)
    second.send(completion: .finished)

    #expect(watched.values == [1, 3])
    #expect(watched.isFinished)
  }

  @Test func valuesOfBothPublishersArePaired() {
    let left = PassthroughSubject<Int, Never>()
    let right = PassthroughSubject<String, Never>()
    let zipped = left.zip(right).map { "\($0)\($1)" }.probe()
    let latest = left.combineLatest(right).map { "\($0)\($1)" }.probe()

    left.send(1)
    left.send(2)
    right.send("a")
    right.send("b")
    left.send(completion: .finished)
    right.send("c")
    right.send(completion: .finished)

    #expect(zipped.values == ["1a", "2b"])
    #expect(latest.values == ["2a", "2b", "2c"])
    #expect(zipped.isFinished && latest.isFinished)
  }

  @Test func eventsAreObservedWithoutChanges() {
    nonisolated(unsafe) var seen: [String] = []
    let probe = [1, 2].publisher.handleEvents(
      receiveSubscription: { _ in seen.append("subscription") }, receiveOutput: { seen.append("\($0)") },
      receiveCompletion: { _ in seen.append("completion") }, receiveRequest: { seen.append("\($0)") }
    ).probe(.max(5))

    #expect(probe.values == [1, 2])
    #expect(seen == ["subscription", "max(5)", "1", "2", "completion"])
  }

  @Test func shareSubscribesOnceAndCancelsWithTheLast() {
    nonisolated(unsafe) var subscriptions = 0
    nonisolated(unsafe) var cancels = 0
    let subject = PassthroughSubject<Int, Never>()
    let shared = subject.handleEvents(
      receiveSubscription: { _ in subscriptions += 1 }, receiveCancel: { cancels += 1 }
    ).share()
    let one = shared.probe()
    let two = shared.probe()

    subject.send(1)
    one.subscription?.cancel()
    #expect(cancels == 0)
    subject.send(2)
    two.subscription?.cancel()

    #expect(subscriptions == 1)
    #expect(cancels == 1)
    #expect(one.values == [1])
    #expect(two.values == [1, 2])
  }

  @Test func subjectsDropUnrequestedValuesOrKeepTheLatest() {
    let passing = PassthroughSubject<Int, Never>()
    let keeping = CurrentValueSubject<Int, Never>(0)
    let passed = passing.probe(.none)
    let kept = keeping.probe(.none)

    for number in 1...3 {
      passing.send(number)
      keeping.send(number)
    }
    passed.subscription?.request(.unlimited)
    kept.subscription?.request(.unlimited)

    #expect(passed.values == [])
    #expect(kept.values == [3])
    #expect(keeping.value == 3)
  }

  @Test func aPublishedPropertyDeliversItsValues() {
    final class Model {
      @Published var title = "a"
    }
    let model = Model()
    let probe = model.$title.probe()

    model.title = "b"

    #expect(probe.values == ["a", "b"])
    #expect(model.title == "b")
  }
}
