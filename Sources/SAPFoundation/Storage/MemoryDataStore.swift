public import Foundation
import MartletEngine

/// Bytes in memory, which are gone with the store. From any thread.
public final class MemoryDataStore: DataStoring, Sendable {
  private let values = MemoryKeyValueStore()

  /// Makes an empty store.
  public init() {}

  public func put(data: Data, for key: String) { values.set(data, for: key) }

  public func data(for key: String) -> Data? { values.value(for: key) }

  public func removeData(for key: String) { values.removeValue(for: key) }

  public func keys() -> Set<String> { Set(values.keys()) }
}
