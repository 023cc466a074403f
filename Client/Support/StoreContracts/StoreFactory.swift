import MartletTesting
import Testing

/// One of the ways to make a store for the tests of a suite.
struct StoreFactory<Store>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Whether the store itself removes the least recently used entries, to stay within its capacity.
  var hasCapacity = true
  let store: @Sendable (TemporaryFolder) throws -> Store
}
