import MartletSemantics

/// What a memory store holds: entries by identifier and by key, in the order of their use.
struct MemoryShelf {
  private struct Item {
    var entry: CacheEntry
    let body: Data
    var cost: Int64
    /// Neighbours in the order of use.
    var older: CacheEntry.ID?
    var newer: CacheEntry.ID?
  }

  let capacity: Int64
  let entryLimit: Int64
  private var items: [CacheEntry.ID: Item] = [:]
  private var keys: [CacheKey: [CacheEntry.ID]] = [:]
  private var oldest: CacheEntry.ID?
  private var newest: CacheEntry.ID?
  private var bytes: Int64 = 0

  init(capacity: Int64, entryLimit: Int64) {
    self.capacity = capacity
    self.entryLimit = min(entryLimit, capacity)
  }

  var usage: CacheUsage { CacheUsage(entries: items.count, bytes: bytes) }

  func entries(for key: CacheKey) -> [CacheEntry] {
    keys[key]?.compactMap { items[$0]?.entry } ?? []
  }

  /// The body of an entry, which is now the last used.
  mutating func use(_ id: CacheEntry.ID) -> Data? {
    guard items[id] != nil else { return nil }
    unlink(id)
    linkAsNewest(id)
    return items[id]?.body
  }

  mutating func insert(_ entry: CacheEntry, body: Data) {
    removeVariant(of: entry)
    let cost = Self.cost(of: entry)
    items[entry.id] = Item(entry: entry, body: body, cost: cost)
    keys[entry.key, default: []].append(entry.id)
    linkAsNewest(entry.id)
    bytes += cost
    makeRoom()
  }

  mutating func update(_ entry: CacheEntry) {
    guard let old = items[entry.id] else { return }
    removeVariant(of: entry)
    var updated = entry
    updated.length = old.entry.length
    let cost = Self.cost(of: updated)
    items[entry.id]?.entry = updated
    items[entry.id]?.cost = cost
    bytes += cost - old.cost
    _ = use(entry.id)
    makeRoom()
  }

  mutating func remove(_ selection: CacheSelection) {
    switch selection {
    case .entry(let id): remove(id)
    case .key(let key): for id in keys[key] ?? [] { remove(id) }
    case .all: self = MemoryShelf(capacity: capacity, entryLimit: entryLimit)
    case .url(let url): removeAll { $0.key.url == url }
    case .partition(let partition): removeAll { $0.key.partition == partition }
    case .olderThan(let date): removeAll { $0.response.responseTime < date }
    }
  }

  private mutating func removeAll(where condition: (CacheEntry) -> Bool) {
    for item in items.values where condition(item.entry) { remove(item.entry.id) }
  }

  /// Another entry with the key and the variant of this one.
  private mutating func removeVariant(of entry: CacheEntry) {
    for id in keys[entry.key] ?? [] where id != entry.id {
      if items[id]?.entry.response.variant == entry.response.variant { remove(id) }
    }
  }

  private mutating func remove(_ id: CacheEntry.ID) {
    unlink(id)
    guard let item = items.removeValue(forKey: id) else { return }
    bytes -= item.cost
    let others = keys[item.entry.key]?.filter { $0 != id } ?? []
    keys[item.entry.key] = others.isEmpty ? nil : others
  }

  private mutating func makeRoom() {
    while bytes > capacity, let oldest { remove(oldest) }
  }

  private mutating func linkAsNewest(_ id: CacheEntry.ID) {
    items[id]?.older = newest
    if let newest { items[newest]?.newer = id }
    newest = id
    oldest = oldest ?? id
  }

  private mutating func unlink(_ id: CacheEntry.ID) {
    guard let item = items[id] else { return }
    if let older = item.older { items[older]?.newer = item.newer } else { oldest = item.newer }
    if let newer = item.newer { items[newer]?.older = item.older } else { newest = item.older }
    items[id]?.older = nil
    items[id]?.newer = nil
  }

  /// The bytes of body, key and fields, and a guess of what holds them together.
  private static func cost(of entry: CacheEntry) -> Int64 {
    let fields = entry.response.head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 96 }
    return (entry.length ?? 0) + Int64(fields + entry.key.url.utf8.count + entry.key.partition.utf8.count + 512)
  }
}
