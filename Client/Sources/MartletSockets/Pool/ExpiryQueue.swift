/// The times at which connections are to be looked at, in a binary heap. A connection has at most one valid time, which
/// it knows itself; the queue may have outdated ones besides.
struct ExpiryQueue: Sendable {
  struct Item: Sendable {
    let time: UInt64
    let connection: Int

    /// Connections with equal times come in the order of their numbers.
    fileprivate func precedes(_ other: Item) -> Bool { (time, connection) < (other.time, other.connection) }
  }

  private var items: [Item] = []

  /// The earliest time; nil if there is none.
  var next: UInt64? { items.first?.time }

  var count: Int { items.count }

  mutating func insert(_ item: Item) {
    var position = items.count
    items.append(item)
    while position > 0 {
      let parent = (position - 1) / 2
      guard item.precedes(items[parent]) else { break }
      items[position] = items[parent]
      position = parent
    }
    items[position] = item
  }

  /// Removes the first item whose time has come; nil if there is none.
  mutating func popDue(at now: UInt64) -> Item? {
    guard let first = items.first, first.time <= now else { return nil }
    let last = items.removeLast()
    guard !items.isEmpty else { return first }
    var position = 0
    while true {
      var child = 2 * position + 1
      guard child < items.count else { break }
      if child + 1 < items.count, items[child + 1].precedes(items[child]) { child += 1 }
      guard items[child].precedes(last) else { break }
      items[position] = items[child]
      position = child
    }
    items[position] = last
    return first
  }

  /// Removes the items that are outdated.
  mutating func removeAll(where isOutdated: (Item) -> Bool) {
    items.removeAll(where: isOutdated)
    items.sort { $0.precedes($1) }  // A sorted array is a heap.
  }
}
