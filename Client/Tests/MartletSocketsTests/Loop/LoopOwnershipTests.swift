#if os(Linux)
import Foundation
import MartletTesting
import Testing

@testable import MartletSockets

/// One thread at a time uses the state that belongs to a loop's thread.
@Suite(.timeLimit(.minutes(5)))
struct LoopOwnershipTests {
  private final class Counter {
    var count = 0
  }

  @Test func itIsLentFromTheOfferUntilItIsTakenBack() {
    let ownership = LoopOwnership<Counter>()
    let counter = Counter()
    #expect(ownership.borrow { counter, _ in counter.count += 1 } == nil)
    ownership.offer(counter)
    for _ in 0..<2 { #expect(ownership.borrow { counter, _ in counter.count += 1 } != nil) }
    ownership.takeBack()
    #expect(ownership.borrow { counter, _ in counter.count += 1 } == nil)
    #expect(counter.count == 2)
  }

  @Test func aThreadKnowsWhetherItHasIt() {
    let ownership = LoopOwnership<Int>()
    #expect(!ownership.isHeldByThisThread)

    ownership.begin()
    #expect(ownership.isHeldByThisThread)
    ownership.offer(1)
    #expect(!ownership.isHeldByThisThread)
    #expect(ownership.borrow { _, _ in ownership.isHeldByThisThread } == true)
    #expect(!ownership.isHeldByThisThread)
    ownership.takeBack()
    #expect(ownership.isHeldByThisThread)
  }

  @Test func itIsNotLentTwice() {
    let ownership = LoopOwnership<Counter>()
    ownership.offer(Counter())
    let inner = ownership.borrow { _, _ in ownership.borrow { _, _ in 1 } }
    #expect(inner == .some(nil))
  }

  @Test func whoHasItLearnsThatAnotherThreadHasAskedForIt() {
    let ownership = LoopOwnership<Counter>()
    #expect(ownership.borrow { _, _ in } == nil)
    #expect(!ownership.wasWanted(), "the loop's own thread works: nothing keeps the other from sending")
    ownership.offer(Counter())
    _ = ownership.borrow { _, _ in
      #expect(!ownership.wasWanted())
      #expect(ownership.borrow { _, _ in } == nil)
      #expect(ownership.wasWanted())
      #expect(!ownership.wasWanted())
    }
  }

  @Test func whoHasItIsInterruptedAndAwaited() async throws {
    let ownership = LoopOwnership<Counter>()
    let counter = Counter()
    for round in 1...3 {
      let isLent = Gate()
      ownership.offer(counter)
      Thread.detachNewThread {
        _ = ownership.borrow { counter, interrupt in
          isLent.open()
          var watched = pollfd(fd: interrupt, events: Int16(POLLIN), revents: 0)
          if poll(&watched, 1, -1) == 1 { counter.count += 1 }
        }
      }
      try await isLent.wait()
      ownership.takeBack()
      #expect(counter.count == round)
    }
  }

  /// Threads that borrow it, and the one that offers it, increment one number without other protection.
  @Test func noTwoThreadsHaveIt() async {
    let ownership = LoopOwnership<Counter>()
    let borrowed = await withTaskGroup(of: Int.self) { group in
      group.addTask {
        let counter = Counter()
        for _ in 0..<20_000 {
          ownership.offer(counter)
          ownership.takeBack()
          counter.count += 1
        }
        ownership.offer(counter)
        return 20_000
      }
      for _ in 0..<4 {
        group.addTask {
          (0..<20_000).count { _ in ownership.borrow { counter, _ in counter.count += 1 } != nil }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(ownership.borrow { counter, _ in counter.count } == borrowed)
  }
}
#endif
