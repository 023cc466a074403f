@_spi(Toolkit) import MartletEngine
import TestSupport
import Testing

@Suite("LatestValue", .timeLimit(.minutes(5)))
struct LatestValueTests {
  @Test func anObserverGetsTheCurrentValueAndEachChange() {
    let value = LatestValue(1)
    let seen = Log<Int>()
    value.observe { seen.append($0) }
    #expect(seen.entries == [1])

    value.change { $0 = 2 }
    let old = value.change { number in
      defer { number = 3 }
      return number
    }

    #expect(old == 2)
    #expect(seen.entries == [1, 2, 3])
    #expect(value.current == 3)
  }

  @Test func aNewObserverIsTheOnlyOneThatGetsTheCurrentValue() {
    let value = LatestValue(1)
    let first = Log<Int>(), second = Log<Int>()

    value.observe { first.append($0) }
    value.observe { second.append($0) }

    #expect(first.entries == [1])
    #expect(second.entries == [1])
  }

  @Test func changesByAnObserverReachAllAfterItsReturn() {
    let value = LatestValue(0)
    let first = Log<Int>(), second = Log<Int>()
    value.observe { [weak value] number in
      first.append(number)
      guard number == 1 else { return }
      for next in 2...4 { value?.change { $0 = next } }
    }
    value.observe { second.append($0) }

    value.change { $0 = 1 }

    // The observers are called in no particular order, but none of them during another.
    #expect(first.entries == [0, 1, 4])
    #expect(second.entries == [0, 1, 4])
  }

  @Test func anObserverMayAddAnother() {
    let value = LatestValue(0)
    let seen = Log<Int>()
    value.observe { [weak value] number in
      if number == 1 { value?.observe { seen.append($0) } }
    }

    value.change { $0 = 1 }

    #expect(seen.entries == [1])
  }

  @Test func aChangeWhoseConditionDoesNotHoldIsNeitherMadeNorDelivered() {
    let value = LatestValue(0)
    let seen = Log<Int>()
    value.observe { seen.append($0) }

    #expect(!value.change(if: { $0 > 0 }) { $0 = 1 })
    #expect(value.current == 0)
    #expect(seen.entries == [0])
    #expect(value.change(if: { $0 == 0 }) { $0 = 2 })

    #expect(seen.entries == [0, 2])
  }

  @Test func aRemovedObserverGetsNothing() {
    let value = LatestValue(0)
    let seen = Log<Int>()
    let id = value.observe { seen.append($0) }

    value.remove(id)
    value.change { $0 = 1 }

    #expect(seen.entries == [0])
  }

  @Test func aStreamSkipsToTheLatestValueAndEndsWithTheObject() async {
    var value: LatestValue? = LatestValue(0)
    let streams = [value?.values, value?.values].compactMap(\.self)
    for number in 1...3 { value?.change { $0 = number } }

    value = nil

    #expect(streams.count == 2)
    for stream in streams {
      var seen: [Int] = []
      for await number in stream { seen.append(number) }
      #expect(seen == [3])
    }
  }

  @Test func aStreamOfAPartHasNoRepetitions() async {
    struct Status {
      var count = 0
      var name = "a"
    }
    var value: LatestValue? = LatestValue(Status())
    var names = value?.changes(of: \.name).makeAsyncIterator()
    #expect(await names?.next() == "a")

    value?.change { $0.count = 1 }
    value = nil
    #expect(await names?.next() == nil)
  }

  /// Many threads, so that changes and additions coincide with deliveries at other points in each run.
  @Test func noObserverGetsAnOlderValueAfterANewerOne() async {
    let value = LatestValue(0)
    let logs = (0..<8).map { _ in Log<Int>() }

    await withTaskGroup { group in
      for log in logs {
        group.addTask {
          value.observe { log.append($0) }
          for _ in 0..<500 { value.change { $0 += 1 } }
        }
      }
    }

    for log in logs {
      #expect(log.entries == log.entries.sorted())
      #expect(log.entries.last == 4000)
    }
  }
}
