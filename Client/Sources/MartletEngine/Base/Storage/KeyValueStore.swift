public import MartletSemantics
import Synchronization

/// A store of values by key: credentials, tokens, settings, encoded values of an app.
///
/// ```swift
/// try await store.set(Data("blue".utf8), for: "color")
/// let color = try await store.value(for: "color")
/// ```
///
/// A key is any string, including the empty one; keys are equal if their UTF-8 bytes are. A value is any number of
/// bytes; an empty value is not a missing one. Every call is atomic, and its changes are visible to all later calls.
/// Calls may be concurrent.
///
/// A store throws the errors of its storage.
public protocol KeyValueStore: Sendable {
  /// Returns the value of a key; nil if there is none.
  func value(for key: String) async throws -> Data?

  /// Stores a value in place of the previous one.
  func set(_ value: Data, for key: String) async throws

  /// Returns the value of a key; if there is none, stores this one and returns it.
  ///
  /// Processes that share a store and call this at the same time get one value, that of the first:
  ///
  /// ```swift
  /// let id = try await store.value(for: "installation", orSetting: Data(UUID().uuidString.utf8))
  /// ```
  ///
  /// The default implementation consists of ``value(for:)`` and ``set(_:for:)``, so it is not one step: a store that
  /// several callers share implements the method. All stores of Martlet do.
  func value(for key: String, orSetting value: Data) async throws -> Data

  /// Removes a key and its value; a missing key is not an error.
  func removeValue(for key: String) async throws

  /// Removes all keys.
  func removeAll() async throws

  /// Returns all keys, ordered by their UTF-8 bytes.
  func keys() async throws -> [String]
}

extension KeyValueStore {
  public func value(for key: String, orSetting value: Data) async throws -> Data {
    if let present = try await self.value(for: key) { return present }
    try await set(value, for: key)
    return try await self.value(for: key) ?? value
  }
}

/// A ``KeyValueStore`` in memory, for tests and for values that must not be written to a disk.
public final class MemoryKeyValueStore: KeyValueStore {
  /// The keys are bytes, because strings with different bytes can be equal (canonical equivalence).
  private let values = Mutex<[[UInt8]: Data]>([:])

  /// Makes an empty store.
  public init() {}

  public func value(for key: String) -> Data? {
    values.withLock { $0[Array(key.utf8)] }
  }

  public func set(_ value: Data, for key: String) {
    values.withLock { $0[Array(key.utf8)] = value }
  }

  public func value(for key: String, orSetting value: Data) -> Data {
    values.withLock { values in
      let bytes = Array(key.utf8)
      if let present = values[bytes] { return present }
      values[bytes] = value
      return value
    }
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
