import Foundation
import MartletCombine
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SourceTests {
  @Test func anElementIsTakenForEachRequestAndTheEndFollowsTheLast() {
    let taken = Log<Int>()
    let probe = (1...3).lazy.map { (number: Int) -> Int in
      taken.append(number)
      return number
    }.publisher.probe(.none)
    #expect(taken.entries == [1])

    probe.subscription?.request(.max(1))
    #expect(probe.values == [1] && taken.entries == [1, 2])
    probe.subscription?.request(.max(2))

    #expect(probe.values == [1, 2, 3] && probe.isFinished)
  }

  @Test func emptySourcesCompleteWithoutDemand() {
    #expect([Int]().publisher.probe(.none).isFinished)
    #expect(Optional<Int>.none.publisher.probe(.none).isFinished)
    #expect(Empty<Int, Never>().probe(.none).isFinished)
    #expect(Empty<Int, Never>(completeImmediately: false).probe().completions.isEmpty)
    #expect(Fail<Int, Oops>(error: Oops(number: 1)).probe(.none).failure == Oops(number: 1))
    #expect(Result<Int, Oops>.failure(Oops(number: 2)).publisher.probe(.none).failure == Oops(number: 2))
    #expect(Record<Int, Oops>(output: [], completion: .finished).probe(.none).isFinished)
  }

  @Test func singleValuesWaitForARequest() {
    func check<P: Publisher<Int, Never>>(_ publisher: P) {
      let probe = publisher.probe(.none)
      #expect(probe.values.isEmpty && probe.completions.isEmpty)
      probe.subscription?.request(.max(1))
      probe.subscription?.request(.max(1))
      #expect(probe.values == [1] && probe.isFinished)

      let cancelled = publisher.probe(.none)
      cancelled.subscription?.cancel()
      cancelled.subscription?.request(.max(1))
      #expect(cancelled.values.isEmpty && cancelled.completions.isEmpty)
    }
    check(Just(1))
    check(Optional(1).publisher)
    check(Result<Int, Never>.success(1).publisher)
    check([1].publisher)
    check(Record<Int, Never> { $0.receive(1) })
    check(Future<Int, Never> { $0(.success(1)) })
  }

  @Test func aSubscriberThatCancelsWithTheLastValueReceivesNoCompletion() {
    func check<P: Publisher<Int, Never>>(_ publisher: P) {
      nonisolated(unsafe) var subscription: (any Subscription)?
      let probe = Probe<Int, Never> { _ in
        subscription?.cancel()
        return .none
      }
      publisher.subscribe(probe)
      subscription = probe.subscription
      subscription?.request(.unlimited)
      #expect(probe.values == [1] && probe.completions.isEmpty)
    }
    check(Just(1))
    check([1].publisher)
    check([1, 2].publisher)
    check(Future<Int, Never> { $0(.success(1)) })
  }

  @Test func sourcesReleaseWhatTheyHoldAtTheEnd() {
    func check<P: Publisher<Owned, Never>>(_ make: @escaping (Owned) -> P) {
      for isCancelled in [true, false] {
        weak var downstream: LinearLifetimeTests.Keeper<Owned, Never>?
        var subscription: (any Subscription)?
        let isReleased = isReleased { owned in
          let keeper = LinearLifetimeTests.Keeper<Owned, Never>(asking: isCancelled ? .none : .unlimited)
          downstream = keeper
          make(owned).subscribe(keeper)
          subscription = keeper.subscription
          if isCancelled { subscription?.cancel() }
        }
        #expect(isReleased)
        #expect(downstream == nil)
        withExtendedLifetime(subscription) {}
      }
    }
    check { Just($0) }
    check { Optional($0).publisher }
    check { Result<Owned, Never>.success($0).publisher }
    check { [$0, $0].publisher }
    check { Record(output: [$0], completion: .finished) }
    check { owned in Future { $0(.success(owned)) } }
    check { owned in Deferred { Just(owned) } }
    check { Just($0).eraseToAnyPublisher() }
  }

  @Test func requestsFromManyThreadsDeliverEachElementOnce() async {
    let probe = (0..<2000).publisher.probe(.none)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask { for _ in 0..<20 { probe.subscription?.request(.max(1)) } }
      }
    }

    #expect(probe.values == Array(0..<2000))
    #expect(probe.isFinished && probe.deepest == 1)
  }

  @Test func aRecordIsPlayedAndCoded() throws {
    let record = Record<Int, Coded> { recording in
      recording.receive(1)
      recording.receive(2)
      recording.receive(completion: .failure(Coded(text: "e")))
    }
    let probe = record.probe(.max(1))
    #expect(probe.values == [1] && probe.completions.isEmpty)
    probe.subscription?.request(.max(1))
    #expect(probe.values == [1, 2] && probe.failure == Coded(text: "e"))

    let copy = try JSONDecoder().decode(Record<Int, Coded>.self, from: try JSONEncoder().encode(record))
    #expect(copy.recording.output == [1, 2] && copy.recording.completion == .failure(Coded(text: "e")))
  }

  struct Coded: Error, Codable, Equatable {
    let text: String
  }

  @Test func aFutureDeliversItsResultToAllAndCanBeAwaited() async throws {
    nonisolated(unsafe) var promise: Future<Int, Oops>.Promise?
    let starts = Counter()
    let future = Future<Int, Oops> {
      starts.next()
      promise = $0
    }
    #expect(starts.value == 1)
    let (early, unrequested, cancelled) = (future.probe(), future.probe(.none), future.probe())
    cancelled.subscription?.cancel()
    async let value = future.value
    promise?(.success(1))
    promise?(.failure(Oops(number: 2)))
    unrequested.subscription?.request(.max(1))

    #expect(early.values == [1] && early.isFinished)
    #expect(unrequested.values == [1] && unrequested.isFinished)
    #expect(cancelled.values.isEmpty && cancelled.completions.isEmpty)
    #expect(try await value == 1)
    #expect(await Future<Int, Never> { $0(.success(3)) }.value == 3)
    await #expect(throws: Oops(number: 4)) { try await Future<Int, Oops> { $0(.failure(Oops(number: 4))) }.value }
  }

  @Test func aFailureOfAFutureNeedsNoRequest() {
    nonisolated(unsafe) var promise: Future<Int, Oops>.Promise?
    let probe = Future<Int, Oops> { promise = $0 }.probe(.none)
    promise?(.failure(Oops(number: 1)))
    #expect(probe.failure == Oops(number: 1))
  }

  @Test func anErasedPublisherIsNotErasedAgain() {
    let erased = Just(1).eraseToAnyPublisher()
    let again = AnyPublisher(erased).eraseToAnyPublisher()

    #expect("\(Mirror(reflecting: again).children.first?.value ?? "")" == "\(Just(1))")
    #expect(again.all == [1])
  }

  @Test func operatorsOfReadyValuesReturnReadyValues() {
    let numbers = [3, 1, 2, 2].publisher
    let mapped: Publishers.Sequence<[Int], Never> = numbers.map { $0 * 2 }
    let first: Optional<Int>.Publisher = numbers.first()
    let some: Publishers.Sequence<[Int], Never> = numbers.filter { $0 > 1 }.removeDuplicates()
    let count: Just<Int> = numbers.count()
    let sum: Result<Int, Never>.Publisher = numbers.reduce(0, +)
    let all: Publishers.Sequence<[Int], Never> = numbers.append(4).prepend([0])
    let rest: Publishers.Sequence<DropFirstSequence<[Int]>, Never> = numbers.dropFirst()
    let tried: Result<Bool, any Error>.Publisher = numbers.tryContains { $0 == 2 }
    #expect(mapped.all == [6, 2, 4, 4])
    #expect(first.all == [3] && numbers.last().all == [2] && numbers.max().all == [3])
    #expect(some.all == [3, 2])
    #expect(count.output == 4 && sum.all == [8])
    #expect(all.sequence == [0, 3, 1, 2, 2, 4])
    #expect(rest.all == [1, 2, 2] && tried.all == [true])
    #expect(numbers.output(at: 1).all == [1] && numbers.output(at: 9).all == [])
    #expect(numbers.output(in: 1..<3).all == [1, 2] && numbers.scan(0, +).all == [3, 4, 6, 8])

    let one = Just(5)
    let maybe: Optional<Int>.Publisher = one.filter { $0 > 9 }
    let failing: Result<Int, any Error>.Publisher = one.tryMap { throw Oops(number: $0) }
    let many: Publishers.Sequence<[Int], Never> = one.append(6, 7)
    #expect(maybe.output == nil && maybe.replaceEmpty(with: 1) == Just(1))
    #expect(failing.probe().failure as? Oops == Oops(number: 5))
    #expect(many.all == [5, 6, 7] && one.prefix(0).all == [] && one.output(in: 0...3).all == [5])
    #expect(failing.replaceError(with: 2).all == [2] && one.collect().all == [[5]])
  }
}
