import Dispatch
import MartletCombine
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SubjectTests {
  private let passthrough = PassthroughSubject<Int, Oops>()
  private let current = CurrentValueSubject<Int, Oops>(0)

  // MARK: - Demand

  @Test func aValueThatWasNotRequestedIsDropped() {
    let probe = passthrough.probe(.max(1))

    passthrough.send(1)
    passthrough.send(2)
    probe.subscription?.request(.max(1))
    passthrough.send(3)

    #expect(probe.values == [1, 3])
  }

  @Test func aSubscriberWithoutDemandReceivesTheNewestCurrentValueOnly() {
    let probe = current.probe(.none)

    current.send(1)
    current.value = 2
    probe.subscription?.request(.max(1))
    probe.subscription?.request(.max(1))
    #expect(probe.values == [2])

    current.send(3)
    current.send(4)
    probe.subscription?.request(.max(1))

    #expect(probe.values == [2, 3, 4])
  }

  @Test func aValueThatIsSentWhileTheSubscriptionArrivesIsDelivered() {
    final class Eager: Subscriber {
      let subject: PassthroughSubject<Int, Oops>
      private(set) var values: [Int] = []
      init(_ subject: PassthroughSubject<Int, Oops>) { self.subject = subject }
      func receive(subscription: any Subscription) {
        subject.send(6)
        subscription.request(.max(1))
        subject.send(7)
        subscription.request(.max(1))
        subject.send(8)
      }
      func receive(_ input: Int) -> Subscribers.Demand {
        values.append(input)
        return .none
      }
      func receive(completion: Subscribers.Completion<Oops>) {}
    }
    let eager = Eager(passthrough)

    passthrough.subscribe(eager)

    #expect(eager.values == [7, 8])
  }

  // MARK: - The order of values

  @Test func aValueThatASubscriberSendsIsDeliveredWithinItsOwn() {
    let seen = Log<String>()
    let first = passthrough.sink { _ in
    } receiveValue: { [passthrough] value in
      if value == 1 { passthrough.send(2) }
      seen.append("A\(value)")
    }
    let second = passthrough.sink { _ in
    } receiveValue: {
      seen.append("B\($0)")
    }

    passthrough.send(1)

    #expect(seen.entries == ["A2", "B2", "A1", "B1"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func valuesOfSeveralThreadsReachAllSubscribersInOneOrder() async {
    let subject = CurrentValueSubject<Int, Never>(0)
    let probes = Unchecked((0..<4).map { _ in subject.probe() })

    await withTaskGroup(of: Void.self) { group in
      for thread in 1...4 {
        group.addTask { for number in 1...500 { subject.send(thread * 1_000 + number) } }
      }
    }

    #expect(probes.value[0].values.count == 2_001)
    #expect(probes.value.allSatisfy { $0.values == probes.value[0].values && $0.deepest == 1 })
    #expect(probes.value[0].values.last == subject.value)
  }

  @Test func aSubscriberMayWaitForAnotherThreadThatSends() async {
    let subject = PassthroughSubject<Int, Never>()
    let values = Unchecked(Log<Int>())
    let subscription = subject.sink { value in
      values.value.append(value)
      guard value == 1 else { return }
      let sent = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        subject.send(2)
        sent.signal()
      }
      sent.wait()
    }

    subject.send(1)

    #expect(values.value.entries == [1, 2])
    withExtendedLifetime(subscription) {}
  }

  // MARK: - The end

  @Test func nothingFollowsTheCompletion() {
    let probe = passthrough.probe()
    passthrough.send(completion: .failure(Oops(number: 1)))
    passthrough.send(completion: .finished)
    passthrough.send(1)

    let late = passthrough.probe()

    #expect(probe.failure == Oops(number: 1) && probe.completions.count == 1 && probe.values == [])
    #expect(late.failure == Oops(number: 1) && "\(late.subscription as Any)".contains("Empty"))
  }

  @Test func afterTheCompletionTheCurrentValueIsSetButNotSent() {
    let probe = current.probe()
    current.send(completion: .finished)

    current.send(1)
    #expect(current.value == 0)
    current.value = 2

    #expect(current.value == 2)
    #expect(probe.values == [0])
  }

  @Test func thousandsOfSubscribersLeaveInAnyOrder() {
    let subscriptions = (0..<20_000).map { _ in
      passthrough.sink { _ in
      } receiveValue: { _ in
      }
    }
    let last = passthrough.probe()
    for subscription in subscriptions.prefix(10_000) { subscription.cancel() }
    for subscription in subscriptions.suffix(10_000).reversed() { subscription.cancel() }

    passthrough.send(1)

    #expect(last.values == [1])
  }

  @Test func aSubjectThatIsReleasedCancelsWhatItWasAttachedTo() {
    let source = PassthroughSubject<Int, Oops>()
    let cancels = Log<String>()
    var subject: PassthroughSubject? = PassthroughSubject<Int, Oops>()
    var other: CurrentValueSubject? = CurrentValueSubject<Int, Oops>(0)
    let attachments = [
      source.handleEvents(receiveCancel: { cancels.append("passthrough") }).subscribe(subject!),
      source.handleEvents(receiveCancel: { cancels.append("current") }).subscribe(other!),
    ]

    subject = nil
    other = nil

    #expect(subject == nil && other == nil)
    #expect(cancels.entries == ["passthrough", "current"])
    withExtendedLifetime(attachments) {}
  }

  /// A publisher that delivers nothing, and counts the subscribers that still exist.
  private final class Silent: Publisher {
    typealias Output = Int
    typealias Failure = Oops
    private var subscribers: [() -> AnyObject?] = []

    var count: Int { subscribers.filter { $0() != nil }.count }

    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Oops {
      let object = subscriber as? any Subscriber & AnyObject
      subscribers.append { [weak object] in object }
      subscriber.receive(subscription: Subscriptions.empty)
    }
  }

  @Test func aSubjectDropsTheSubscriptionsThatHaveEnded() {
    let (source, silent) = (Source<Int, Oops>(), Silent())
    var subject: PassthroughSubject? = PassthroughSubject<Int, Oops>()
    let kept = [source.subscribe(subject!), silent.subscribe(subject!)]
    #expect(silent.count == 1)

    for _ in 1...1_000 { silent.subscribe(subject!).cancel() }

    #expect((1...20).contains(silent.count))
    #expect(source.asked == [])
    subject = nil
    #expect(subject == nil && source.asked == ["cancel"])
    withExtendedLifetime(kept) {}
  }

  @Test func aSubjectExistsAsLongAsSomebodyCanReceiveFromIt() {
    let probe = CurrentValueSubject<Int, Never>(5).probe(.none)

    probe.subscription?.request(.max(1))

    #expect(probe.values == [5])
  }

  @Test func aRequestedValueIsFollowedByNoOlderOne() {
    let subject = CurrentValueSubject<Int, Never>(0)
    let second = Probe<Int, Never>()
    let first = subject.sink { value in
      guard value == 1 else { return }
      onAnotherThread {  // 1 is on its way to the second subscriber
        subject.send(2)
        second.subscription?.request(.max(3))
      }
    }
    subject.subscribe(second)

    subject.send(1)
    subject.send(3)

    #expect(second.values == [2, 3])
    withExtendedLifetime(first) {}
  }

  @Test(arguments: ["finished", "failed", "cancelled"])
  func subjectAndSubscribersAreReleasedAtTheEnd(_ ending: String) {
    weak var subject: CurrentValueSubject<Int, Oops>?
    var subscription: AnyCancellable?
    let released = isReleased { owned in
      let made = CurrentValueSubject<Int, Oops>(1)
      subject = made
      subscription = made.sink { _ in
        _ = owned
      } receiveValue: { _ in
        _ = (owned, made)
      }
      switch ending {
      case "finished": made.send(completion: .finished)
      case "failed": made.send(completion: .failure(Oops(number: 1)))
      default: subscription?.cancel()
      }
    }

    #expect(released)
    #expect(subject == nil)
    withExtendedLifetime(subscription) {}
  }
}

/// A value that a test reads after the threads have ended that change it.
// SAFETY: see above.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
