import MartletTesting
import Testing

/// One of the ways to make a store that a suite runs its tests with.
struct StoreFactory<Store>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Whether the store itself removes what was used least, to stay within its capacity.
  var hasCapacity = true
  let store: @Sendable (TemporaryFolder) throws -> Store
}
