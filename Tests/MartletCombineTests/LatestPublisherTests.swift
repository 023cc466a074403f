import MartletCombine
import Synchronization
import Testing

@Suite("The latest value of a stream", .timeLimit(.minutes(5)))
struct LatestPublisherTests {
  @Test func streamIsMadeWithTheFirstDemandAndAnewForEverySubscriber() async {
    let made = Mutex(0)
    let publisher = LatestPublisher {
      made.withLock { $0 += 1 }
      return AsyncStream<Int> { $0.finish() }
    }
    let idle = Asker(.none)
    publisher.subscribe(idle)
    #expect(made.withLock { $0 } == 0)

    let askers = [Asker(.unlimited), Asker(.unlimited)]
    for asker in askers { publisher.subscribe(asker) }
    while !askers.allSatisfy(\.isFinished) { await Task.yield() }

    #expect(made.withLock { $0 } == 2)
    withExtendedLifetime(idle) {}
  }

  @Test func valueThatNobodyAskedForGivesWayToTheNextAndTheLastIsKept() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let taken = Mutex(0)
    let asker = Asker(.max(1))
    LatestPublisher {
      AsyncStream {
        var values = stream.makeAsyncIterator()
        let value = await values.next()
        taken.withLock { $0 += 1 }
        return value
      }
    }.subscribe(asker)

    for value in 1...5 { continuation.yield(value) }
    continuation.finish()
    while taken.withLock({ $0 }) < 6 { await Task.yield() }
    #expect(asker.values == [1])
    asker.ask(.max(5))
    while !asker.isFinished { await Task.yield() }

    #expect(asker.values == [1, 5])
  }

  @Test func cancelledSubscriptionGivesTheStreamUp() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let isOver = Atomic(false)
    continuation.onTermination = { _ in isOver.store(true, ordering: .relaxed) }
    let subscription = LatestPublisher { stream }.sink { _ in }

    subscription.cancel()

    while !isOver.load(ordering: .relaxed) { await Task.yield() }
  }

  /// A subscriber that asks by hand, and may be looked at while it is told.
  // SAFETY: `state` is only touched while `mutex` is held.
  private final class Asker: Subscriber, @unchecked Sendable {
    private let mutex = Mutex(())
    private var state: (subscription: (any Subscription)?, values: [Int], isFinished: Bool) = (nil, [], false)
    private let initial: Subscribers.Demand

    init(_ initial: Subscribers.Demand) { self.initial = initial }

    var values: [Int] { mutex.withLock { _ in state.values } }
    var isFinished: Bool { mutex.withLock { _ in state.isFinished } }

    func receive(subscription: any Subscription) {
      mutex.withLock { _ in state.subscription = subscription }
      ask(initial)
    }

    func ask(_ demand: Subscribers.Demand) { state.subscription?.request(demand) }

    func receive(_ input: Int) -> Subscribers.Demand {
      mutex.withLock { _ in state.values.append(input) }
      return .none
    }

    func receive(completion: Subscribers.Completion<Never>) { mutex.withLock { _ in state.isFinished = true } }
  }
}
