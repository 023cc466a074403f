import MartletTesting
import Testing

/// One of the ways to make a store that a suite runs its tests with.
struct StoreFactory<Store>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let store: @Sendable (TemporaryFolder) throws -> Store
}
