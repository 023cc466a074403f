public import MartletSemantics
import Synchronization

/// A ``KeyValueStore`` in memory, which forgets everything when it goes. For tests, and for what must not reach a disk.
public final class MemoryKeyValueStore: KeyValueStore {
  /// Keys as bytes: Swift holds strings of different bytes for equal where they look the same.
  private let values = Mutex<[[UInt8]: Data]>([:])

  /// Makes an empty store.
  public init() {}

  public func value(for key: String) -> Data? {
    values.withLock { $0[Array(key.utf8)] }
  }

  public func set(_ value: Data, for key: String) {
    values.withLock { $0[Array(key.utf8)] = value }
  }

  public func removeValue(for key: String) {
    values.withLock { _ = $0.removeValue(forKey: Array(key.utf8)) }
  }

  public func removeAll() {
    values.withLock { $0 = [:] }
  }

  public func keys() -> [String] {
    values.withLock { Array($0.keys) }
      .sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
