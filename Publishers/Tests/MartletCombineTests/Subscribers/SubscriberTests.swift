import MartletCombine
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SubscriberTests {
  private final class Source: Subscription {
    private(set) var calls: [String] = []
    func request(_ demand: Subscribers.Demand) { calls.append("request \(demand)") }
    func cancel() { calls.append("cancel") }
  }

  // MARK: - Demand

  private static let demands: [Subscribers.Demand] = [.none, .max(1), .max(3), .max(.max), .unlimited]

  @Test func demandsAddUpAndNeverFallBelowNone() {
    #expect(Subscribers.Demand.max(1) + .max(2) == .max(3))
    #expect(.max(.max) + 1 == Subscribers.Demand.unlimited)
    #expect(.max(3) - 5 == Subscribers.Demand.none)
    #expect(.max(3) - .unlimited == Subscribers.Demand.none)
    #expect(.unlimited - .unlimited == Subscribers.Demand.unlimited)
    #expect(.max(3) * 4 == Subscribers.Demand.max(12))
    #expect(.max(.max) * 2 == Subscribers.Demand.unlimited)
    #expect(.unlimited * 0 == Subscribers.Demand.unlimited)
    var demand = Subscribers.Demand.max(2)
    demand *= 5
    demand += 1
    demand -= .max(4)
    #expect(demand == 7)
  }

  @Test(arguments: demands, demands)
  func demandsCompareLikeNumbersAndUnlimitedIsTheLargest(_ left: Subscribers.Demand, _ right: Subscribers.Demand) {
    let (one, other) = (left.max.map(Double.init) ?? .infinity, right.max.map(Double.init) ?? .infinity)
    #expect((left < right) == (one < other) && (left <= right) == (one <= other))
    #expect((left > right) == (one > other) && (left >= right) == (one >= other))
    #expect((left == right) == (one == other))
    guard let number = right.max else { return }
    #expect((left < number) == (one < other) && (left <= number) == (one <= other))
    #expect((left > number) == (one > other) && (left >= number) == (one >= other))
    #expect((left == number) == (one == other) && (left != number) == (one != other))
    #expect((number < left) == (other < one) && (number <= left) == (other <= one))
    #expect((number > left) == (other > one) && (number >= left) == (other >= one))
  }

  // MARK: - Sink and assign

  @Test func aSinkRequestsEverythingAndAcceptsOneSubscription() {
    let sink = Subscribers.Sink<Int, Never>(receiveCompletion: { _ in }, receiveValue: { _ in })
    let (first, second, late) = (Source(), Source(), Source())

    sink.receive(subscription: first)
    sink.receive(subscription: second)
    sink.receive(completion: .finished)
    sink.receive(subscription: late)

    #expect(first.calls == ["request unlimited"])
    #expect(second.calls == ["cancel"] && late.calls == ["cancel"])
  }

  @Test func aSinkThatWasCancelledBeforeItsSubscriptionCancelsIt() {
    let source = Source()
    let sink = Subscribers.Sink<Int, Never>(receiveCompletion: { _ in }, receiveValue: { _ in })

    sink.cancel()
    sink.receive(subscription: source)

    #expect(source.calls == ["cancel"])
  }

  @Test(arguments: ["finish", "cancel"])
  func aSinkReleasesItsClosuresAtTheEnd(_ ending: String) {
    var sink: Subscribers.Sink<Int, Never>?
    let released = isReleased { owned in
      let made = Subscribers.Sink<Int, Never>(receiveCompletion: { _ in _ = owned }, receiveValue: { _ in _ = owned })
      made.receive(subscription: Source())
      if ending == "finish" { made.receive(completion: .finished) } else { made.cancel() }
      sink = made
    }

    #expect(released)
    withExtendedLifetime(sink) {}
  }

  private final class Target {
    var number = 0
    let owned: Owned?
    init(_ owned: Owned? = nil) { self.owned = owned }
  }

  @Test func assignSetsThePropertyUntilTheEndAndReleasesTheObject() {
    let subject = PassthroughSubject<Int, Never>()
    var subscription: AnyCancellable?
    let released = isReleased { owned in
      let target = Target(owned)
      subscription = subject.assign(to: \.number, on: target)
      subject.send(3)
      #expect(target.number == 3)
      subject.send(completion: .finished)
    }

    #expect(released)
    withExtendedLifetime(subscription) {}
  }

  // MARK: - Type-erased subscribers

  @Test func anErasedSubscriberIsTheSubscriberThatItErases() {
    let probe = Probe<Int, Never>(asking: .max(2)) { _ in .max(4) }
    let erased = AnySubscriber(AnySubscriber(probe))

    erased.receive(subscription: Subscriptions.empty)

    #expect(erased.receive(1) == .max(4))
    #expect(erased.combineIdentifier == probe.combineIdentifier)
    #expect(probe.values == [1])
  }

  @Test func aSubscriberOfClosuresRequestsWhatTheyReturn() {
    let seen = Log<String>()
    let subscriber = AnySubscriber<Int, Never>(
      receiveSubscription: { $0.request(.max(1)) },
      receiveValue: { value in
        seen.append("\(value)")
        return value == 1 ? .max(1) : .none
      }, receiveCompletion: { _ in seen.append("end") })

    [1, 2, 3].publisher.subscribe(subscriber)

    #expect(seen.entries == ["1", "2"])
    #expect(AnySubscriber<Int, Never>().receive(1) == .none)
  }

  @Test func anErasedSubjectSendsWhatItReceives() {
    let subject = PassthroughSubject<Int, Never>()
    let probe = subject.probe()

    [1, 2].publisher.subscribe(AnySubscriber(subject))

    #expect(probe.values == [1, 2] && probe.isFinished)
  }

  @Test func identifiersOfValuesAreUniqueAndThoseOfObjectsStay() {
    let object = Target()
    #expect(CombineIdentifier() != CombineIdentifier())
    #expect(CombineIdentifier(object) == CombineIdentifier(object))
  }
}
