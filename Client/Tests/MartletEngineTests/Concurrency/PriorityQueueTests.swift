@_spi(Toolkit) import MartletEngine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PriorityQueueTests {
  private typealias Queue = PriorityQueue<String, Int>

  private static func taken(from queue: inout Queue) -> [Int] {
    var taken: [Int] = []
    while let next = queue.removeNext(where: { _, _ in true }) { taken.append(next.element) }
    return taken
  }

  @Test func theHighestPriorityIsNextAndOfSeveralTheOldest() {
    var queue = Queue()
    for (element, priority) in [0, 2, 1, 2, 0].enumerated() {
      _ = queue.append(element, PriorityBox(priority), in: element.isMultiple(of: 2) ? "even" : "odd")
    }

    #expect(queue.count == 5)
    let taken = Self.taken(from: &queue)
    #expect(taken == [1, 3, 2, 0, 4])
    #expect(queue.count == 0)
  }

  @Test func aPriorityThatChangesCounts() {
    var queue = Queue()
    let boxes = (0..<4).map { _ in PriorityBox(1) }
    for (element, box) in boxes.enumerated() { _ = queue.append(element, box, in: "a") }

    boxes[2].set(2)
    boxes[0].set(0)

    let taken = Self.taken(from: &queue)
    #expect(taken == [2, 1, 3, 0])
  }

  @Test func lanesThatAreNotEligibleWait() {
    var queue = Queue()
    for (element, lane) in ["a", "b", "a", "c"].enumerated() {
      _ = queue.append(element, PriorityBox(element == 3 ? 1 : 0), in: lane)
    }

    let first = queue.removeNext { lane, priority in lane != "a" && priority == 0 }
    let second = queue.removeNext(in: "a")
    let none = queue.removeNext(in: "b")
    let rest = Self.taken(from: &queue)

    #expect((first?.element, second?.element) == (1, 0))
    #expect(none == nil)
    #expect(rest == [3, 2])
  }

  @Test func whatLeavesIsNotNextAndTakesNoRoom() {
    var queue = Queue()
    let numbers = (0..<1000).map { queue.append($0, PriorityBox(0), in: "a") }

    var removed: [Int?] = []
    for number in numbers.reversed() where number != 500 { removed.append(queue.remove(number)) }
    let again = queue.remove(numbers[0])

    #expect(removed.count == 999 && !removed.contains(nil))
    #expect(again == nil)
    let taken = Self.taken(from: &queue)
    #expect(taken == [499])
  }

  /// Compares the queue with a look at all elements, the form that it had before.
  @Test func itIsLikeALookAtAllElements() {
    var generator = SystemRandomNumberGenerator()
    var queue = Queue()
    var all: [(number: UInt64, priority: PriorityBox, lane: String)] = []
    for step in 0..<5_000 {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0, 1, 2:
        let (box, lane) = (PriorityBox(.random(in: 0..<3)), ["a", "b", "c"].randomElement() ?? "a")
        all.append((queue.append(step, box, in: lane), box, lane))
      case 3: all.randomElement()?.priority.set(.random(in: 0..<3))
      case 4:
        guard let index = all.indices.randomElement() else { continue }
        let removed = queue.remove(all.remove(at: index).number)
        #expect(removed != nil)
      default:
        let lane = ["a", "b", "c"].randomElement() ?? "a"
        let next = queue.removeNext { other, _ in other != lane }
        let eligible = all.indices.filter { all[$0].lane != lane }
        let expected = eligible.max { one, other in
          let (first, second) = (all[one].priority.current, all[other].priority.current)
          return first == second ? one > other : first < second
        }
        #expect(next?.number == expected.map { all[$0].number })
        if let expected { all.remove(at: expected) }
      }
    }
    #expect(queue.count == all.count)
  }
}
