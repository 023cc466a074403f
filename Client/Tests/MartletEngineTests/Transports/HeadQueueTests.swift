import Testing
@_spi(Transports) import MartletEngine

/// The queue behind signals and uploads.
@Suite(.timeLimit(.minutes(5)))
struct HeadQueueTests {
  @Test func elementsAreTakenInTheOrderInWhichTheyWereAdded() {
    var queue = HeadQueue<Int>()
    var taken: [Int] = []
    // never empty, so that the taken ones are removed from the front several times
    for number in 0..<1000 {
      queue.append(2 * number)
      queue.append(2 * number + 1)
      if let first = queue.popFirst() { taken.append(first) }
    }
    while let first = queue.popFirst() { taken.append(first) }

    #expect(taken == Array(0..<2000))
    #expect(queue.isEmpty)
    #expect(queue.last == nil)
  }

  @Test func theLastElementCanBeReplacedUnlessItWasTaken() {
    var queue = HeadQueue<Int>()
    queue.append(1)
    queue.append(2)
    queue.replaceLast(with: 3)
    #expect((queue.head, queue.last) == (1, 3))
    #expect(queue.popFirst() == 1)
    #expect(queue.head == 3)
    #expect(queue.popFirst() == 3)

    queue.replaceLast(with: 4)

    #expect(queue.popFirst() == 4)
    #expect(queue.popFirst() == nil)
  }

  @Test func theMemoryOfATakenElementIsFreedAtOnce() {
    final class Element {}
    var queue = HeadQueue<Element>()
    queue.append(Element())
    queue.append(Element())
    weak var first: Element?

    do {
      let taken = queue.popFirst()
      first = taken
      #expect(first != nil)
    }

    #expect(first == nil)
    #expect(!queue.isEmpty)
    queue.removeAll()
    #expect(queue.isEmpty)
    #expect(queue.popFirst() == nil)
  }
}
