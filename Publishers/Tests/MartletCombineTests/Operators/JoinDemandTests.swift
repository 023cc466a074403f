import MartletCombine
import TestSupport
import Testing

/// What operators with several upstreams request, keep and drop.
@Suite(.timeLimit(.minutes(5)))
struct JoinDemandTests {
  typealias Numbers = Source<Int, Oops>

  private let a = Numbers()
  private let b = Numbers()
  private let outer = Source<Numbers, Oops>()

  // MARK: - flatMap and merge

  @Test func withUnlimitedDemandEverythingIsRequestedFromEachPublisherOnce() {
    let probe = outer.flatMap { $0 }.probe()
    outer.send(a)
    outer.send(b)
    #expect(outer.asked == ["unlimited"])

    #expect(a.send(1) == .none)
    #expect(b.send(2) == .none)

    #expect(a.asked == ["unlimited"] && b.asked == ["unlimited"])
    #expect(probe.values == [1, 2])
  }

  @Test func withLimitedDemandOneValueOfEachPublisherWaits() {
    let probe = outer.flatMap { $0 }.probe(.max(2))
    outer.send(a)
    outer.send(b)
    #expect(a.asked == ["max(1)"] && b.asked == ["max(1)"])

    #expect(a.send(1) == .max(1))
    #expect(a.send(2) == .max(1))
    #expect(a.send(3) == .none)
    #expect(b.send(4) == .none)
    #expect(probe.values == [1, 2])
    probe.subscription?.request(.max(5))

    #expect(probe.values == [1, 2, 3, 4])
    #expect(a.asked == ["max(1)", "max(1)"] && b.asked == ["max(1)", "max(1)"])
  }

  @Test func aLaterUnlimitedRequestDeliversWhatWaitsAndAsksForEverything() {
    let probe = a.merge(with: b).probe(.max(1))
    a.send(1)
    a.send(2)
    b.send(3)

    probe.subscription?.request(.unlimited)

    #expect(probe.values == [1, 2, 3])
    #expect(a.asked == ["max(1)", "unlimited"] && b.asked == ["max(1)", "unlimited"])
    #expect(b.send(4) == .none)
    #expect(probe.values == [1, 2, 3, 4])
  }

  @Test func aFinishedPublisherMakesRoomForAnother() {
    let probe = outer.flatMap(maxPublishers: .max(1)) { $0 }.probe()
    outer.send(a)
    #expect(outer.asked == ["max(1)"])

    a.send(completion: .finished)
    #expect(outer.asked == ["max(1)", "max(1)"])
    outer.send(b)
    b.send(1)

    #expect(probe.values == [1])
  }

  @Test(arguments: [Subscribers.Demand.max(1), .max(3), .unlimited])
  func synchronousPublishersFollowOneAnother(maxPublishers: Subscribers.Demand) {
    let probe = Probe<Int, Never>(asking: .max(1)) { _ in .max(1) }

    (1...3).publisher.flatMap(maxPublishers: maxPublishers) { ($0...$0 + 1).publisher }.subscribe(probe)

    #expect(probe.values == [1, 2, 2, 3, 3, 4] && probe.isFinished)
    #expect([1, 2].publisher.merge(with: [3].publisher, [4, 5].publisher).all == [1, 2, 3, 4, 5])
  }

