import TestSupport
import Testing

@testable import MartletSockets

/// The timers of a loop.
@Suite(.timeLimit(.minutes(5)))
struct TimerHeapTests {
  private func fired(_ heap: inout TimerHeap, at now: UInt64) -> Int {
    var count = 0
    while let timer = heap.popDue(at: now) {
      timer.action()
      count += 1
    }
    return count
  }

  @Test func timersAreDueInTheOrderOfTheirTimes() {
    var heap = TimerHeap()
    let log = Log<Int>()
    for number in [5, 1, 4, 2, 3] { heap.set(HeapTimer { log.append(number) }, to: UInt64(number)) }

    #expect(heap.next == 1)
    #expect(fired(&heap, at: 3) == 3)
    #expect(fired(&heap, at: 9) == 2)
    #expect(log.entries == [1, 2, 3, 4, 5])
    #expect(heap.next == .max)
  }

  @Test func aTimerCanBeMovedAndCancelled() {
    var heap = TimerHeap()
    let log = Log<String>()
    let later = HeapTimer { log.append("later") }
    let earlier = HeapTimer { log.append("earlier") }
    let cancelled = HeapTimer { log.append("cancelled") }
    for timer in [later, earlier, cancelled] { heap.set(timer, to: 10) }
    heap.set(later, to: 20)
    heap.set(earlier, to: 5)
    heap.set(cancelled, to: .max)

    #expect(fired(&heap, at: 5) == 1)
    #expect(fired(&heap, at: 19) == 0)
    #expect(fired(&heap, at: 20) == 1)
    #expect(log.entries == ["earlier", "later"])
    #expect(heap.count == 0)
  }

  @Test func aTimerThatHasFiredCanBeSetAgain() {
    var heap = TimerHeap()
    let timer = HeapTimer {}
    for time in [UInt64(1), 2, 3] {
      heap.set(timer, to: time)
      #expect(timer.due == time)
      #expect(fired(&heap, at: time) == 1)
      #expect(timer.due == .max)
    }
  }

  /// The heap agrees with a table of times, whatever is set, moved and cancelled.
  @Test(arguments: 1...20)
  func randomChangesHaveTheResultOfATable(_ seed: UInt64) {
    var random = seed
    func next(_ limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    var heap = TimerHeap()
    var table: [Int: UInt64] = [:]
    let log = Log<Int>()
    let timers = (0..<40).map { number in HeapTimer { log.append(number) } }
    var now: UInt64 = 0
    for _ in 0..<2000 {
      let number = Int(next(40))
      switch next(4) {
      case 0:
        heap.set(timers[number], to: .max)
        table[number] = nil
      case 1:
        now += next(30)
        let before = log.entries.count
        _ = fired(&heap, at: now)
        let due = table.filter { $0.value <= now }
        #expect(Set(log.entries[before...]) == Set(due.keys))
        #expect(log.entries.count - before == due.count)
        for number in due.keys { table[number] = nil }
      default:
        let due = now + next(200)
        heap.set(timers[number], to: due)
        table[number] = due
      }
      #expect(heap.next <= table.values.min() ?? .max)
      #expect(heap.count == table.count)
    }
  }
}
