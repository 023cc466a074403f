import MartletCombine
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LatestPublisherTests {
  @Test func aStreamIsCreatedWithTheFirstDemandOfEachSubscriber() async {
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
    for asker in askers { await asker.end() }

    #expect(made.withLock { $0 } == 2)
    withExtendedLifetime(idle) {}
  }

  @Test func onlyTheLatestOfUnrequestedValuesIsKept() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let (end, reportEnd) = AsyncStream.makeStream(of: Void.self)
    let asker = Asker(.max(1))
    LatestPublisher {
      AsyncStream {
        var values = stream.makeAsyncIterator()
        let value = await values.next()
        if value == nil { reportEnd.finish() }
        return value
      }
    }.subscribe(asker)

    for value in 1...5 { continuation.yield(value) }
    continuation.finish()
    for await _ in end {}
    #expect(asker.values == [1])
    asker.ask(.max(5))
    await asker.end()

    #expect(asker.values == [1, 5])
  }

  @Test func cancellingTheSubscriptionReleasesTheStream() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let (ends, reportEnd) = AsyncStream.makeStream(of: AsyncStream<Int>.Continuation.Termination.self)
    continuation.onTermination = { reportEnd.yield($0) }
    let subscription = LatestPublisher { stream }.sink { _ in }

    subscription.cancel()

    #expect(await ends.first { _ in true } == .cancelled)
  }

  /// A subscriber that requests values explicitly, and can be read while it receives values.
  // SAFETY: `state` is only touched while `mutex` is held.
  private final class Asker: Subscriber, @unchecked Sendable {
    private let mutex = Mutex(())
    private var state: (subscription: (any Subscription)?, values: [Int]) = (nil, [])
    private let (completion, complete) = AsyncStream.makeStream(of: Void.self)
    private let initial: Subscribers.Demand

    init(_ initial: Subscribers.Demand) { self.initial = initial }

    var values: [Int] { mutex.withLock { _ in state.values } }

    /// Suspends until the publisher has completed.
    func end() async { for await _ in completion {} }

    func receive(subscription: any Subscription) {
      mutex.withLock { _ in state.subscription = subscription }
      ask(initial)
    }

    func ask(_ demand: Subscribers.Demand) { state.subscription?.request(demand) }

    func receive(_ input: Int) -> Subscribers.Demand {
      mutex.withLock { _ in state.values.append(input) }
      return .none
    }

    func receive(completion: Subscribers.Completion<Never>) { complete.finish() }
  }
}