  @Test func aValueThatTheSubscriberCausesIsDeliveredWithinItsOwn() {
    let (one, other) = (PassthroughSubject<Int, Never>(), PassthroughSubject<Int, Never>())
    let seen = Log<Int>()
    let subscription = one.merge(with: other).sink { value in
      if value == 1 {
        one.send(2)
        other.send(3)
      }
      seen.append(value)
    }

    one.send(1)
    other.send(4)

    #expect(seen.entries == [2, 3, 1, 4])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: [true, false])
  func manyWaitingValuesNeedNoDeepStack(requestsAsReturnValue: Bool) {
    nonisolated(unsafe) var subscription: (any Subscription)?
    let probe = Probe<Int, Oops> { _ in
      if requestsAsReturnValue { return .max(1) }
      subscription?.request(.max(1))
      return .none
    }
    a.merge(with: b).subscribe(probe)
    for number in 1...100_000 { a.send(number) }
    subscription = probe.subscription

    probe.subscription?.request(.max(1))

    #expect(probe.values.count == 100_000 && probe.deepest == 1)
  }

  @Test func mergingMorePublishersMakesOneOfAll() {
    let four: Publishers.Merge4<Just<Int>, Just<Int>, Just<Int>, Just<Int>> = Just(1).merge(with: Just(2), Just(3))
      .merge(with: Just(4))
    let eight: Publishers.Merge8 = four.merge(with: Just(5), Just(6), Just(7), Just(8))
    let many: Publishers.MergeMany<Just<Int>> = Publishers.MergeMany(Just(1), Just(2)).merge(with: Just(3))

    #expect(eight.all == Array(1...8) && many.all == [1, 2, 3])
    #expect(Publishers.MergeMany([Just<Int>]()).probe(.none).isFinished)
    #expect(four == Publishers.Merge4(Just(1), Just(2), Just(3), Just(4)) && many != Publishers.MergeMany(Just(1)))
  }

  // MARK: - switchToLatest

  @Test func eachNewPublisherIsAskedForWhatIsLeft() {
    let probe = outer.switchToLatest().probe(.max(3))
    outer.send(a)
    a.send(1)
    outer.send(b)
    a.send(9)
    b.send(2)
    b.send(3)
    b.send(4)
    b.send(completion: .finished)
    outer.send(completion: .finished)

    #expect(outer.asked == ["unlimited"] && a.asked == ["max(3)", "cancel"] && b.asked == ["max(2)"])
    #expect(probe.values == [1, 2, 3] && probe.isFinished)
  }

  @Test func whatIsRequestedInReturnGoesToThePublisherThatIsTheLatestByThen() {
    let probe = Probe<Int, Oops>(asking: .max(1)) { [outer, b] value in
      if value == 1 { outer.send(b) }
      return .max(5)
    }
    outer.switchToLatest().subscribe(probe)
    outer.send(a)

    #expect(a.send(1) == .none)

    #expect(a.asked == ["max(1)", "cancel"])
    #expect(b.asked == ["max(5)"])
    #expect(b.send(2) == .max(5))
  }

  // MARK: - zip and combineLatest

  @Test func zipPassesRequestsOnAndReturnsWhatIsRequestedWithATuple() {
    let probe = Probe<[Int], Oops>(asking: .max(2)) { _ in .max(1) }
    a.zip(b) { [$0, $1] }.subscribe(probe)
    #expect(a.asked == ["max(2)"] && b.asked == ["max(2)"])

    #expect(a.send(1) == .none)
    #expect(a.send(2) == .none)
    #expect(b.send(3) == .max(1))

    #expect(a.asked == ["max(2)", "max(1)"] && b.asked == ["max(2)"])
    #expect(probe.values == [[1, 3]])
  }

  @Test func combineLatestDropsTuplesThatAreNotRequested() {
    let probe = a.combineLatest(b) { [$0, $1] }.probe(.max(1))
    a.send(1)
    b.send(2)
    for number in 3...9 { a.send(number) }
    probe.subscription?.request(.max(1))
    #expect(probe.values == [[1, 2]])
    b.send(10)

    #expect(probe.values == [[1, 2], [9, 10]])
    #expect(a.asked == ["max(1)", "max(1)"] && b.asked == ["max(1)", "max(1)"])
  }

  @Test func tuplesOfThreeAndFourAreOneLevel() {
    let (c, d) = (Numbers(), Numbers())
    let zipped = a.zip(b, c, d) { [$0, $1, $2, $3] }.probe()
    for source in [a, c, d, b] { source.send(1) }
    for source in [a, c, d, b] { source.send(2) }
    #expect(zipped.values == [[1, 1, 1, 1], [2, 2, 2, 2]])

    let (e, f, g) = (Numbers(), Numbers(), Numbers())
    let latest = e.combineLatest(f, g) { [$0, $1, $2] }.probe(.max(7))
    for source in [e, f, g] { source.send(1) }
    f.send(2)

    #expect(latest.values == [[1, 1, 1], [1, 2, 1]])
    #expect([e, f, g].allSatisfy { $0.asked == ["max(7)"] })
    #expect(Just(1).zip(Just(2), Just(3), Just(4)) == Publishers.Zip4(Just(1), Just(2), Just(3), Just(4)))
  }

  // MARK: - Until output

  @Test func theOtherPublisherIsAskedForOneValueBeforeTheUpstream() {
    for publisher in [
      a.prefix(untilOutputFrom: b).eraseToAnyPublisher(), a.drop(untilOutputFrom: b).eraseToAnyPublisher(),
    ] {
      let probe = publisher.probe(.max(4))
      #expect(b.asked.last == "max(1)")
      probe.subscription?.request(.max(2))
      #expect(a.asked.suffix(2) == ["max(4)", "max(2)"])
    }
  }

  @Test func prefixEndsAndDropBeginsWithTheFirstValueOfTheOther() {
    let (upstream, other) = (PassthroughSubject<Int, Oops>(), PassthroughSubject<Int, Oops>())
    let before = upstream.prefix(untilOutputFrom: other).probe()
    let after = upstream.drop(untilOutputFrom: other).probe()

    upstream.send(1)
    other.send(0)
    upstream.send(2)
    other.send(completion: .failure(Oops(number: 1)))

    #expect(before.values == [1] && before.isFinished)
    #expect(after.values == [2] && after.completions.isEmpty)
  }
}
