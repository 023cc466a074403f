import MartletCombine
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ValuesTests {
  @Test func oneValueIsRequestedAtATime() async {
    let requests = Log<Subscribers.Demand>()
    var values: [Int] = []
    for await value in [1, 2, 3].publisher.handleEvents(receiveRequest: { requests.append($0) }).values {
      values.append(value)
    }

    #expect(values == [1, 2, 3])
    #expect(requests.entries.allSatisfy { $0 == .max(1) })
  }

  @Test func aFailureIsThrownOnceAndThenThereIsNothing() async throws {
    var iterator = Fail<Int, Oops>(error: Oops(number: 1)).values.makeAsyncIterator()
    await #expect(throws: Oops(number: 1)) { _ = try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test func severalCallsWaitAtTheSameTime() async {
    let subject = PassthroughSubject<Int, Never>()
    let (requests, report) = AsyncStream.makeStream(of: Void.self)
    let values = subject.handleEvents(receiveRequest: { _ in report.yield() }).values
    let iterator = Unchecked(values.makeAsyncIterator())
    let calls = (0..<3).map { _ in
      Task {
        var copy = iterator.value
        return await copy.next()
      }
    }
    var requested = requests.makeAsyncIterator()
    for _ in calls { await requested.next() }

    for number in 1...3 { subject.send(number) }

    var received: [Int?] = []
    for call in calls { received.append(await call.value) }
    #expect(received.compactMap { $0 }.sorted() == [1, 2, 3])
  }

  @Test func leavingTheLoopCancelsTheSubscription() async {
    let cancels = Log<Int>()
    let subject = CurrentValueSubject<Int, Never>(1)

    for await _ in subject.handleEvents(receiveCancel: { cancels.append(1) }).values { break }

    #expect(cancels.entries == [1])
  }

  @Test func cancellingTheTaskEndsTheLoop() async {
    let (requests, report) = AsyncStream.makeStream(of: Void.self)
    let waiting = Task {
      let silent = PassthroughSubject<Int, Never>().handleEvents(receiveRequest: { _ in report.yield() })
      for await _ in silent.values {}
      return true
    }
    for await _ in requests { break }

    waiting.cancel()

    #expect(await waiting.value)
  }

  /// A publisher without values, which fails when its subscription is cancelled.
  private struct FailingAtCancellation: Publisher {
    typealias Output = Int
    typealias Failure = Oops

    final class Connection: Subscription {
      private let subscriber: AnySubscriber<Int, Oops>
      private let onRequest: () -> Void

      init(_ subscriber: AnySubscriber<Int, Oops>, onRequest: @escaping () -> Void) {
        (self.subscriber, self.onRequest) = (subscriber, onRequest)
      }

      func request(_ demand: Subscribers.Demand) { onRequest() }

      func cancel() { subscriber.receive(completion: .failure(Oops(number: 1))) }
    }

    let onRequest: () -> Void

    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {
      subscriber.receive(subscription: Connection(AnySubscriber(subscriber), onRequest: onRequest))
    }
  }

  @Test func theFailureThatACancellationCausesIsNotThrown() async throws {
    let (requests, report) = AsyncStream.makeStream(of: Void.self)
    let waiting = Task {
      var iterator = FailingAtCancellation(onRequest: { report.yield() }).values.makeAsyncIterator()
      let first = try await iterator.next()
      let second = try await iterator.next()
      return first == nil && second == nil
    }
    for await _ in requests { break }

    waiting.cancel()

    #expect(try await waiting.value)
  }

  @Test func valuesNeedNotBeSendable() async {
    final class Box {
      var number = 1
    }
    var numbers: [Int] = []
    for await box in Just(Box()).values { numbers.append(box.number) }

    #expect(numbers == [1])
  }
}
