import Dispatch
@_spi(Toolkit) import MartletCombine
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LifetimeTests {
  @Test func aTaskBeginsWithTheFirstDemandOfEachSubscriber() async throws {
    let runs = Atomic(0)
    let work = TaskPublisher { () -> Int in runs.add(1, ordering: .relaxed).newValue }
    let idle = work.probe(.none)
    #expect(runs.load(ordering: .relaxed) == 0)

    for try await number in work.values { #expect(number == 1) }
    for try await number in work.values { #expect(number == 2) }

    #expect(idle.values == [])
  }

  @Test func releasingTheSubscriptionCancelsTheTask() async {
    let (cancelled, told) = AsyncStream.makeStream(of: Void.self)
    let (begun, tellBegun) = AsyncStream.makeStream(of: Void.self)
    let work = TaskPublisher { () async throws -> Int in
      tellBegun.yield()
      return try await withTaskCancellationHandler {
        try await Task.sleep(for: .seconds(3600))
        return 1
      } onCancel: {
        told.yield()
      }
    }

    var subscription: AnyCancellable? = work.sink { _ in
      Issue.record("a cancelled publisher must not complete")
    } receiveValue: { _ in
    }
    for await _ in begun { break }
    withExtendedLifetime(subscription) {}
    subscription = nil

    for await _ in cancelled { break }
  }

  @Test func theFailureThatACancellationCausesIsNotDelivered() {
    let publisher = CallbackPublisher<Int, Oops>("Test", starting: .withTheSubscription) { receiver in
      return { receiver.finish(.failure(Oops(number: 1))) }
    }
    let probe = publisher.probe()

    probe.subscription?.cancel()

    #expect(probe.completions.isEmpty)
  }

  @Test func anUnusedSubscriptionReleasesTheWork() {
    final class Owned: Sendable {}
    /// A subscriber that requests nothing and does not keep its subscription.
    final class Careless<Failure: Error>: Subscriber {
      func receive(subscription: any Subscription) {}
      func receive(_ input: Int) -> Subscribers.Demand { .none }
      func receive(completion: Subscribers.Completion<Failure>) {}
    }
    weak var ofTask: Owned?
    weak var ofStream: Owned?
    do {
      let (one, other) = (Owned(), Owned())
      (ofTask, ofStream) = (one, other)
      TaskPublisher { () async throws(Oops) -> Int in withExtendedLifetime(one) { 1 } }
        .receive(subscriber: Careless<Oops>())
      LatestPublisher { withExtendedLifetime(other) { AsyncStream<Int> { $0.finish() } } }
        .receive(subscriber: Careless<Never>())
    }

    #expect(ofTask == nil)
    #expect(ofStream == nil)
  }

  @Test func anErrorOfTheTaskIsTheFailureOfThePublisher() async {
    let work = TaskPublisher { () throws(Oops) -> Int in throw Oops(number: 4) }
    await #expect(throws: Oops(number: 4)) {
      for try await _ in work.values {}
    }
  }

  @Test func valuesCanBeAwaitedAndEndWithTheTask() async throws {
    var seen: [Int] = []
    for await number in [1, 2, 3].publisher.values { seen.append(number) }
    #expect(seen == [1, 2, 3])

    let endless = PassthroughSubject<Int, Never>()
    let publisher = Sent(endless)
    let waiting = Task { for try await _ in publisher.subject.values {} }
    waiting.cancel()
    try await waiting.value
  }

  private final class Sent: @unchecked Sendable {
    // SAFETY: a subject may be used from any thread.
    let subject: PassthroughSubject<Int, Never>
    init(_ subject: PassthroughSubject<Int, Never>) { self.subject = subject }
  }

  @Test func aFutureKeepsItsResultForLaterSubscribers() {
    nonisolated(unsafe) var promise: Future<Int, Oops>.Promise?
    let future = Future<Int, Oops> { promise = $0 }
    let early = future.probe()
    promise?(.success(1))
    promise?(.success(2))

    #expect(early.values == [1] && early.isFinished)
    #expect(future.all == [1])
  }

  @Test func aFutureKeepsNoSubscriptionThatIsCancelledAsItArrives() {
    let future = Future<Int, Oops> { _ in }
    weak var subscription: (any Subscription & AnyObject)?
    let subscriber = AnySubscriber<Int, Oops>(receiveSubscription: { arrived in
      subscription = arrived as? any Subscription & AnyObject
      #expect(subscription != nil)
      arrived.cancel()
    })

    future.subscribe(subscriber)

    #expect(subscription == nil)
    withExtendedLifetime(future) {}
  }

  @Test func aPublisherWithoutValuesTimesOut() {
    let silent = PassthroughSubject<Int, Oops>()
    let failing = silent.timeout(.seconds(5), scheduler: ImmediateScheduler.shared) { Oops(number: 3) }.probe()
    let ending = silent.timeout(.seconds(5), scheduler: ImmediateScheduler.shared).probe()

    #expect(failing.failure == Oops(number: 3))
    #expect(ending.isFinished)
  }

  @Test func nothingIsRetainedAfterTheEnd() {
    final class Witness {}
    weak var witness: Witness?
    var kept: Set<AnyCancellable> = []
    do {
      let object = Witness()
      witness = object
      let subject = CurrentValueSubject<Int, Never>(1)
      subject.map { [object] number in (object, number) }.flatMap { Just($0.1) }.share().sink { _ in }.store(in: &kept)
      subject.zip(subject).handleEvents(receiveOutput: { [object] _ in _ = object }).sink { _ in }.store(in: &kept)
    }

    kept.removeAll()

    #expect(witness == nil)
  }
}
