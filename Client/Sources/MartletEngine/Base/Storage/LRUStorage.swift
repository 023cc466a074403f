/// Values by key, bounded by count and total cost: the least recently used are removed first. Values that are in use
/// stay, so that the limits may be exceeded by their number and cost.
///
/// Every operation takes constant time, with two exceptions. Removing several values takes time for each of them.
/// `keys`, `values`, `removeAll(where:)` and `trim` look at all values. Setting a value passes over a few values in use
/// at most, which count as used then; the limits may be exceeded a little longer. Using a value looks its key up once:
/// the order of use is a list of places in an array.
@_spi(Toolkit) public struct LRUStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The maximum total cost.
  package let costLimit: Int
  /// The maximum number of values.
  package let countLimit: Int
  /// Whether a value must stay, whatever the limits; nil if no value must.
  private let isInUse: (@Sendable (Value) -> Bool)?
  /// The total cost of all values.
  public private(set) var cost = 0
  /// The place of each key.
  private var places: [Key: Int] = [:]
  /// The values by place; nil for an unused place.
  private var contents: [Content?] = []
  /// The neighbours of each place in the order of use.
  private var neighbours: [Neighbours] = []
  private var unused: [Int] = []
  private var oldest: Int?
  private var newest: Int?

  private struct Content {
    let key: Key
    let value: Value
    let cost: Int
  }

  private struct Neighbours {
    var older: Int?
    var newer: Int?
  }

  /// Makes an empty storage; negative limits count as 0.
  ///
  /// - Parameters:
  ///   - costLimit: the maximum total cost; none by default.
  ///   - countLimit: the maximum number of values; none by default.
  ///   - isInUse: whether a value must stay, whatever the limits. It is called when another value is stored, and must
  ///     not use the storage. By default no value must.
  public init(costLimit: Int = .max, countLimit: Int = .max, isInUse: (@Sendable (Value) -> Bool)? = nil) {
    self.costLimit = max(0, costLimit)
    self.countLimit = max(0, countLimit)
    self.isInUse = isInUse
  }

  /// The number of values.
  public var count: Int { places.count }

  public var isEmpty: Bool { places.isEmpty }

  /// The keys, in no particular order.
  public var keys: [Key] { contents.compactMap { $0?.key } }

  /// The values, in no particular order.
  public var values: [Value] { contents.compactMap { $0?.value } }

  /// Whether there is a value for a key. It does not count as use.
  package func contains(_ key: Key) -> Bool { places.index(forKey: key) != nil }

  /// Returns the value of a key, without marking it as used.
  public func value(for key: Key) -> Value? { places[key].flatMap { contents[$0]?.value } }

  /// Returns the value of a key and marks it as the most recently used.
  public mutating func use(_ key: Key) -> Value? {
    guard let place = places[key] else { return nil }
    if newest != place {
      unlink(place)
      linkAsNewest(place)
    }
    return contents[place]?.value
  }

  /// Sets the value of a key, as the most recently used. A value whose cost alone exceeds the limit is not stored.
  ///
  /// - Returns: the values that were removed or not stored because of the limits, without the key's earlier value.
  @discardableResult
  public mutating func set(_ value: Value, cost: Int = 0, for key: Key) -> [Value] {
    remove(key)
    guard cost <= costLimit, countLimit > 0 else { return [value] }
    let removed = makeRoom(cost)
    let content = Content(key: key, value: value, cost: cost)
    let place: Int
    if let free = unused.popLast() {
      place = free
      contents[place] = content
    } else {
      place = contents.count
      contents.append(content)
      neighbours.append(Neighbours())
    }
    places[key] = place
    self.cost += cost
    linkAsNewest(place)
    return removed
  }

  /// Changes the value of a key, which is `initial` if it has none, and marks it as the most recently used. This does
  /// not know the cost of the new value: the storage must have no cost limit.
  package mutating func update<Result>(
    _ key: Key, from initial: @autoclosure () -> Value, _ change: (inout Value) -> Result
  ) -> Result {
    precondition(costLimit == .max, "a storage with a cost limit needs set(_:cost:for:)")
    var value = remove(key) ?? initial()
    defer { set(value, for: key) }
    return change(&value)
  }

  /// Removes the value of a key and returns it.
  @discardableResult
  public mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    return clear(place)?.value
  }

  /// Removes the values for which `condition` is true and returns them.
  @discardableResult
  public mutating func removeAll(where condition: ((key: Key, value: Value)) -> Bool) -> [Value] {
    let keys = contents.compactMap { content in
      content.flatMap { condition(($0.key, $0.value)) ? $0.key : nil }
    }
    return keys.compactMap { remove($0) }
  }

  /// Removes the least recently used values that are not in use until the rest is within both limits, and returns them.
  @discardableResult
  public mutating func trim(toCost costLimit: Int, count countLimit: Int = .max) -> [Value] {
    var removed: [Value] = []
    var next = oldest
    while cost > costLimit || count > countLimit, let place = next, let value = contents[place]?.value {
      next = neighbours[place].newer
      if isInUse?(value) == true { continue }
      guard let content = clear(place) else { break }
      places[content.key] = nil
      removed.append(content.value)
    }
    return removed
  }

  /// Removes the least recently used values that are not in use, until there is room for another one, or eight values
  /// in use were found.
  private mutating func makeRoom(_ cost: Int) -> [Value] {
    var removed: [Value] = []
    var passed = 0
    while self.cost > costLimit - cost || count > countLimit - 1, passed < 8, let place = oldest,
      let value = contents[place]?.value
    {
      if isInUse?(value) == true {
        passed += 1
        unlink(place)
        linkAsNewest(place)
      } else if let content = clear(place) {
        places[content.key] = nil
        removed.append(content.value)
      }
    }
    return removed
  }

  /// Empties a place for a later value.
  private mutating func clear(_ place: Int) -> Content? {
    guard let content = contents[place] else { return nil }
    contents[place] = nil
    unlink(place)
    unused.append(place)
    cost -= content.cost
    return content
  }

  private mutating func linkAsNewest(_ place: Int) {
    neighbours[place] = Neighbours(older: newest, newer: nil)
    if let newest { neighbours[newest].newer = place }
    newest = place
    oldest = oldest ?? place
  }

  private mutating func unlink(_ place: Int) {
    let (older, newer) = (neighbours[place].older, neighbours[place].newer)
    if let older { neighbours[older].newer = newer } else { oldest = newer }
    if let newer { neighbours[newer].older = older } else { newest = older }
  }
}
