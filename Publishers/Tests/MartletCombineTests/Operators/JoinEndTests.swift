import MartletCombine
import TestSupport
import Testing

/// How operators with several upstreams end.
@Suite(.timeLimit(.minutes(5)))
struct JoinEndTests {
  typealias Numbers = Source<Int, Oops>
  typealias Join = @Sendable (Numbers, Numbers) -> AnyPublisher<Int, Oops>

  private let a = Numbers()
  private let b = Numbers()

  static let joins: [(String, Join)] = [
    ("merge", { a, b in a.merge(with: b).eraseToAnyPublisher() }),
    ("flatMap", { a, b in [a, b].publisher.flatMap { $0 }.eraseToAnyPublisher() }),
    ("zip", { a, b in a.zip(b) { $0 + $1 }.eraseToAnyPublisher() }),
    ("combineLatest", { a, b in a.combineLatest(b) { $0 + $1 }.eraseToAnyPublisher() }),
    ("drop(untilOutputFrom:)", { a, b in a.drop(untilOutputFrom: b).eraseToAnyPublisher() }),
  ]

  @Test(arguments: joins)
  func theFirstFailureCancelsTheOthersAndDropsWhatWaits(name: String, join: Join) {
    let probe = join(a, b).probe(.none)
    a.send(1)
    b.send(completion: .failure(Oops(number: 7)))
    a.send(2)
    probe.subscription?.request(.max(5))

    #expect(probe.values == [] && probe.failure == Oops(number: 7), "\(name)")
    #expect(a.asked.last == "cancel" && !b.asked.contains("cancel"), "\(name)")
  }

  @Test(arguments: joins)
  func aCancellationEndsAllAndIsFinal(name: String, join: Join) {
    let probe = join(a, b).probe()
    probe.subscription?.cancel()
    probe.subscription?.cancel()
    probe.subscription?.request(.max(1))
    a.send(1)
    b.send(completion: .finished)

    #expect(probe.values.isEmpty && probe.completions.isEmpty, "\(name)")
    #expect(a.asked.filter { $0 == "cancel" }.count == 1 && b.asked.filter { $0 == "cancel" }.count == 1, "\(name)")
  }

  @Test(arguments: joins)
  func aSubscriberThatCancelsAtOnceCausesNoValue(name: String, join: Join) {
    final class Hasty: Subscriber {
      private(set) var events = 0
      func receive(subscription: any Subscription) {
        subscription.request(.unlimited)
        subscription.cancel()
      }
      func receive(_ input: Int) -> Subscribers.Demand {
        events += 1
        return .none
      }
      func receive(completion: Subscribers.Completion<Oops>) { events += 1 }
    }
    let hasty = Hasty()
    join(a, b).subscribe(hasty)
    a.send(1)
    b.send(2)

    #expect(hasty.events == 0, "\(name)")
    #expect([a, b].allSatisfy { $0.asked.isEmpty || $0.asked.last == "cancel" }, "\(name)")
  }

  @Test func mergeFinishesWithTheLastPublisherAndWhatWaits() {
    let probe = a.merge(with: b).probe(.max(1))
    a.send(1)
    b.send(2)
    a.send(completion: .finished)
    b.send(completion: .finished)
    #expect(probe.values == [1] && probe.completions.isEmpty)

    probe.subscription?.request(.max(1))

    #expect(probe.values == [1, 2] && probe.isFinished)
  }

  @Test func zipFinishesAsSoonAsAPublisherIsUsedUp() {
    let probe = a.zip(b) { $0 + $1 }.probe()
    a.send(1)
    a.send(completion: .finished)
    #expect(probe.completions.isEmpty)

    b.send(10)

    #expect(probe.values == [11] && probe.isFinished)
    #expect(b.asked == ["unlimited", "cancel"])
    #expect(Numbers().zip(Empty<Int, Oops>()).map(\.0).probe(.none).isFinished)
  }

  @Test func combineLatestFinishesWithTheLastPublisherOrAnEmptyOne() {
    let probe = a.combineLatest(b) { $0 + $1 }.probe()
    a.send(1)
    a.send(completion: .finished)
    b.send(10)
    b.send(20)
    #expect(probe.values == [11, 21] && probe.completions.isEmpty)
    b.send(completion: .finished)

    #expect(probe.isFinished)
    #expect(Numbers().combineLatest(Empty<Int, Oops>()).map(\.0).probe(.none).isFinished)
  }

  @Test func aPublisherThatIsMadeWhileTheSubscriptionIsCancelledIsNotSubscribedTo() {
    let outer = Source<Int, Oops>()
    nonisolated(unsafe) var subscription: AnyCancellable?
    subscription = outer.flatMap { [a] _ in
      subscription?.cancel()
      return a
    }.sink { _ in
    } receiveValue: { _ in
    }

    outer.send(1)

    #expect(a.asked == [] && a.subscription == nil)
    #expect(outer.asked == ["unlimited", "cancel"])
  }

  @Test func aReplacedPublisherDeliversNothingThatWaits() {
    let outer = Source<Numbers, Oops>()
    let (one, other) = (Numbers(), Numbers())
    let seen = Log<Int>()
    let subscription = outer.switchToLatest().sink { _ in
    } receiveValue: { value in
      seen.append(value)
      guard value == 1 else { return }
      // Another thread's value waits for this delivery. Then its publisher is replaced.
      onAnotherThread { _ = one.send(2) }
      outer.send(other)
    }
    outer.send(one)
    one.send(1)
    other.send(3)

    #expect(seen.entries == [1, 3])
    withExtendedLifetime(subscription) {}
  }

  @Test func prefixIgnoresTheEndOfTheOtherAndDropFollowsIt() {
    let (c, d) = (Numbers(), Numbers())
    let before = a.prefix(untilOutputFrom: b).probe()
    let after = c.drop(untilOutputFrom: d).probe()
    b.send(completion: .failure(Oops(number: 1)))
    d.send(completion: .finished)
    a.send(1)
    c.send(1)

    #expect(before.values == [1] && before.completions.isEmpty)
    #expect(after.values == [] && after.isFinished && c.asked == ["unlimited", "cancel"])
  }

  @Test func switchToLatestFinishesWithBothAndFailsWithEither() {
    let outers = (0..<3).map { _ in Source<Numbers, Oops>() }
    let children = (0..<3).map { _ in Numbers() }
    let probes = outers.map { $0.switchToLatest().probe() }
    for (outer, child) in zip(outers, children) { outer.send(child) }

    outers[0].send(completion: .finished)
    #expect(probes[0].completions.isEmpty)
    children[0].send(completion: .finished)
    outers[1].send(completion: .failure(Oops(number: 1)))
    children[2].send(completion: .failure(Oops(number: 2)))

    #expect(probes[0].isFinished && probes[1].failure == Oops(number: 1) && probes[2].failure == Oops(number: 2))
    #expect(children[1].asked.last == "cancel" && outers[2].asked.last == "cancel")
  }
}
