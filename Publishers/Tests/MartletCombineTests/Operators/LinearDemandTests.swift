import MartletCombine
import Testing

/// What operators request from their upstream, return for each value, and deliver.
@Suite(.timeLimit(.minutes(5)))
struct LinearDemandTests {
  enum End: CaseIterable {
    case finished, failed
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let asked: String
    let returned: String
    let delivered: [End: String]
    let run: @Sendable (End) -> (asked: String, returned: String, delivered: String)

    /// The subscriber requests two values, and one more with each. The upstream sends 1, 2, 2 and 3.
    ///
    /// - Parameters:
    ///   - asked: what is requested from upstream.
    ///   - returned: the demand that is returned for each value.
    ///   - delivered: what the subscriber has received after upstream has finished.
    ///   - failing: what it has received after upstream has failed; by default, the same.
    init<P: Publisher & SendableMetatype>(
      _ name: String, _ asked: String, _ returned: String, _ delivered: String, failing: String? = nil,
      _ make: @escaping @Sendable (Source<Int, Oops>) -> P
    ) where P.Output: Sendable {
      (testDescription, self.asked, self.returned) = (name, asked, returned)
      self.delivered = [.finished: delivered, .failed: failing ?? delivered]
      run = { end in
        let source = Source<Int, Oops>()
        let probe = Probe<P.Output, P.Failure>(asking: .max(2)) { _ in .max(1) }
        make(source).subscribe(probe)
        let returned = [1, 2, 2, 3].map { "\($0)>\(source.send($0).max ?? -1)" }
        source.send(completion: end == .finished ? .finished : .failure(Oops(number: 1)))
        let values = probe.values.map { "\($0)" }
        let completions = probe.completions.map { if case .finished = $0 { "finished" } else { "failure" } }
        return (
          source.asked.joined(separator: " "), returned.joined(separator: " "),
          (values + completions).joined(separator: " ")
        )
      }
    }
  }

