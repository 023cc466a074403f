import MartletCombine
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ObservingTests {
  private final class Lines: TextOutputStream {
    private(set) var text = ""
    func write(_ string: String) { text += string }
  }

  @Test func everyEventIsPrintedOnALine() {
    let lines = Lines()
    let subject = PassthroughSubject<Int, Oops>()
    let probe = Probe<Int, Oops>(asking: .max(2)) { $0 == 1 ? .max(3) : .none }
    subject.print("numbers", to: lines).subscribe(probe)
    subject.send(1)
    probe.subscription?.request(.unlimited)
    subject.send(completion: .failure(Oops(number: 4)))
    Just(2).print(to: lines).probe(.none).subscription?.cancel()
    [1].publisher.setFailureType(to: Oops.self).print(to: lines).probe().subscription?.cancel()

    #expect(
      lines.text == """
        numbers: receive subscription: (PassthroughSubject)
        numbers: request max: (2)
        numbers: receive value: (1)
        numbers: request max: (3) (synchronous)
        numbers: request unlimited
        numbers: receive error: (Oops(number: 4))
        receive subscription: (Just)
        receive cancel
        receive subscription: ([1])
        request unlimited
        receive value: (1)
        receive finished

        """)
  }

  @Test func demandIsSeenBeforeItIsPassedOn() {
    let seen = Log<String>()
    let source = Source<Int, Never>()
    let probe = Probe<Int, Never>(asking: .max(1)) { _ in .max(2) }
    source.handleEvents(receiveRequest: { seen.append("\($0), upstream has \(source.asked)") }).subscribe(probe)
    source.send(1)

    #expect(seen.entries == ["max(1), upstream has []", "max(2), upstream has [\"max(1)\"]"])
    #expect(source.asked == ["max(1)"])
  }

  @Test func aCancellationIsSeenOnceAndBeforeUpstreamIsCancelled() {
    let seen = Log<[String]>()
    let source = Source<Int, Never>()
    let probe = source.handleEvents(receiveCancel: { seen.append(source.asked) }).probe()

    probe.subscription?.cancel()
    probe.subscription?.cancel()

    #expect(seen.entries == [["unlimited"]])
    #expect(source.asked == ["unlimited", "cancel"])
  }

  @Test func aValueThatIsCancelledByAnObserverIsNotDelivered() {
    nonisolated(unsafe) var cancel: (() -> Void)?
    let source = Source<Int, Never>()
    let probe = source.handleEvents(receiveOutput: { _ in cancel?() }).probe()
    cancel = { probe.subscription?.cancel() }

    source.send(1)

    #expect(probe.values.isEmpty)
    #expect(source.asked == ["unlimited", "cancel"])
  }

  @Test func intervalsAreMeasuredFromTheSubscription() {
    let scheduler = ManualScheduler()
    let source = Source<Int, Never>()
    let probe = source.measureInterval(using: scheduler).map(\.magnitude).probe()
    scheduler.advance(by: .milliseconds(5))
    source.send(1)
    source.send(2)
    scheduler.advance(by: .milliseconds(7))
    source.send(3)

    #expect(probe.values == [5_000_000, 0, 7_000_000])
  }
}
