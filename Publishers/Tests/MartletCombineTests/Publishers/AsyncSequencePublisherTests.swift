import MartletCombine
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AsyncSequencePublisherTests {
  @Test func elementsFollowRequestsAndTheEndIsTheCompletion() async throws {
    var values: [Int] = []
    for try await value in AsyncSequencePublisher(Numbers(limit: 5)).values { values.append(value) }
    #expect(values == [1, 2, 3, 4, 5])
  }

  @Test func anErrorIsTheFailure() async throws {
    let publisher = AsyncSequencePublisher(Numbers(limit: 2, error: Oops(number: 7)))
    var values: [Int] = []
    let error = await #expect(throws: Oops.self) {
      for try await value in publisher.values { values.append(value) }
    }
    #expect(values == [1, 2] && error == Oops(number: 7))
  }

  @Test func anElementIsAskedForOnlyWhenItWasRequested() async throws {
    let numbers = Numbers(limit: 10)
    let received = Awaitable<[Int]>([])
    let probe = Requests(received)
    AsyncSequencePublisher(numbers).subscribe(probe)
    #expect(numbers.asked.value == 0)
    probe.request(3)
    #expect(try await received.wait { $0.count == 3 ? $0 : nil } == [1, 2, 3])
    #expect(numbers.asked.value == 3)
    probe.request(1)
    #expect(try await received.wait { $0.count == 4 ? $0 : nil } == [1, 2, 3, 4])
    #expect(numbers.asked.value == 4)
  }

  @Test func aCancelledSubscriptionCancelsTheIteration() async throws {
    let isCancelled = Awaitable(false)
    let started = Awaitable(false)
    let sequence = AsyncStream<Int> {
      started.update { $0 = true }
      await withTaskCancellationHandler {
        try? await Gate().wait()
      } onCancel: {
        isCancelled.update { $0 = true }
      }
      return nil
    }
    let subscription = AsyncSequencePublisher(sequence).sink { _ in
    } receiveValue: { _ in
    }
    _ = try await started.wait { $0 ? true : nil }
    subscription.cancel()
    #expect(try await isCancelled.wait { $0 ? true : nil })
  }
}

/// Counts, and how often it was asked.
private struct Numbers: AsyncSequence, Sendable {
  typealias Element = Int
  typealias Failure = Oops

  let limit: Int
  var error: Oops?
  let asked = Awaitable(0)

  func makeAsyncIterator() -> Iterator { Iterator(numbers: self) }

  struct Iterator: AsyncIteratorProtocol {
    let numbers: Numbers
    var last = 0

    mutating func next(isolation actor: isolated (any Actor)?) async throws(Oops) -> Int? {
      numbers.asked.update { $0 += 1 }
      last += 1
      if last <= numbers.limit { return last }
      if let error = numbers.error { throw error }
      return nil
    }

    mutating func next() async throws(Oops) -> Int? { try await next(isolation: nil) }
  }
}

/// A subscriber that requests values when it is told to.
private final class Requests: Subscriber, @unchecked Sendable {
  // SAFETY: the test requests only after the subscription has arrived, which it does on the test's thread.
  typealias Input = Int
  typealias Failure = Oops

  private let received: Awaitable<[Int]>
  private var subscription: (any Subscription)?

  init(_ received: Awaitable<[Int]>) { self.received = received }

  func request(_ count: Int) { subscription?.request(.max(count)) }

  func receive(subscription: any Subscription) { self.subscription = subscription }

  func receive(_ value: Int) -> Subscribers.Demand {
    received.update { $0.append(value) }
    return .none
  }

  func receive(completion: Subscribers.Completion<Oops>) {}
}
