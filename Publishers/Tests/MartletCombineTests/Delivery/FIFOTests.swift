@testable import MartletCombine
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FIFOTests {
  @Test("Elements leave in the order in which they came, whatever the lengths in between", arguments: [1, 2, 63, 200])
  func order(batch: Int) {
    var fifo = FIFO<Int>()
    var (added, taken) = (0, 0)
    for round in 0..<5 {
      for _ in 0..<batch + round {
        fifo.append(added)
        added += 1
      }
      for _ in 0..<batch {
        #expect(fifo.first == taken)
        #expect(fifo.popFirst() == taken)
        taken += 1
      }
      #expect(fifo.count == added - taken)
    }
    while let element = fifo.popFirst() {
      #expect(element == taken)
      taken += 1
    }
    #expect(taken == added && fifo.isEmpty && fifo.first == nil)
  }

  @Test func aTakenElementIsReleased() {
    final class Element {}
    var fifo = FIFO<Element>()
    weak var first: Element?
    do {
      let element = Element()
      first = element
      fifo.append(element)
      fifo.append(Element())
    }
    _ = fifo.popFirst()
    #expect(first == nil && fifo.count == 1)
  }
}
