@testable import MartletCombine
import Testing

/// What a publisher of ready values may still deliver, and which request delivers.
@Suite(.timeLimit(.minutes(5)))
struct QuotaTests {
  @Test func theRequestThatRaisesItFromNoneDelivers() {
    let quota = Quota()
    let delivers = [quota.add(.none), quota.add(.max(2)), quota.add(.max(1))]
    #expect(delivers == [false, true, false])
  }

  @Test func deliveryEndsWhenItIsUsedUpAndTheNextRequestBeginsAgain() {
    let quota = Quota()
    let results = [quota.add(.max(2)), quota.useOne(), quota.useOne(), quota.add(.max(1)), quota.useOne()]
    #expect(results == [true, true, false, true, false])
  }

  @Test func anUnlimitedDemandIsNeverUsedUp() {
    let quota = Quota()
    let results = [quota.add(.unlimited), quota.useOne(), quota.useOne(), quota.isUnlimited]
    #expect(results == [true, true, true, true])
  }

  @Test func aSumThatOverflowsIsUnlimited() {
    let quota = Quota()
    let results = [quota.add(.max(.max - 1)), quota.add(.max(2)), quota.isUnlimited]
    #expect(results == [true, false, true])
  }

  @Test func nothingIsDeliveredOnceItIsClosed() {
    let quota = Quota()
    _ = quota.add(.max(2))
    let first = quota.close()
    let afterwards = [quota.isClosed, quota.useOne(), quota.add(.unlimited)]
    let second = quota.close()
    #expect(!first.wasClosed && first.wasDelivering)
    #expect(afterwards == [true, false, false])
    #expect(second.wasClosed && !second.wasDelivering)
  }
}
