import MartletCombine
import Testing

/// The rules of Combine for publishers and subscribers, tested with several kinds of publishers.
@Suite(.timeLimit(.minutes(5)))
struct RuleTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable () -> AnyPublisher<Int, Oops>
  }

  /// Publishers that deliver 1, 2, 3 and complete.
  static let cases: [Case] = [
    Case(testDescription: "sequence") { typed([1, 2, 3].publisher) },
    Case(testDescription: "map") { typed([0, 1, 2].publisher.map { $0 + 1 }) },
    Case(testDescription: "filter") { typed([0, 1, 5, 2, 6, 3].publisher.filter { (1...3).contains($0) }) },
    Case(testDescription: "flatMap") { typed([1, 2, 3].publisher.flatMap { Just($0) }) },
    Case(testDescription: "append") { typed([1, 2].publisher.append(3)) },
    Case(testDescription: "prepend") { typed([2, 3].publisher.prepend(1)) },
    Case(testDescription: "prefix") { typed([1, 2, 3, 4].publisher.prefix(3)) },
    Case(testDescription: "dropFirst") { typed([0, 1, 2, 3].publisher.dropFirst()) },
    Case(testDescription: "zip") { typed([1, 2, 3].publisher.zip([4, 5, 6, 7].publisher).map(\.0)) },
    Case(testDescription: "replaceError") {
      typed([1, 2].publisher).append(Fail(error: Oops(number: 1)))
        .replaceError(with: 3).setFailureType(to: Oops.self).eraseToAnyPublisher()
    },
    Case(testDescription: "catch") {
      typed([1].publisher).append(Fail(error: Oops(number: 1))).catch { _ in typed([2, 3].publisher) }
        .eraseToAnyPublisher()
    },
    Case(testDescription: "share") { typed([1, 2, 3].publisher.share()) },
    Case(testDescription: "receive(on:)") { typed([1, 2, 3].publisher.receive(on: ImmediateScheduler.shared)) },
  ]

  static func typed(_ publisher: some Publisher<Int, Never>) -> AnyPublisher<Int, Oops> {
    publisher.setFailureType(to: Oops.self).eraseToAnyPublisher()
  }

  @Test(arguments: cases)
  func requestedValuesAreDeliveredInOrderAndThenTheCompletion(_ item: Case) {
    let probe = item.make().probe()

    #expect(probe.values == [1, 2, 3])
    #expect(probe.isFinished)
  }

  @Test(arguments: cases.filter { $0.testDescription != "share" })
  func neverMoreThanRequestedIsDelivered(_ item: Case) {
    let probe = item.make().probe(.none)
    #expect(probe.values == [])

    probe.subscription?.request(.max(1))
    #expect(probe.values == [1])

    probe.subscription?.request(.max(2))
    #expect(probe.values == [1, 2, 3])
    #expect(probe.isFinished)
  }

  @Test(arguments: cases.filter { $0.testDescription != "share" })
  func theDemandThatASubscriberReturnsIsAdded(_ item: Case) {
    let probe = Probe<Int, Oops>(asking: .max(1)) { $0 == 1 ? .max(1) : .none }
    item.make().subscribe(probe)

    #expect(probe.values == [1, 2])
    #expect(probe.completions.isEmpty)
    #expect(probe.deepest == 1)
  }

  @Test(arguments: cases.filter { $0.testDescription != "share" })
  func nothingIsDeliveredAfterACancellation(_ item: Case) {
    let probe = item.make().probe(.max(1))

    probe.subscription?.cancel()
    probe.subscription?.cancel()
    probe.subscription?.request(.unlimited)

    #expect(probe.values == [1])
    #expect(probe.completions.isEmpty)
  }

  @Test(arguments: cases.filter { $0.testDescription != "share" })
  func aRequestDuringADeliveryIsNotRecursive(_ item: Case) {
    nonisolated(unsafe) var inner: (any Subscription)?
    let probe = Probe<Int, Oops>(asking: .none) { _ in
      inner?.request(.max(1))
      return .none
    }
    item.make().subscribe(probe)
    inner = probe.subscription

    inner?.request(.max(1))

    #expect(probe.values == [1, 2, 3])
    #expect(probe.deepest == 1)
  }

  @Test func valuesSentFromManyThreadsAreDeliveredOneAfterAnother() async {
    let subject = PassthroughSubject<Int, Never>()
    let probe = subject.flatMap { Just($0) }.probe()
    let shared = Shared(subject)

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 { group.addTask { shared.subject.send(number) } }
    }

    #expect(probe.values.sorted() == Array(0..<200))
    #expect(probe.deepest == 1)
  }

  /// Any thread may send to a subject.
  private final class Shared: @unchecked Sendable {
    // SAFETY: that is what the test is about.
    let subject: PassthroughSubject<Int, Never>
    init(_ subject: PassthroughSubject<Int, Never>) { self.subject = subject }
  }
}
