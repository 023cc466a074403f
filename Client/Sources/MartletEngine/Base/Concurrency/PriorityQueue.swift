/// A queue of waiting elements in lanes. The one with the highest priority is next; of several, the oldest.
///
/// Adding and removing an element take constant time, and so does taking the next one of a lane. Taking the next one of
/// all lanes looks at the first element of each. Only after a priority has changed, that takes a look at all elements.
@_spi(Toolkit) public struct PriorityQueue<Lane: Hashable & Sendable, Element: Sendable>: Sendable {
  private struct Item {
    let priority: PriorityBox
    let lane: Lane
    let element: Element
  }

  private var items: [UInt64: Item] = [:]
  /// The numbers of the elements by priority and lane, each line in the order of their arrival. Those of elements that
  /// have left remain until they are the first, or until there are too many.
  private var lines: [Int: [Lane: HeadQueue<UInt64>]] = [:]
  /// How many numbers the lines have.
  private var lineCount = 0
  private var lastNumber: UInt64 = 0
  /// The changes of priorities that the lines follow.
  private var changes = PriorityBox.changes

  public init() {}

  public var count: Int { items.count }

  /// Adds an element. Returns its number.
  public mutating func append(_ element: Element, _ priority: PriorityBox, in lane: Lane) -> UInt64 {
    lastNumber += 1
    let item = Item(priority: priority, lane: lane, element: element)
    items[lastNumber] = item
    enlist(lastNumber, item)
    return lastNumber
  }

  /// Removes the next element. It is determined only now, because priorities change.
  ///
  /// - Parameter isEligible: whether an element of a lane may be the next one, with its current priority.
  public mutating func removeNext(where isEligible: (Lane, Int) -> Bool) -> (number: UInt64, element: Element)? {
    follow()
    for priority in lines.keys.sorted(by: >) {
      var next: UInt64?
      for lane in Array(lines[priority, default: [:]].keys) where isEligible(lane, priority) {
        if let first = first(in: lane, priority), first < next ?? .max { next = first }
      }
      if let next { return take(next) }
    }
    return nil
  }

  /// Removes the next element of a lane.
  public mutating func removeNext(in lane: Lane) -> (number: UInt64, element: Element)? {
    follow()
    for priority in lines.keys.sorted(by: >) {
      if let first = first(in: lane, priority) { return take(first) }
    }
    return nil
  }

  /// Removes the element with this number. Returns nil if it is no longer there.
  public mutating func remove(_ number: UInt64) -> Element? {
    let item = items.removeValue(forKey: number)
    if lineCount > 2 * items.count + 64 { sort() }
    return item?.element
  }

  private mutating func take(_ number: UInt64) -> (number: UInt64, element: Element)? {
    items.removeValue(forKey: number).map { (number, $0.element) }
  }

  private mutating func enlist(_ number: UInt64, _ item: Item) {
    lines[item.priority.current, default: [:]][item.lane, default: HeadQueue()].append(number)
    lineCount += 1
  }

  /// Returns the first element of a line, and removes the numbers before it.
  private mutating func first(in lane: Lane, _ priority: Int) -> UInt64? {
    while let number = lines[priority]?[lane]?.head {
      if items[number] != nil { return number }
      _ = lines[priority]?[lane]?.popFirst()
      lineCount -= 1
    }
    if lines[priority]?.removeValue(forKey: lane) != nil, lines[priority]?.isEmpty == true { lines[priority] = nil }
    return nil
  }

  /// Moves the elements whose priorities have changed.
  private mutating func follow() {
    if changes != PriorityBox.changes { sort() }
  }

  private mutating func sort() {
    changes = PriorityBox.changes  // Read before the priorities, so that a later change is noticed.
    (lines, lineCount) = ([:], 0)
    for (number, item) in items.sorted(by: { $0.key < $1.key }) { enlist(number, item) }
  }
}
