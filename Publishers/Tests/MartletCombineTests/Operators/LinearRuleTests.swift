import Dispatch
import MartletCombine
import Synchronization
import TestSupport
import Testing

/// The rules of Combine for operators with one upstream.
@Suite(.timeLimit(.minutes(5)))
struct LinearRuleTests {
  @Test func aSecondSubscriptionIsCancelled() {
    struct Twice: Publisher {
      typealias Output = Int
      typealias Failure = Oops
      let first = Source<Int, Oops>()
      let second = Source<Int, Oops>()
      func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {
        first.subscribe(subscriber)
        second.subscribe(subscriber)
      }
    }
    func check<P: Publisher>(_ make: (Twice) -> P) where P.Output: Sendable {
      let twice = Twice()
      let probe = make(twice).probe(.max(3))
      #expect(!twice.first.asked.contains("cancel"))
      #expect(twice.second.asked == ["cancel"])
      #expect(probe.completions.isEmpty)
    }
    check { $0.tryMap { $0 } }
    check { $0.first() }
    check { $0.collect(2) }
    check { $0.handleEvents() }
    check { $0.catch { _ in Just(1) } }
    check { $0.append(1) }
  }

  @Test func nothingFollowsTheEnd() {
    let source = Source<Int, Oops>()
    let probe = source.tryMap { number in
      if number == 2 { throw Oops(number: 2) }
      return number
    }.probe()

    source.send(1)
    source.send(2)
    source.send(3)
    source.send(completion: .finished)

    #expect(source.asked == ["unlimited", "cancel"])
    #expect(probe.values == [1])
    #expect(probe.completions.count == 1 && probe.failure as? Oops == Oops(number: 2))
  }

  @Test func aValueWhoseClosureCancelsIsNotDelivered() {
    nonisolated(unsafe) var cancel: (() -> Void)?
    let source = Source<Int, Never>()
    let probe = source.removeDuplicates { _, _ in
      cancel?()
      return false
    }.probe()
    cancel = { probe.subscription?.cancel() }

    source.send(1)
    source.send(2)

    #expect(probe.values == [1])
    #expect(source.asked == ["unlimited", "cancel"])
  }

  @Test func reentrantValuesAreDeliveredAtOnceAndEndWithTheLast() {
    let seen = Log<String>()
    let subject = PassthroughSubject<Int, Never>()
    let subscription = subject.prefix(3).handleEvents(receiveCompletion: { _ in seen.append("finished") })
      .sink { value in
        seen.append("\(value)")
        if value < 10 { subject.send(value + 1) }
      }
    subject.send(1)

    #expect(seen.entries == ["1", "2", "3", "finished"])
    withExtendedLifetime(subscription) {}
  }

  @Test func aPrefixOfNothingFinishesWithoutASubscription() {
    let source = Source<Int, Never>()
    #expect(source.prefix(0).probe(.none).isFinished)
    #expect(source.asked.isEmpty)
  }

  @Test func operatorsOfTheSameKindBecomeOne() {
    typealias Numbers = Source<Int, Oops>
    let numbers = Numbers()
    let map: Publishers.Map<Numbers, String> = numbers.map { $0 + 1 }.map { "\($0)" }
    let tryMap: Publishers.TryMap<Numbers, String> = numbers.map { $0 }.tryMap { $0 }.map { "\($0)" }
    let filter: Publishers.Filter<Numbers> = numbers.filter { $0 > 0 }.filter { $0 < 5 }
    let tryFilter: Publishers.TryFilter<Numbers> = numbers.filter { $0 > 0 }.tryFilter { $0 < 5 }.filter { $0 > 1 }
    let compact: Publishers.CompactMap<Numbers, Int> = numbers.compactMap { $0 }.compactMap { $0 }.map { $0 + 1 }
    let tryCompact: Publishers.TryCompactMap<Numbers, Int> = numbers.tryCompactMap { $0 }.compactMap { $0 }
    _ = (map, tryMap, filter, tryFilter, compact, tryCompact)

    let probe = map.probe()
    numbers.send(1)
    #expect(probe.values == ["2"])
  }

  @Test func publishersAreEqualIfTheirPartsAre() {
    let numbers = [1, 2].publisher
    typealias Numbers = Publishers.Sequence<[Int], Never>
    #expect(Publishers.Drop(upstream: numbers, count: 1) == Publishers.Drop(upstream: numbers, count: 1))
    #expect(Publishers.Drop(upstream: numbers, count: 1) != Publishers.Drop(upstream: numbers, count: 2))
    #expect(Publishers.Output(upstream: numbers, range: 0..<1) == Publishers.Output(upstream: numbers, range: 0..<1))
    #expect(Publishers.First(upstream: numbers) == Publishers.First(upstream: numbers))
    #expect(Publishers.Last(upstream: numbers) != Publishers.Last(upstream: [3].publisher))
    #expect(Publishers.Contains(upstream: numbers, output: 1) != Publishers.Contains(upstream: numbers, output: 2))
    #expect(Publishers.Retry(upstream: numbers, retries: 1) != Publishers.Retry(upstream: numbers, retries: nil))
    #expect(numbers == Numbers(sequence: [1, 2]))
    #expect(Just(1) == Just(1) && Optional.Publisher(1) != Optional.Publisher(nil))
    #expect(Empty<Int, Never>() != Empty(completeImmediately: false))
    #expect(Fail<Int, Oops>(error: Oops(number: 1)) != Fail(error: Oops(number: 2)))
    let twice = Publishers.Concatenate(prefix: numbers, suffix: numbers)
    #expect(twice == twice && twice != Publishers.Concatenate(prefix: numbers, suffix: [3].publisher))
  }

  @Test func cancellingWhileAnotherThreadDeliversReleasesEverything() async {
    for _ in 0..<50 {
      let source = Sent(PassthroughSubject<Int, Never>())
      weak var witness: Owned?
      let cancellable: AnyCancellable
      do {
        let owned = Owned()
        witness = owned
        cancellable = source.subject.tryMap { (owned, $0) }.filter { $0.1 > 0 }.replaceError(with: (owned, 0))
          .handleEvents(receiveOutput: { _ in _ = owned }).sink { _ in }
      }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for number in 0..<200 { source.subject.send(number) } }
        group.addTask { cancellable.cancel() }
      }
      #expect(witness == nil)
    }
  }

  private final class Sent: @unchecked Sendable {
    // SAFETY: a subject may be used from any thread.
    let subject: PassthroughSubject<Int, Never>
    init(_ subject: PassthroughSubject<Int, Never>) { self.subject = subject }
  }
}
