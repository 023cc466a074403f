#if os(Linux)
import Foundation
import MartletTesting
import Testing

@testable import MartletSockets

/// One thread at a time uses the state that belongs to a loop's thread.
@Suite(.timeLimit(.minutes(5)))
struct LoopLoanTests {
  private final class Counter {
    var count = 0
  }

  @Test func itIsLentFromTheOfferUntilItIsTakenBack() {
    let loan = LoopLoan<Counter>()
    let counter = Counter()
    #expect(loan.borrow { counter, _ in counter.count += 1 } == nil)
    loan.offer(counter)
    for _ in 0..<2 { #expect(loan.borrow { counter, _ in counter.count += 1 } != nil) }
    loan.takeBack()
    #expect(loan.borrow { counter, _ in counter.count += 1 } == nil)
    #expect(counter.count == 2)
  }

  @Test func aThreadKnowsWhetherItHasIt() {
    let loan = LoopLoan<Int>()
    #expect(!loan.isHeldByThisThread)

    loan.begin()
    #expect(loan.isHeldByThisThread)
    loan.offer(1)
    #expect(!loan.isHeldByThisThread)
    #expect(loan.borrow { _, _ in loan.isHeldByThisThread } == true)
    #expect(!loan.isHeldByThisThread)
    loan.takeBack()
    #expect(loan.isHeldByThisThread)
  }

  @Test func itIsNotLentTwice() {
    let loan = LoopLoan<Counter>()
    loan.offer(Counter())
    let inner = loan.borrow { _, _ in loan.borrow { _, _ in 1 } }
    #expect(inner == .some(nil))
  }

  @Test func whoHasItLearnsThatAnotherThreadHasAskedForIt() {
    let loan = LoopLoan<Counter>()
    #expect(loan.borrow { _, _ in } == nil)
    #expect(!loan.wasWanted(), "the loop's own thread works: nothing keeps the other from sending")
    loan.offer(Counter())
    _ = loan.borrow { _, _ in
      #expect(!loan.wasWanted())
      #expect(loan.borrow { _, _ in } == nil)
      #expect(loan.wasWanted())
      #expect(!loan.wasWanted())
    }
  }

  @Test func whoHasItIsInterruptedAndAwaited() async throws {
    let loan = LoopLoan<Counter>()
    let counter = Counter()
    for round in 1...3 {
      let isLent = Gate()
      loan.offer(counter)
      Thread.detachNewThread {
        _ = loan.borrow { counter, interrupt in
          isLent.open()
          var watched = pollfd(fd: interrupt, events: Int16(POLLIN), revents: 0)
          if poll(&watched, 1, -1) == 1 { counter.count += 1 }
        }
      }
      try await isLent.wait()
      loan.takeBack()
      #expect(counter.count == round)
    }
  }

  /// Threads that borrow it, and the one that offers it, increment one number without other protection.
  @Test func noTwoThreadsHaveIt() async {
    let loan = LoopLoan<Counter>()
    let borrowed = await withTaskGroup(of: Int.self) { group in
      group.addTask {
        let counter = Counter()
        for _ in 0..<20_000 {
          loan.offer(counter)
          loan.takeBack()
          counter.count += 1
        }
        loan.offer(counter)
        return 20_000
      }
      for _ in 0..<4 {
        group.addTask {
          (0..<20_000).count { _ in loan.borrow { counter, _ in counter.count += 1 } != nil }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(loan.borrow { counter, _ in counter.count } == borrowed)
  }
}
#endif
