/// Values by key in the order of their use, bounded by number and by cost: what was used longest ago makes room.
struct RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Item {
    var value: Value
    let cost: Int
    /// Neighbours in the order of use.
    var older: Key?
    var newer: Key?
  }

  let costLimit: Int
  let countLimit: Int
  private(set) var cost = 0
  private var items: [Key: Item] = [:]
  private var oldest: Key?
  private var newest: Key?

  init(costLimit: Int = .max, countLimit: Int) {
    self.costLimit = max(0, costLimit)
    self.countLimit = max(0, countLimit)
  }

  var count: Int { items.count }

  /// The value of a key, which is now the one used last.
  mutating func use(_ key: Key) -> Value? {
    guard let item = items[key] else { return nil }
    if newest != key {
      unlink(key)
      linkAsNewest(key)
    }
    return item.value
  }

  /// Puts a value in the place of what was there. One that alone costs more than the limit is not taken.
  mutating func set(_ value: Value, cost: Int = 0, for key: Key) {
    remove(key)
    guard cost <= costLimit else { return }
    trim(toCost: costLimit - cost, count: countLimit - 1)
    guard count < countLimit else { return }
    items[key] = Item(value: value, cost: cost)
    self.cost += cost
    linkAsNewest(key)
  }

  mutating func remove(_ key: Key) {
    unlink(key)
    if let item = items.removeValue(forKey: key) { cost -= item.cost }
  }

  mutating func removeAll(where isMeant: (Key) -> Bool) {
    for key in items.keys.filter(isMeant) { remove(key) }
  }

  mutating func trim(toCost limit: Int, count number: Int = .max) {
    while cost > limit || count > max(0, number), let oldest { remove(oldest) }
  }

  private mutating func linkAsNewest(_ key: Key) {
    items[key]?.older = newest
    if let newest { items[newest]?.newer = key }
    newest = key
    oldest = oldest ?? key
  }

  private mutating func unlink(_ key: Key) {
    guard let item = items[key] else { return }
    if let older = item.older { items[older]?.newer = item.newer } else { oldest = item.newer }
    if let newer = item.newer { items[newer]?.older = item.older } else { newest = item.older }
    items[key]?.older = nil
    items[key]?.newer = nil
  }
}
