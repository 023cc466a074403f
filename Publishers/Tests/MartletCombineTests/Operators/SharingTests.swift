import MartletCombine
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SharingTests {
  private let subject = PassthroughSubject<Int, Oops>()

  @Test func multicastDeliversNothingUntilItIsConnected() {
    let made = Log<Int>()
    let shared = [1, 2, 3].publisher.multicast { () -> PassthroughSubject<Int, Never> in
      made.append(1)
      return PassthroughSubject()
    }
    let (one, two) = (shared.probe(), shared.probe())
    #expect(one.values == [])

    let connection = shared.connect()

    #expect(one.values == [1, 2, 3] && two.values == [1, 2, 3])
    #expect(one.isFinished && two.isFinished && made.entries == [1])
    connection.cancel()
  }

  @Test func cancellingTheConnectionEndsDeliveriesButNoSubscription() {
    let shared = subject.multicast(subject: PassthroughSubject())
    let probe = shared.probe()
    let first = shared.connect()
    subject.send(1)

    first.cancel()
    subject.send(2)
    let second = shared.connect()
    subject.send(3)

    #expect(probe.values == [1, 3])
    second.cancel()
  }

  @Test func aConnectedSubjectRequestsNothingBeforeASubscriberDoes() {
    let asked = Log<Subscribers.Demand>()
    let shared = subject.handleEvents(receiveRequest: { asked.append($0) }).multicast(subject: PassthroughSubject())
    let probe = shared.probe(.none)
    let connection = shared.connect()
    #expect(asked.entries == [])

    probe.subscription?.request(.max(1))
    subject.send(1)
    subject.send(2)

    #expect(asked.entries == [.unlimited])
    #expect(probe.values == [1])
    connection.cancel()
  }

  @Test func autoconnectBeginsWithTheFirstAndEndsWithTheLast() {
    let seen = Log<String>()
    let shared = subject.handleEvents(
      receiveSubscription: { _ in seen.append("subscribed") }, receiveCancel: { seen.append("cancelled") }
    ).multicast { CurrentValueSubject(0) }.autoconnect()
    let one = shared.probe()
    let two = shared.probe()
    subject.send(1)
    one.subscription?.cancel()
    #expect(seen.entries == ["subscribed"])
    two.subscription?.cancel()
    let three = shared.probe()
    subject.send(2)

    #expect(seen.entries == ["subscribed", "cancelled", "subscribed"])
    #expect(two.values == [0, 1])
    #expect(three.values == [1, 2])
  }

  @Test func aConnectionIsCancelledIfTheSubscriberCancelsWhileConnecting() {
    let cancels = Log<Int>()
    let shared = subject.prepend(1).handleEvents(receiveCancel: { cancels.append(1) }).share()

    #expect(shared.first().probe().values == [1])

    #expect(cancels.entries == [1])
  }

  @Test func laterSubscribersReceiveTheCompletion() {
    let shared = subject.share()
    let early = shared.probe()
    subject.send(completion: .failure(Oops(number: 1)))

    #expect(early.failure == Oops(number: 1))
    #expect(shared.probe().failure == Oops(number: 1))
  }

  @Test func aConnectablePublisherWaitsForTheConnection() {
    let waiting = Just(1).makeConnectable()
    let probe = waiting.probe()
    #expect(probe.values == [])
    let connection = waiting.connect()
    #expect(probe.values == [1] && probe.isFinished)
    connection.cancel()
  }

  @Test func aCustomSubjectReceivesTheSubscription() {
    final class Own: Subject {
      typealias Output = Int
      typealias Failure = Oops
      var values: [Int] = []
      var subscription: (any Subscription)?
      func send(_ value: Int) { values.append(value) }
      func send(completion: Subscribers.Completion<Oops>) {}
      func send(subscription: any Subscription) { self.subscription = subscription }
      func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {}
    }
    let own = Own()
    let feed = [1, 2, 3].publisher.setFailureType(to: Oops.self).subscribe(own)
    #expect(own.values == [])

    own.subscription?.request(.max(2))

    #expect(own.values == [1, 2])
    feed.cancel()
  }
}
