public import MartletSemantics
import Synchronization

/// Stores responses in memory while the store exists.
///
/// A body is copied once when it is stored, into one block of its size; reading it copies nothing.
public final class MemoryCacheStore: CacheStore {
  private let storage: Mutex<StoredResponses>

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - capacity: the maximum number of bytes of bodies and heads, 32 MiB by default. The least recently used are
  ///     removed first.
  ///   - entryLimit: the maximum number of bytes of one body; a quarter of the capacity by default.
  public init(capacity: Int64 = 32 << 20, entryLimit: Int64? = nil) {
    storage = Mutex(StoredResponses(capacity: max(0, capacity), entryLimit: entryLimit ?? capacity / 4))
  }

  public var storesQueries: Bool { true }

  public func entries(for key: CacheKey) async -> [CacheEntry] { storage.withLock { $0.entries(for: key) } }

  public func open(_ id: CacheEntry.ID, range: Range<Int64>) async -> (any BodySource)? {
    immediateBytes(of: id, range: range).map(DataSource.init)
  }

  public func begin(_ entry: CacheEntry) async -> (any CacheWriter)? {
    let limit = storage.withLock { $0.entryLimit }
    return entry.length ?? 0 <= limit ? Writer(entry, limit: limit, store: self) : nil
  }

  public func update(_ entry: CacheEntry) async { storage.withLock { $0.update(entry) } }

  public func remove(_ selection: CacheSelection) async { blockingRemove(selection) }

  public func usage() async -> HTTPCache.Usage { storage.withLock { $0.usage } }

  /// Collects the bytes of a body; stores the entry when they are complete.
  ///
  /// They are copied, because a chunk may be a small part of a large buffer that its transport reuses.
  private final class Writer: CacheWriter {
    private let entry: CacheEntry
    private let limit: Int64
    private let store: MemoryCacheStore
    private let body: Mutex<Body>

    private struct Body: ~Copyable {
      var bytes: CollectBuffer
      var isOver = false
    }

    init(_ entry: CacheEntry, limit: Int64, store: MemoryCacheStore) {
      self.entry = entry
      self.limit = limit
      self.store = store
      body = Mutex(Body(bytes: CollectBuffer(announced: entry.length.map(Int.init))))
    }

    func append(_ chunk: Data) async throws {
      let isAccepted = try body.withLock { body throws(HTTPError) in
        guard !body.isOver, Int64(body.bytes.count + chunk.count) <= limit else {
          body.isOver = true
          body.bytes = CollectBuffer(announced: nil)
          return false
        }
        try body.bytes.append(chunk)
        return true
      }
      guard isAccepted else { throw CacheEntry.Refusal.bodyTooLarge(limit: limit) }
    }

    func commit() async throws {
      guard let bytes = try take() else { throw CacheEntry.Refusal.bodyTooLarge(limit: limit) }
      var entry = entry
      entry.length = Int64(bytes.count)
      store.storage.withLock { [entry] in $0.insert(entry, body: bytes) }
    }

    func abort() async {
      body.withLock { body in
        body.isOver = true
        body.bytes = CollectBuffer(announced: nil)
      }
    }

    private func take() throws -> Data? {
      try body.withLock { body throws(HTTPError) in
        guard !body.isOver else { return nil }
        body.isOver = true
        return try body.bytes.takeBlock()
      }
    }
  }
}

@_spi(Stores) extension MemoryCacheStore: ImmediateCacheStore {
  public func immediateEntries(for key: CacheKey) -> [CacheEntry]? { storage.withLock { $0.entries(for: key) } }

  public func immediateBytes(of id: CacheEntry.ID, range: Range<Int64>) -> Data? {
    guard let body = storage.withLock({ $0.use(id) }) else { return nil }
    let range = Range(uncheckedBounds: (Int(range.lowerBound), Int(range.upperBound))).clamped(to: 0..<body.count)
    return range.count == body.count ? body : body.dropFirst(range.lowerBound).prefix(range.count)
  }

