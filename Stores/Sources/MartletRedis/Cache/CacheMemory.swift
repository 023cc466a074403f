@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// A process's memory of the server: the places of entries, small bodies that came with their heads, and, if enabled,
/// the results of look-ups for a short time.
///
/// Times are read from any clock that only goes forward.
struct CacheMemory: Sendable {
  /// An entry on the server.
  struct Place: Sendable {
    /// The name of its hash.
    let key: String
    let record: CacheRecord
    /// The body that is stored with the head, if it was read.
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
  /// Separate from the places: a missing body is read again, but an entry without a place is unknown.
  private var bodies: LRUStorage<CacheEntry.ID, Data>
  private var lookups: [String: Lookup] = [:]
  /// The number of removals: a result requested before a removal is not used after it.
  private(set) var removals = 0
  /// The number of stored and changed entries: a result requested before one may lack it.
  private(set) var additions = 0

  /// - Parameter limit: the maximum number of bytes of bodies.
  init(limit: Int) { (places, bodies) = (LRUStorage(countLimit: 8192), LRUStorage(costLimit: limit)) }

  func place(of id: CacheEntry.ID) -> Place? {
    guard var place = places.value(for: id) else { return nil }
    place.body = bodies.value(for: id)
    return place
  }

  /// Returns the entries of a key if they are known at that time.
  func entries(of key: String, at now: Duration) -> [CacheEntry]? {
    guard let lookup = lookups[key], lookup.isComplete, now < lookup.until else { return nil }
    let entries = lookup.ids.compactMap { places.value(for: $0)?.record.entry }
    return entries.count == lookup.ids.count ? entries : nil
  }

  /// Remembers the result of a look-up.
  mutating func set(_ found: [Place], of key: String, until: Duration) {
    forget(key)
    for place in found { insert(place) }
    lookups[key]?.until = until
    lookups[key]?.isComplete = true
  }

  /// Remembers the entries of a look-up that was requested before an entry was stored, changed or removed. They can be
  /// opened, but they do not answer later look-ups, and they replace nothing: other entries of the key are newer.
  mutating func set(outdated found: [Place], of key: String) {
    for place in found where places.value(for: place.record.entry.id) == nil { insert(place) }
    lookups[key]?.isComplete = false
  }

  /// Remembers a stored or changed entry; earlier results for its key no longer answer look-ups.
  mutating func add(_ place: Place) {
    additions += 1
    let variant = place.record.entry.response.variant
    for id in lookups[place.key]?.ids ?? [] where id != place.record.entry.id {
      if places.value(for: id)?.record.entry.response.variant == variant { forget(id) }
    }
    insert(place)
    lookups[place.key]?.isComplete = false
  }

  /// Forgets an entry; the others of its key no longer answer look-ups.
  mutating func remove(_ id: CacheEntry.ID) {
    removals += 1
    forget(id)
  }

  private mutating func forget(_ id: CacheEntry.ID) {
    bodies.remove(id)
    guard let place = places.remove(id) else { return }
    unlist([place])
    lookups[place.key]?.isComplete = false
  }

  /// Forgets the entries of a key.
  mutating func remove(_ key: String) {
    removals += 1
    forget(key)
  }

  private mutating func forget(_ key: String) {
    for id in lookups.removeValue(forKey: key)?.ids ?? [] {
      places.remove(id)
      bodies.remove(id)
    }
  }

  mutating func removeAll() {
    removals += 1
    lookups = [:]
    places.removeAll { _ in true }
    bodies.removeAll { _ in true }
  }

  /// Forgets what would answer without the server: the results of look-ups, and bodies.
  mutating func forgetAnswers() {
    removals += 1
    lookups = lookups.mapValues { Lookup(ids: $0.ids) }
    bodies.removeAll { _ in true }
  }

  private mutating func insert(_ place: Place) {
    let id = place.record.entry.id
    if lookups[place.key]?.ids.contains(id) != true { lookups[place.key, default: Lookup()].ids.append(id) }
    if let body = place.body { bodies.set(body, cost: body.count, for: id) } else { bodies.remove(id) }
    var place = place
    place.body = nil
    unlist(places.set(place, for: id))
  }

  /// Removes places that the limits have displaced from the look-ups.
  private mutating func unlist(_ removed: [Place]) {
    for place in removed {
      bodies.remove(place.record.entry.id)
      guard let index = lookups[place.key]?.ids.firstIndex(of: place.record.entry.id) else { continue }
      lookups[place.key]?.ids.remove(at: index)
      lookups[place.key]?.isComplete = false
      if lookups[place.key]?.ids.isEmpty == true { lookups[place.key] = nil }
    }
  }
}
