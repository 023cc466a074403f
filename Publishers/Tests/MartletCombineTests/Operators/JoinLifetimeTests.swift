import MartletCombine
import Testing

extension Owned {
  /// Returns the value: a closure that calls this holds the object.
  fileprivate func passing<Value>(_ value: Value) -> Value { value }
}

/// What operators with several upstreams, and those with a scheduler, release at the end: closures and values, their
/// upstreams and the publishers that they subscribe to, and the subscriber.
@Suite(.timeLimit(.minutes(5)))
struct JoinLifetimeTests {
  typealias Numbers = Source<Int, Oops>

  enum End: CaseIterable {
    case finished, failed, otherFailed, cancelled
  }

  /// What must be gone after the end.
  struct Witnesses: @unchecked Sendable {
    // SAFETY: used by one test.
    weak var owned: Owned?
    weak var value: Owned?
    weak var upstream: Numbers.Subscription?
    weak var other: Numbers.Subscription?
    weak var downstream: AnyObject?
    /// What a subscriber may keep after the end.
    var subscription: (any Subscription)?
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable (End, Subscribers.Demand) -> Witnesses

    /// - Parameter make: makes the publisher from a source, another one, an object that the operator is to hold, and a
    ///   scheduler.
    init<P: Publisher & SendableMetatype>(
      _ name: String, _ make: @escaping @Sendable (Numbers, Numbers, Owned, ManualScheduler) -> P
    ) {
      testDescription = name
      run = { end, demand in
        let (source, other, owned, scheduler) = (Numbers(), Numbers(), Owned(), ManualScheduler())
        let keeper = Keeper<P.Output, P.Failure>(asking: demand)
        make(source, other, owned, scheduler).subscribe(keeper)
        for value in 1...3 { source.send(value) }
        scheduler.advance(by: .milliseconds(1))
        other.send(4)
        source.send(5)
        var witnesses = Witnesses(
          owned: owned, upstream: source.subscription, other: other.subscription, downstream: keeper)
        switch end {
        case .finished:
          source.send(completion: .finished)
          other.send(completion: .finished)
        case .failed: source.send(completion: .failure(Oops(number: 1)))
        case .otherFailed:
          other.send(completion: .failure(Oops(number: 1)))
          keeper.subscription?.cancel()  // Not every operator ends with the other publisher.
        case .cancelled: keeper.subscription?.cancel()
        }
        scheduler.advance(by: .seconds(100))
        if demand != .unlimited { keeper.subscription?.cancel() }  // A completion may wait for values.
        witnesses.subscription = keeper.subscription
        return witnesses
      }
    }
  }

  /// A subscriber that keeps its subscription after the end.
  private final class Keeper<Input, Failure: Error>: Subscriber {
    private(set) var subscription: (any Subscription)?
    private let demand: Subscribers.Demand

    init(asking demand: Subscribers.Demand) { self.demand = demand }

