import Foundation
import Testing

@testable import bench

@Suite struct GrowthTests {
  /// Times in nanoseconds with one and with a hundred thousand elements.
  @Test(arguments: [
    (Growth.Order.constant, 1_000.0, 6_000.0, false), (.constant, 1_000, 6_001, true),
    (.constant, 10, 3_000, false), (.constant, 10, 3_001, true),
    (.logarithmic, 1_000, 10_000, false), (.logarithmic, 1_000, 10_001, true),
    (.linear(nanoseconds: 10), 1_000, 1_006_000, false), (.linear(nanoseconds: 10), 1_000, 1_006_001, true),
  ])
  func aTimeMayNotGrowFasterThanPromised(
    _ order: Growth.Order, _ small: Double, _ large: Double, _ isExceeded: Bool
  ) {
    #expect(order.isExceeded(from: (1, small), to: (100_000, large)) == isExceeded)
  }

  @Test func aPreparedOperationHasThePromiseOfItsName() async throws {
    typealias Parts = [(String, Int, @Sendable () async throws -> Void)]
    let group = GrowthGroup("key", "things", ["known": .constant]) { size, _ -> Parts in
      let nothing: @Sendable () async throws -> Void = {}
      return size > 1 ? [("known", size, nothing), ("unknown", size, nothing)] : [("known", size, nothing)]
    }

    let operations = try await group.prepare(1, URL(filePath: "/"))
    #expect(operations.map { $0.times } == [1])
    await #expect(throws: (any Error).self) { _ = try await group.prepare(2, URL(filePath: "/")) }
  }

  @Test func groupsHaveKeysOfTheirOwn() {
    let keys = Growth.groups.map(\.key)
    #expect(Set(keys).count == keys.count)
    #expect(Growth.groups.allSatisfy { $0.operations.count == $0.orders.count && $0.sizes.sorted() == $0.sizes })
  }
}
