import MartletEngine
import MartletSemantics

/// What a process remembers of the server: where entries are, small bodies that came with their heads, and, if that is wanted,
/// the answers of look-ups for a short time.
///
/// Times are those of any clock that only goes forward.
struct CacheMemory: Sendable {
  /// An entry as it is on the server.
  struct Place: Sendable {
    /// The name of its hash.
    let key: String
    let record: CacheRecord
    /// A body that is stored with the head, if it was read.
    var body: Data?
  }

  private struct Lookup: Sendable {
    var ids: [CacheEntry.ID] = []
    /// Until when the entries answer a look-up.
    var until = Duration.zero
    /// Whether these are all entries of the key.
    var isComplete = false
  }

  private var places: LRUStorage<CacheEntry.ID, Place>
  private var lookups: [String: Lookup] = [:]

  /// What a place costs besides its body, about.
  private static let overhead = 512

  init(limit: Int) { places = LRUStorage(costLimit: limit, countLimit: 8192) }

  func place(of id: CacheEntry.ID) -> Place? { places.value(for: id) }

  /// Returns the entries of a key if they are known at that time.
  func entries(of key: String, at now: Duration) -> [CacheEntry]? {
    guard let lookup = lookups[key], lookup.isComplete, now < lookup.until else { return nil }
    let entries = lookup.ids.compactMap { places.value(for: $0)?.record.entry }
    return entries.count == lookup.ids.count ? entries : nil
  }

  /// Remembers the answer of a look-up.
  mutating func set(_ found: [Place], of key: String, until: Duration) {
    remove(key)
    for place in found { insert(place) }
    lookups[key]?.until = until
    lookups[key]?.isComplete = true
  }

  /// Remembers an entry that was stored or changed; what was known of its key no longer answers look-ups.
  mutating func add(_ place: Place) {
    let variant = place.record.entry.response.variant
    for id in lookups[place.key]?.ids ?? [] where id != place.record.entry.id {
      if places.value(for: id)?.record.entry.response.variant == variant { remove(id) }
    }
    insert(place)
    lookups[place.key]?.isComplete = false
  }

  /// Forgets an entry; the others of its key no longer answer look-ups.
  mutating func remove(_ id: CacheEntry.ID) {
    guard let place = places.remove(id) else { return }
    unlist([place])
    lookups[place.key]?.isComplete = false
  }

  /// Forgets the entries of a key.
  mutating func remove(_ key: String) {
    for id in lookups.removeValue(forKey: key)?.ids ?? [] { places.remove(id) }
  }

  mutating func removeAll() {
    lookups = [:]
    places.removeAll { _ in true }
  }

  private mutating func insert(_ place: Place) {
    let id = place.record.entry.id
    if lookups[place.key]?.ids.contains(id) != true { lookups[place.key, default: Lookup()].ids.append(id) }
    unlist(places.set(place, cost: Self.overhead + (place.body?.count ?? 0), for: id))
  }

  /// Removes what the limits have displaced from the look-ups.
  private mutating func unlist(_ removed: [Place]) {
    for place in removed {
      guard let index = lookups[place.key]?.ids.firstIndex(of: place.record.entry.id) else { continue }
      lookups[place.key]?.ids.remove(at: index)
      lookups[place.key]?.isComplete = false
      if lookups[place.key]?.ids.isEmpty == true { lookups[place.key] = nil }
    }
  }
}
