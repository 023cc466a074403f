/// A queue of waiting elements. The one with the highest priority is next; of several, the oldest.
@_spi(Toolkit) public struct PriorityQueue<Element: Sendable>: Sendable {
  private struct Item {
    let number: UInt64
    let priority: PriorityBox
    let element: Element
  }

  /// In the order of their numbers.
  private var items: [Item] = []
  private var lastNumber: UInt64 = 0

  public init() {}

  public var count: Int { items.count }

  /// Adds an element. Returns its number.
  public mutating func append(_ element: Element, _ priority: PriorityBox) -> UInt64 {
    lastNumber += 1
    items.append(Item(number: lastNumber, priority: priority, element: element))
    return lastNumber
  }

  /// Removes the next element. It is determined only now, because priorities change.
  ///
  /// - Parameter isEligible: whether an element may be the next one, with its current priority; all may by default.
  public mutating func removeNext(
    where isEligible: (Element, Int) -> Bool = { _, _ in true }
  ) -> (number: UInt64, element: Element)? {
    var next: (index: Int, priority: Int)?
    for index in items.indices {
      let priority = items[index].priority.current
      if let next, priority <= next.priority { continue }
      if isEligible(items[index].element, priority) { next = (index, priority) }
    }
    guard let next else { return nil }
    let item = items.remove(at: next.index)
    return (item.number, item.element)
  }

  /// Removes the element with this number. Returns nil if it is no longer there.
  public mutating func remove(_ number: UInt64) -> Element? {
    items.firstIndex { $0.number == number }.map { items.remove(at: $0).element }
  }
}
