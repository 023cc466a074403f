import Foundation
import Testing

@testable import SAPFoundation

@Suite("Callback queue", .timeLimit(.minutes(5)))
struct CallbackQueueTests {
  private let queue: OperationQueue
  private let callbacks: CallbackQueue
  private let ran = Locked<[Int]>([])

  init() {
    queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    callbacks = CallbackQueue(queue)
  }

  private func add(_ numbers: Int..., then action: @escaping @Sendable () -> Void = {}) {
    for number in numbers {
      callbacks.add { [ran] in
        ran.withLock { $0.append(number) }
        action()
      }
    }
  }

  private func runAll() -> [Int] {
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    return ran.withLock { $0 }
  }

  @Test func callbacksThatWaitRunInOneOperationAndInOrder() {
    add(1, 2, 3)

    #expect(queue.operationCount == 1)
    #expect(runAll() == [1, 2, 3])
  }

  @Test func aCallbackThatIsAddedByACallbackRunsAfterThoseThatWait() {
    callbacks.add { [callbacks, ran] in callbacks.add { ran.withLock { $0.append(3) } } }
    add(1, 2)

    #expect(runAll() == [1, 2, 3])
  }

  @Test func operationsOfTheAppKeepTheirPlaceAmongCallbacks() {
    callbacks.add { [callbacks, queue, ran] in
      queue.addOperation { ran.withLock { $0.append(2) } }
      callbacks.add { ran.withLock { $0.append(3) } }
    }
    add(1)

    #expect(runAll() == [1, 2, 3])
  }

  @Test func aCallbackThatSuspendsTheQueueStopsThoseAfterIt() throws {
    add(1) { [queue] in queue.isSuspended = true }
    add(2, 3)
    let first = try #require(queue.operations.first)

    queue.isSuspended = false
    first.waitUntilFinished()

    #expect(ran.withLock { $0 } == [1])
    #expect(runAll() == [1, 2, 3])
  }

  @Test func callbacksRunAlthoughTheAppCancelsTheOperationsOfItsQueue() {
    add(1)
    queue.addOperation { [ran] in ran.withLock { $0.append(9) } }
    queue.cancelAllOperations()

    #expect(runAll() == [1])
    add(2)
    #expect(runAll() == [1, 2])
  }
}