    func receive(subscription: any Subscription) {
      self.subscription = subscription
      if demand > .none { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand { .none }

    func receive(completion: Subscribers.Completion<Failure>) {}
  }

  static let joins: [Case] = [
    Case("flatMap") { a, b, owned, _ in a.filter { $0 == 3 }.flatMap { _ in owned.passing(b) } },
    Case("flatMap(maxPublishers: 1)") { a, b, owned, _ in
      a.filter { $0 == 3 }.flatMap(maxPublishers: .max(1)) { _ in owned.passing(b) }
    },
    Case("children of flatMap") { a, b, owned, _ in
      [a, b].publisher.flatMap { source in source.map { (owned, $0) } }
    },
    Case("switchToLatest") { a, b, owned, _ in a.map { _ in owned.passing(b) }.switchToLatest() },
    Case("merge") { a, b, owned, _ in a.map { (owned, $0) }.merge(with: b.map { (owned, $0) }) },
    Case("MergeMany") { a, b, owned, _ in
      Publishers.MergeMany([a, b].map { source in source.map { (owned, $0) } })
    },
    Case("zip") { a, b, owned, _ in a.map { (owned, $0) }.zip(b) { (owned, $0, $1) } },
    Case("zip of 3") { a, b, owned, _ in a.map { (owned, $0) }.zip(b, Just(1).setFailureType(to: Oops.self)) },
    Case("zip of 4") { a, b, owned, _ in
      a.map { (owned, $0) }.zip(
        b, Just(1).setFailureType(to: Oops.self), Record(output: [1, 2], completion: .finished)
      ) {
        (owned, $0, $1, $2, $3)
      }
    },
    Case("combineLatest") { a, b, owned, _ in a.map { (owned, $0) }.combineLatest(b) { (owned, $0, $1) } },
    Case("combineLatest of 4") { a, b, owned, _ in
      a.map { (owned, $0) }.combineLatest(b, Just(1).setFailureType(to: Oops.self), Empty<Int, Oops>())
    },
    Case("prefix(untilOutputFrom:)") { a, b, owned, _ in
      a.map { (owned, $0) }.prefix(untilOutputFrom: b.filter { _ in owned.passing(false) })
    },
    Case("drop(untilOutputFrom:)") { a, b, owned, _ in
      a.map { (owned, $0) }.drop(untilOutputFrom: b.map { (owned, $0) })
    },
  ]

  static let buffers: [Case] = [
    Case("buffer") { a, _, owned, _ in
      a.map { (owned, $0) }.buffer(size: 2, prefetch: .byRequest, whenFull: .dropOldest)
    },
    Case("buffer with an error") { a, _, owned, _ in
      a.map { (owned, $0) }.buffer(
        size: 2, prefetch: .keepFull, whenFull: .customError { owned.passing(Oops(number: 1)) })
    },
  ]

  static let timed: [Case] = [
    Case("receive(on:)") { a, _, owned, scheduler in a.map { (owned, $0) }.receive(on: scheduler) },
    Case("subscribe(on:)") { a, _, owned, scheduler in a.map { (owned, $0) }.subscribe(on: scheduler) },
    Case("delay") { a, _, owned, scheduler in a.map { (owned, $0) }.delay(for: 5, scheduler: scheduler) },
    Case("debounce") { a, _, owned, scheduler in a.map { (owned, $0) }.debounce(for: 5, scheduler: scheduler) },
    Case("throttle") { a, _, owned, scheduler in
      a.map { (owned, $0) }.throttle(for: 5, scheduler: scheduler, latest: true)
    },
    Case("timeout") { a, _, owned, scheduler in
      a.map { (owned, $0) }.timeout(5, scheduler: scheduler) { owned.passing(Oops(number: 1)) }
    },
    Case("collect(.byTime)") { a, _, owned, scheduler in a.map { (owned, $0) }.collect(.byTime(scheduler, 5)) },
    Case("collect(.byTimeOrCount)") { a, _, owned, scheduler in
      a.map { (owned, $0) }.collect(.byTimeOrCount(scheduler, 5, 3))
    },
  ]

  @Test(arguments: joins + buffers + timed, End.allCases)
  func nothingIsKeptAfterTheEnd(of operation: Case, end: End) {
    for demand in [Subscribers.Demand.unlimited, .max(1), .none] {
      let witnesses = operation.run(end, demand)
      #expect(witnesses.owned == nil, "closures or values, \(demand)")
      #expect(witnesses.upstream == nil && witnesses.other == nil, "upstreams, \(demand)")
      #expect(witnesses.downstream == nil, "the subscriber, \(demand)")
    }
  }

  /// A stream that takes long: its publishers end one after another.
  @Test func aFlatMapKeepsNothingOfAPublisherThatHasEnded() {
    let outer = Source<Publishers.Map<Numbers, Int>, Oops>()
    let probe = outer.flatMap { $0 }.probe()
    weak var child: Numbers.Subscription?

    let isGone = isReleased { owned in
      let source = Numbers()
      outer.send(source.map { owned.passing($0) })
      child = source.subscription
      source.send(1)
      source.send(completion: .finished)
    }

    #expect(isGone && child == nil && probe.values == [1])
  }

  @Test func aTriggerThatLivesOnKeepsNoSubscriber() {
    let trigger = PassthroughSubject<Void, Oops>()
    let upstream = PassthroughSubject<Int, Oops>()

    let isGone = isReleased { owned in
      let probe = upstream.map { owned.passing($0) }.drop(untilOutputFrom: trigger.map { owned.passing($0) }).probe()
      trigger.send()
      upstream.send(1)
      probe.subscription?.cancel()
      #expect(probe.values == [1])
    }

    #expect(isGone)
  }

  /// A publisher that keeps its subscriber for ever.
  private final class Clinging<Output>: Publisher {
    typealias Failure = Never
    private(set) var send: ((Output) -> Void)?

    func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
      send = { _ = subscriber.receive($0) }
      subscriber.receive(subscription: Subscriptions.empty)
    }
  }

