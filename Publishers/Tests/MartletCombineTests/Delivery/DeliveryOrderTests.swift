import Foundation
@testable import MartletCombine
import Testing

/// Which thread delivers events, and which events wait for it.
@Suite(.timeLimit(.minutes(5)))
struct DeliveryOrderTests {
  @Test func aThreadThatDeliversDeliversWhatItCausesWithinThat() throws {
    var order = DeliveryOrder()
    let (outer, inner) = (order.beginWithNewEvent(), order.beginWithNewEvent())
    let ends = (order.endIfIdle(try #require(inner)), order.endIfIdle(try #require(outer)))
    #expect(ends.0 && ends.1)
    #expect(order.waiting == 0)
  }

  @Test func anotherThreadsEventWaitsAndIsTakenByTheThreadThatDelivers() throws {
    let order = Locked(DeliveryOrder())
    let position = try #require(order.withLock { $0.beginWithNewEvent() })

    #expect(Self.onAnotherThread { order.withLock { $0.beginWithNewEvent() == nil } })

    order.withLock { order in
      #expect(order.waiting == 1)
      let (isOver, hasEvent, hasAnother) = (order.endIfIdle(position), order.next(position), order.next(position))
      #expect(!isOver && hasEvent && !hasAnother)
    }
    #expect(Self.onAnotherThread { order.withLock { $0.beginWithNewEvent() != nil } })
  }

  @Test func theEndOfAnInnerDeliveryLeavesTheOuterOneToItsThread() throws {
    let order = Locked(DeliveryOrder())
    let outer = try #require(order.withLock { $0.beginWithNewEvent() })
    let inner = try #require(order.withLock { $0.begin() })
    #expect(order.withLock { $0.endIfIdle(inner) })

    #expect(Self.onAnotherThread { order.withLock { $0.begin() == nil } })
    #expect(order.withLock { $0.endIfIdle(outer) })
    #expect(Self.onAnotherThread { order.withLock { $0.begin() != nil } })
  }

  @Test func aNewEventDoesNotOvertakeThoseInLine() {
    var order = DeliveryOrder()
    order.addedToLine()
    let first = order.beginWithNewEvent()
    #expect(first == nil && order.waiting == 2)
    order.removeAll()
    let second = order.beginWithNewEvent()
    #expect(second != nil)
  }

  private static func onAnotherThread(_ body: @escaping @Sendable () -> Bool) -> Bool {
    let result = Locked(false)
    let done = DispatchSemaphore(value: 0)
    Thread {
      let value = body()
      result.withLock { $0 = value }
      done.signal()
    }.start()
    done.wait()
    return result.withLock { $0 }
  }
}