  public func blockingRemove(_ selection: CacheSelection) { storage.withLock { $0.remove(selection) } }
}

@_spi(Transports) extension MemoryCacheStore: DeadlineAware {
  /// True: it does not wait.
  public var endsAtDeadline: Bool { true }
}

/// The stored responses by identifier and by key, in the order of their use.
private struct StoredResponses {
  private struct Item {
    var entry: CacheEntry
    let body: Data
  }

  let entryLimit: Int64
  private var items: LRUStorage<CacheEntry.ID, Item>
  private var identifiers: [CacheKey: [CacheEntry.ID]] = [:]
  /// The keys of QUERY requests by the keys of their targets.
  private var queries: [CacheKey: Set<CacheKey>] = [:]

  init(capacity: Int64, entryLimit: Int64) {
    self.entryLimit = min(entryLimit, capacity)
    items = LRUStorage(costLimit: Int(clamping: capacity))
  }

  var usage: HTTPCache.Usage { HTTPCache.Usage(entries: items.count, bytes: Int64(items.cost)) }

  func entries(for key: CacheKey) -> [CacheEntry] {
    identifiers[key]?.compactMap { items.value(for: $0)?.entry } ?? []
  }

  /// Returns the body of an entry and marks it as the most recently used.
  mutating func use(_ id: CacheEntry.ID) -> Data? { items.use(id)?.body }

  mutating func insert(_ entry: CacheEntry, body: Data) {
    removeVariant(of: entry)
    identifiers[entry.key, default: []].append(entry.id)
    if entry.key.content != nil { queries[entry.key.target, default: []].insert(entry.key) }
    unlist(items.set(Item(entry: entry, body: body), cost: Self.cost(of: entry), for: entry.id))
  }

  mutating func update(_ entry: CacheEntry) {
    guard let old = items.value(for: entry.id) else { return }
    removeVariant(of: entry)
    var updated = entry
    updated.length = old.entry.length
    unlist(items.set(Item(entry: updated, body: old.body), cost: Self.cost(of: updated), for: entry.id))
  }

  mutating func remove(_ selection: CacheSelection) {
    switch selection {
    case .entry(let id): remove(id)
    case .key(let key): for key in [key] + (queries[key] ?? []) { for id in identifiers[key] ?? [] { remove(id) } }
    case .all: removeAll { _ in true }
    case .url(let url): removeAll { $0.key.url == url || $0.key.target.url == url }
    case .partition(let partition): removeAll { $0.key.partition == partition }
    case .olderThan(let date): removeAll { $0.response.responseTime < date }
    }
  }

  private mutating func remove(_ id: CacheEntry.ID) { unlist(items.remove(id).map { [$0] } ?? []) }

  private mutating func removeAll(where condition: (CacheEntry) -> Bool) {
    unlist(items.removeAll { condition($0.value.entry) })
  }

  /// Removes another entry with the key and the variant of this one.
  private mutating func removeVariant(of entry: CacheEntry) {
    for id in identifiers[entry.key] ?? [] where id != entry.id {
      if items.value(for: id)?.entry.response.variant == entry.response.variant { remove(id) }
    }
  }

  /// Removes the identifiers of items that are no longer stored.
  private mutating func unlist(_ removed: [Item]) {
    for entry in removed.map(\.entry) {
      let others = identifiers[entry.key]?.filter { $0 != entry.id } ?? []
      identifiers[entry.key] = others.isEmpty ? nil : others
      if others.isEmpty, entry.key.content != nil { unlistQuery(entry.key) }
    }
  }

  private mutating func unlistQuery(_ key: CacheKey) {
    let target = key.target
    queries[target]?.remove(key)
    if queries[target]?.isEmpty == true { queries[target] = nil }
  }

  /// The bytes of body, key and fields, and an estimate of the overhead.
  private static func cost(of entry: CacheEntry) -> Int {
    let fields = entry.response.head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 96 }
    return Int(clamping: entry.length ?? 0) + fields + entry.key.url.utf8.count + entry.key.partition.utf8.count + 512
  }
}
