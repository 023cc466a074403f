/// Values by key, bounded by count and total cost: the least recently used are removed first.
///
/// Every operation takes constant time, except those that remove several values, which also depends on their number.
package struct LRUStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A value and its neighbours in the order of use.
  private struct Node {
    var value: Value
    let cost: Int
    var older: Key?
    var newer: Key?
  }

  /// The highest total cost.
  package let costLimit: Int
  /// The most values.
  package let countLimit: Int
  /// The total cost of all values.
  package private(set) var cost = 0
  private var nodes: [Key: Node] = [:]
  private var oldest: Key?
  private var newest: Key?

  /// Makes an empty storage; negative limits count as 0.
  package init(costLimit: Int = .max, countLimit: Int = .max) {
    self.costLimit = max(0, costLimit)
    self.countLimit = max(0, countLimit)
  }

  /// The number of values.
  package var count: Int { nodes.count }

  /// Returns the value of a key, without marking it as used.
  package func value(for key: Key) -> Value? { nodes[key]?.value }

  /// Returns the value of a key and marks it as the most recently used.
  package mutating func use(_ key: Key) -> Value? {
    guard let node = nodes[key] else { return nil }
    if newest != key {
      unlink(key)
      linkAsNewest(key)
    }
    return node.value
  }

  /// Sets the value of a key, as the most recently used. A value whose cost alone exceeds the limit is not stored.
  ///
  /// - Returns: The values that were removed or not stored because of the limits, without the key's earlier value.
  @discardableResult
  package mutating func set(_ value: Value, cost: Int = 0, for key: Key) -> [Value] {
    remove(key)
    guard cost <= costLimit, countLimit > 0 else { return [value] }
    let removed = trim(toCost: costLimit - cost, count: countLimit - 1)
    nodes[key] = Node(value: value, cost: cost)
    self.cost += cost
    linkAsNewest(key)
    return removed
  }

  /// Removes the value of a key and returns it.
  @discardableResult
  package mutating func remove(_ key: Key) -> Value? {
    unlink(key)
    guard let node = nodes.removeValue(forKey: key) else { return nil }
    cost -= node.cost
    return node.value
  }

  /// Removes the values for which `condition` is true and returns them.
  @discardableResult
  package mutating func removeAll(where condition: ((key: Key, value: Value)) -> Bool) -> [Value] {
    nodes.filter { condition(($0.key, $0.value.value)) }.keys.compactMap { remove($0) }
  }

  /// Removes the least recently used values until the rest is within both limits, and returns them.
  @discardableResult
  package mutating func trim(toCost costLimit: Int, count countLimit: Int = .max) -> [Value] {
    var removed: [Value] = []
    while cost > costLimit || count > countLimit, let oldest, let value = remove(oldest) { removed.append(value) }
    return removed
  }

  private mutating func linkAsNewest(_ key: Key) {
    nodes[key]?.older = newest
    if let newest { nodes[newest]?.newer = key }
    newest = key
    oldest = oldest ?? key
  }

  private mutating func unlink(_ key: Key) {
    guard let node = nodes[key] else { return }
    if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
    if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    nodes[key]?.older = nil
    nodes[key]?.newer = nil
  }
}
