extension CodableStoring {
  /// Stores a value whose key can be listed again in another run of the program: see ``removeAll(listedBelow:)``.
  ///
  /// The protocol cannot list keys. So the store itself has a list of them, which is written first: a program that ends
  /// in between leaves a key without a value, and no value without a key.
  func put<T: Codable>(_ value: T, for key: String, listedBelow prefix: String) throws {
    if !canList(key, below: prefix) {
      let keys = try get([String].self, for: Self.listKey(prefix)) ?? []
      if !keys.contains(key) { try put(keys + [key], for: Self.listKey(prefix)) }
    }
    try put(value, for: key)
  }

  /// Removes all values that were stored with this prefix, in this or in an earlier run of the program. Values that
  /// cannot be removed are logged and stay in the list.
  func removeAll(listedBelow prefix: String) {
    let list = Self.listKey(prefix)
    SessionLog.failure(deleting: "\(prefix)…") {
      let listed = try get([String].self, for: list) ?? []
      let found = try (self as? CodableStorage)?.keys().filter { $0.hasPrefix(prefix) && $0 != list } ?? []
      let kept = Set(listed).union(found).filter { key in SessionLog.failure(deleting: key) { try remove(for: key) } }
      if kept.isEmpty { try remove(for: list) } else { try put(kept.sorted(), for: list) }
    }
  }

  /// Whether the store lists this key without help. The key may be an app's own, without the prefix.
  private func canList(_ key: String, below prefix: String) -> Bool { self is CodableStorage && key.hasPrefix(prefix) }

  private static func listKey(_ prefix: String) -> String { prefix + "keys" }
}
