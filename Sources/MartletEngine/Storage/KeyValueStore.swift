public import MartletSemantics

/// Keeps values under keys: credentials, tokens, settings, what an application encodes.
///
/// ```swift
/// try await store.set(Data("blue".utf8), for: "colour")
/// let colour = try await store.value(for: "colour")
/// ```
///
/// A key is any string, the empty one included; two keys are the same if their UTF-8 bytes are. A value is any number of
/// bytes, none included: an empty value is not a missing one. Every call is atomic, and what it changed is seen by every
/// call that begins after it has returned. All may be called from any number of tasks at once.
///
/// A store throws whatever it meets; a file, a network or a memory without an error simply never does.
public protocol KeyValueStore: Sendable {
  /// The value of a key, nil where there is none.
  func value(for key: String) async throws -> Data?

  /// Stores a value in place of what was there.
  func set(_ value: Data, for key: String) async throws

  /// Forgets a key and its value. A key that is not there is no error.
  func removeValue(for key: String) async throws

  /// Forgets everything.
  func removeAll() async throws

  /// All keys, ordered by their UTF-8 bytes.
  func keys() async throws -> [String]
}