  @Test(arguments: 0..<9)
  func aPublisherThatKeepsItsSubscriberKeepsNoValueOfIt(number: Int) {
    let scheduler = ManualScheduler()
    let source = Clinging<Owned>()
    let never = Empty<Owned, Never>(completeImmediately: false)
    let operators: [AnyPublisher<Int, Never>] = [
      source.merge(with: never).map { _ in 1 }.eraseToAnyPublisher(),
      source.zip(never).map { _ in 1 }.eraseToAnyPublisher(),
      source.combineLatest(never).map { _ in 1 }.eraseToAnyPublisher(),
      source.buffer(size: 9, prefetch: .byRequest, whenFull: .dropNewest).map { _ in 1 }.eraseToAnyPublisher(),
      source.receive(on: scheduler).map { _ in 1 }.eraseToAnyPublisher(),
      source.debounce(for: 5, scheduler: scheduler).map { _ in 1 }.eraseToAnyPublisher(),
      source.throttle(for: 5, scheduler: scheduler, latest: true).map { _ in 1 }.eraseToAnyPublisher(),
      source.collect(.byTime(scheduler, 5)).map { _ in 1 }.eraseToAnyPublisher(),
      source.timeout(5, scheduler: scheduler).map { _ in 1 }.eraseToAnyPublisher(),
    ]
    // Some keep what is requested, others what is not.
    for demand in [Subscribers.Demand.none, .unlimited] {
      let probe = operators[number].probe(demand)

      let isGone = isReleased { owned in
        source.send?(owned)
        probe.subscription?.cancel()
      }

      #expect(isGone)
    }
  }

  // MARK: - While work is scheduled

  /// A publisher that does not keep its subscriber.
  private struct Forgetful: Publisher {
    typealias Output = Int
    typealias Failure = Never

    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Never {
      subscriber.receive(subscription: Subscriptions.empty)
      _ = subscriber.receive(1)
    }
  }

  @Test(arguments: [true, false])
  func throttledWorkDoesNotKeepTheSubscriberAndDelayedWorkDoes(isThrottled: Bool) {
    let scheduler = ManualScheduler()
    weak var witness: Owned?
    do {
      let owned = Owned()
      witness = owned
      let publisher =
        isThrottled
        ? Forgetful().throttle(for: 5, scheduler: scheduler, latest: true).eraseToAnyPublisher()
        : Forgetful().debounce(for: 5, scheduler: scheduler).eraseToAnyPublisher()
      publisher.subscribe(
        AnySubscriber(receiveSubscription: { $0.request(.unlimited) }, receiveValue: { _ in owned.passing(.none) }))
    }
    #expect((witness == nil) == isThrottled)

    scheduler.advance(by: .seconds(5))

    #expect(witness == nil)
  }

  @Test func aCancellationReleasesTheValuesOfScheduledWork() {
    let scheduler = ManualScheduler()
    let source = Source<Owned, Oops>()
    let probes = [
      source.receive(on: scheduler).eraseToAnyPublisher(),
      source.delay(for: 5, scheduler: scheduler).eraseToAnyPublisher(),
    ].map { publisher in
      let probe = publisher.probe()
      let isGone = isReleased { owned in
        source.send(owned)
        probe.subscription?.cancel()
      }
      #expect(isGone)
      return probe
    }

    scheduler.advance(by: .seconds(5))

    #expect(probes.allSatisfy { $0.values.isEmpty })
  }
}