  static let cases: [Case] = [
    Case("map", "max(2)", "1>1 2>1 2>1 3>1", "2 3 3 4 finished", failing: "2 3 3 4 failure") { $0.map { $0 + 1 } },
    Case("tryMap", "max(2)", "1>1 2>1 2>1 3>1", "2 3 3 4 finished", failing: "2 3 3 4 failure") {
      $0.tryMap { $0 + 1 }
    },
    Case("mapError", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") {
      $0.mapError { $0 }
    },
    Case("scan", "max(2)", "1>1 2>1 2>1 3>1", "1 3 5 8 finished", failing: "1 3 5 8 failure") { $0.scan(0, +) },
    Case("tryScan", "max(2)", "1>1 2>1 2>1 3>1", "1 3 5 8 finished", failing: "1 3 5 8 failure") {
      $0.tryScan(0) { $0 + $1 }
    },
    Case("filter", "max(2)", "1>1 2>1 2>1 3>1", "2 2 finished", failing: "2 2 failure") { $0.filter { $0 == 2 } },
    Case("tryFilter", "max(2)", "1>1 2>1 2>1 3>1", "2 2 finished", failing: "2 2 failure") { $0.tryFilter { $0 == 2 } },
    Case("compactMap", "max(2)", "1>1 2>1 2>1 3>1", "1 3 finished", failing: "1 3 failure") {
      $0.compactMap { $0 == 2 ? nil : $0 }
    },
    Case("tryCompactMap", "max(2)", "1>1 2>1 2>1 3>1", "1 3 finished", failing: "1 3 failure") {
      $0.tryCompactMap { $0 == 2 ? nil : $0 }
    },
    Case("removeDuplicates", "max(2)", "1>1 2>1 2>1 3>1", "1 2 3 finished", failing: "1 2 3 failure") {
      $0.removeDuplicates()
    },
    Case("tryRemoveDuplicates", "max(2)", "1>1 2>1 2>1 3>1", "1 2 3 finished", failing: "1 2 3 failure") {
      $0.tryRemoveDuplicates { $0 == $1 }
    },
    Case("ignoreOutput", "max(2) unlimited", "1>0 2>0 2>0 3>0", "finished", failing: "failure") { $0.ignoreOutput() },
    Case("replaceEmpty", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") {
      $0.replaceEmpty(with: 9)
    },
    Case("replaceError", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 9 finished") {
      $0.replaceError(with: 9)
    },
    Case("dropFirst", "max(5)", "1>0 2>0 2>0 3>1", "3 finished", failing: "3 failure") { $0.dropFirst(3) },
    Case("dropFirst(0)", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") {
      $0.dropFirst(0)
    },
    Case("drop(while:)", "max(2)", "1>1 2>1 2>1 3>1", "2 2 3 finished", failing: "2 2 3 failure") {
      $0.drop { $0 < 2 }
    },
    Case("tryDrop(while:)", "max(2)", "1>1 2>1 2>1 3>1", "2 2 3 finished", failing: "2 2 3 failure") {
      $0.tryDrop { $0 < 2 }
    },
    Case("prefix", "max(2) cancel", "1>1 2>1 2>0 3>0", "1 2 finished") { $0.prefix(2) },
    Case("prefix(while:)", "max(2) cancel", "1>1 2>1 2>1 3>0", "1 2 2 finished") { $0.prefix { $0 < 3 } },
    Case("tryPrefix(while:)", "max(2) cancel", "1>1 2>1 2>1 3>0", "1 2 2 finished") { $0.tryPrefix { $0 < 3 } },
    Case("output(at:)", "max(2) cancel", "1>1 2>1 2>0 3>0", "2 finished") { $0.output(at: 1) },
    Case("output(in:)", "max(2) cancel", "1>1 2>1 2>1 3>0", "2 2 finished") { $0.output(in: 1...2) },
    Case("first", "unlimited cancel", "1>0 2>0 2>0 3>0", "1 finished") { $0.first() },
    Case("first(where:)", "unlimited cancel", "1>0 2>0 2>0 3>0", "2 finished") { $0.first { $0 > 1 } },
    Case("tryFirst(where:)", "unlimited cancel", "1>0 2>0 2>0 3>0", "2 finished") { $0.tryFirst { $0 > 1 } },
    Case("last", "unlimited", "1>0 2>0 2>0 3>0", "3 finished", failing: "failure") { $0.last() },
    Case("last(where:)", "unlimited", "1>0 2>0 2>0 3>0", "2 finished", failing: "failure") { $0.last { $0 < 3 } },
    Case("tryLast(where:)", "unlimited", "1>0 2>0 2>0 3>0", "2 finished", failing: "failure") { $0.tryLast { $0 < 3 } },
    Case("collect", "unlimited", "1>0 2>0 2>0 3>0", "[1, 2, 2, 3] finished", failing: "failure") { $0.collect() },
    Case("collect(3)", "max(6)", "1>0 2>0 2>3 3>0", "[1, 2, 2] [3] finished", failing: "[1, 2, 2] failure") {
      $0.collect(3)
    },
    Case("reduce", "unlimited", "1>0 2>0 2>0 3>0", "8 finished", failing: "failure") { $0.reduce(0, +) },
    Case("tryReduce", "unlimited", "1>0 2>0 2>0 3>0", "8 finished", failing: "failure") { $0.tryReduce(0) { $0 + $1 } },
    Case("count", "unlimited", "1>0 2>0 2>0 3>0", "4 finished", failing: "failure") { $0.count() },
    Case("min", "unlimited", "1>0 2>0 2>0 3>0", "1 finished", failing: "failure") { $0.min() },
    Case("max", "unlimited", "1>0 2>0 2>0 3>0", "3 finished", failing: "failure") { $0.max() },
    Case("min(by:)", "unlimited", "1>0 2>0 2>0 3>0", "3 finished", failing: "failure") { $0.min { $0 > $1 } },
    Case("max(by:)", "unlimited", "1>0 2>0 2>0 3>0", "1 finished", failing: "failure") { $0.max { $0 > $1 } },
    Case("tryMin", "unlimited", "1>0 2>0 2>0 3>0", "1 finished", failing: "failure") { $0.tryMin { $0 < $1 } },
    Case("tryMax", "unlimited", "1>0 2>0 2>0 3>0", "3 finished", failing: "failure") { $0.tryMax { $0 < $1 } },
    Case("contains", "unlimited cancel", "1>0 2>0 2>0 3>0", "true finished") { $0.contains(2) },
    Case("contains(where:)", "unlimited", "1>0 2>0 2>0 3>0", "false finished", failing: "failure") {
      $0.contains { $0 > 3 }
    },
    Case("tryContains(where:)", "unlimited cancel", "1>0 2>0 2>0 3>0", "true finished") { $0.tryContains { $0 == 2 } },
    Case("allSatisfy", "unlimited", "1>0 2>0 2>0 3>0", "true finished", failing: "failure") {
      $0.allSatisfy { $0 < 4 }
    },
    Case("tryAllSatisfy", "unlimited cancel", "1>0 2>0 2>0 3>0", "false finished") { $0.tryAllSatisfy { $0 < 2 } },
    Case("handleEvents", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") {
      $0.handleEvents()
    },
    Case("catch", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 9 finished") {
      $0.catch { _ in Just(9) }
    },
    Case("retry", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") { $0.retry(0) },
    Case("append", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 8 9 finished", failing: "1 2 2 3 failure") { $0.append(8, 9) },
    Case("prepend", "max(2)", "1>1 2>1 2>1 3>1", "8 9 1 2 2 3 finished", failing: "8 9 1 2 2 3 failure") {
      $0.prepend(8, 9)
    },
    Case("eraseToAnyPublisher", "max(2)", "1>1 2>1 2>1 3>1", "1 2 2 3 finished", failing: "1 2 2 3 failure") {
      $0.eraseToAnyPublisher()
    },
  ]

  @Test(arguments: cases, End.allCases)
  func demandIsPassedOnAndValuesAreDelivered(_ item: Case, _ end: End) {
    let result = item.run(end)

    #expect(result.asked == item.asked)
    #expect(result.returned == item.returned)
    #expect(result.delivered == item.delivered[end])
  }

  @Test func aResultWaitsForTheFirstRequest() {
    func check<P: Publisher<Int, Oops>>(_ expected: [Int], _ make: (Source<Int, Oops>) -> P) {
      for isLast in [false, true] {
        let source = Source<Int, Oops>()
        let probe = make(source).probe(.none)
        if isLast { for value in 1...3 { source.send(value) } }
        source.send(completion: .finished)
        #expect(probe.values.isEmpty && probe.completions.isEmpty)

        probe.subscription?.request(.max(1))
        probe.subscription?.request(.max(1))

        if isLast { #expect(probe.values == expected) }
        #expect(probe.isFinished)
      }
    }
    check([1]) { $0.first() }
    check([3]) { $0.first { $0 > 2 } }
    check([3]) { $0.last() }
    check([2]) { $0.last { $0 < 3 } }
    check([3]) { $0.max() }
    check([6]) { $0.reduce(0, +) }
    check([3]) { $0.count() }
    check([3]) { $0.collect().map(\.count) }
  }

  @Test func aReplacementWaitsForARequest() {
    let empty = Source<Int, Never>()
    let failing = Source<Int, Oops>()
    let ofEmpty = empty.replaceEmpty(with: 9).probe(.none)
    let ofFailing = failing.replaceError(with: 9).probe(.max(1))
    failing.send(1)
    empty.send(completion: .finished)
    failing.send(completion: .failure(Oops(number: 1)))
    #expect(ofEmpty.values.isEmpty && ofEmpty.completions.isEmpty)
    #expect(ofFailing.values == [1] && ofFailing.completions.isEmpty)

    ofEmpty.subscription?.request(.max(1))
    ofFailing.subscription?.request(.max(1))

    #expect(ofEmpty.values == [9] && ofEmpty.isFinished)
    #expect(ofFailing.values == [1, 9] && ofFailing.isFinished)
  }
}
