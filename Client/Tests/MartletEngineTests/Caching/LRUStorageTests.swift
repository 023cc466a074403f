@_spi(Toolkit) import MartletEngine
import Synchronization
import Testing

@Suite("LRU storage", .timeLimit(.minutes(5)))
struct LRUStorageTests {
  private func filled(_ count: Int, costLimit: Int = .max, countLimit: Int = .max) -> LRUStorage<Int, String> {
    var storage = LRUStorage<Int, String>(costLimit: costLimit, countLimit: countLimit)
    for key in 0..<count { storage.set("\(key)", cost: 10, for: key) }
    return storage
  }

  @Test func leastRecentlyUsedValuesAreRemovedFirst() {
    var storage = filled(3, countLimit: 3)

    #expect(storage.use(0) == "0")
    #expect(storage.value(for: 1) == "1")  // does not count as use

    #expect(storage.set("3", cost: 10, for: 3) == ["1"])
    #expect(storage.set("4", cost: 10, for: 4) == ["2"])
    #expect((storage.count, storage.cost) == (3, 30))
    #expect(storage.use(1) == nil)
  }

  @Test func valuesAreRemovedUntilTheCostIsWithinTheLimit() {
    var storage = filled(5, costLimit: 50)

    #expect(storage.set("large", cost: 35, for: 9) == ["0", "1", "2", "3"])
    #expect((storage.count, storage.cost) == (2, 45))
    #expect(storage.trim(toCost: 40) == ["4"])
    #expect(storage.trim(toCost: -1) == ["large"])
    #expect((storage.count, storage.cost) == (0, 0))
  }

  @Test func valueThatExceedsTheLimitsByItselfIsNotStored() {
    var storage = filled(2, costLimit: 20)
    var none = LRUStorage<Int, String>(costLimit: -1, countLimit: 0)

    #expect(storage.set("large", cost: 21, for: 0) == ["large"])
    #expect((storage.value(for: 0), storage.value(for: 1)) == (nil, "1"))
    #expect(none.set("any", for: 0) == ["any"])
    #expect(none.count == 0)
  }

  @Test func replacingAValueCountsItsNewCostOnly() {
    var storage = filled(2, costLimit: 20)

    #expect(storage.set("new", cost: 5, for: 0) == [])
    #expect((storage.count, storage.cost) == (2, 15))
    #expect(storage.trim(toCost: 5) == ["1"])
  }

  @Test func aChangedValueIsTheMostRecentlyUsed() {
    var storage = LRUStorage<String, [Int]>(countLimit: 2)

    for key in ["a", "b", "a", "c"] { storage.update(key, from: [0]) { $0.append(1) } }

    #expect((storage.value(for: "a"), storage.value(for: "c")) == ([0, 1, 1], [0, 1]))
    #expect(!storage.contains("b"))
    #expect(storage.update("c", from: []) { $0.count } == 2)
  }

  @Test func aValueWhoseCostCountsIsNotChangedInPlace() async {
    await #expect(processExitsWith: .failure) {
      var storage = LRUStorage<String, [Int]>(costLimit: 20)
      storage.update("a", from: []) { $0.append(1) }
    }
  }

  @Test func valuesInUseStayWhateverTheLimits() {
    var storage = LRUStorage<Int, String>(costLimit: 20, countLimit: 2, isInUse: { $0.hasPrefix("used") })
    storage.set("used 0", cost: 10, for: 0)
    storage.set("1", cost: 10, for: 1)

    #expect(storage.set("used 2", cost: 10, for: 2) == ["1"])
    #expect(storage.set("used 3", cost: 10, for: 3) == [])
    #expect((storage.count, storage.cost) == (3, 30))

    storage.set("0", cost: 10, for: 0)  // no longer in use
    #expect(storage.set("4", cost: 10, for: 4) == ["0"])
    #expect(Set(storage.keys) == [2, 3, 4])
    #expect(Set(storage.values) == ["used 2", "used 3", "4"])
  }

  @Test func fewValuesInUseArePassedOverAtATime() {
    let looks = Mutex(0)
    var storage = LRUStorage<Int, Int>(countLimit: 1000) { value in
      looks.withLock { $0 += 1 }
      return value < 1000
    }
    for value in 0..<1000 { storage.set(value, for: value) }

    for value in 1000..<1100 { storage.set(value, for: value) }

    #expect(looks.withLock { $0 } <= 100 * 9)
    // Those that are not in use are removed when they are found: the limit is not exceeded for good.
    for value in 1100..<2000 { storage.set(value, for: value) }
    #expect(storage.count < 1300)
    #expect((0..<1000).allSatisfy { storage.value(for: $0) == $0 })
  }

  @Test func valuesInTheMiddleCanBeRemoved() {
    var storage = filled(5)

    #expect(storage.remove(2) == "2")
    #expect(storage.remove(2) == nil)
    #expect(Set(storage.removeAll { $0.key.isMultiple(of: 4) }) == ["0", "4"])
    #expect(storage.trim(toCost: 10) == ["1"])
    #expect((storage.count, storage.use(3)) == (1, "3"))
  }
}
