import Synchronization

/// A priority that may change while the work that has it waits.
final class PriorityBox: Sendable {
  private let value: Atomic<Int>

  init(_ priority: ImagePriority) { value = Atomic(priority.rawValue) }

  var current: Int { value.load(ordering: .relaxed) }

  func set(_ priority: ImagePriority) { value.store(priority.rawValue, ordering: .relaxed) }
}

/// What waits for its turn: next is what has the highest priority; of equal ones, the first.
struct PriorityQueue<Element: Sendable>: Sendable {
  private struct Item {
    let number: UInt64
    let priority: PriorityBox
    let element: Element
  }

  /// In the order of their numbers.
  private var items: [Item] = []
  private var lastNumber: UInt64 = 0

  var count: Int { items.count }

  /// Adds an element. Returns its number.
  mutating func append(_ element: Element, _ priority: PriorityBox) -> UInt64 {
    lastNumber += 1
    items.append(Item(number: lastNumber, priority: priority, element: element))
    return lastNumber
  }

  /// Removes the element that is next, which is found now, because priorities change.
  mutating func removeNext() -> Element? {
    guard var next = items.indices.first else { return nil }
    var highest = items[next].priority.current
    for index in items.indices.dropFirst() {
      let priority = items[index].priority.current
      if priority > highest { (next, highest) = (index, priority) }
    }
    return items.remove(at: next).element
  }

  /// Removes the element with this number. Returns nil if it is not there any more.
  mutating func remove(_ number: UInt64) -> Element? {
    items.firstIndex { $0.number == number }.map { items.remove(at: $0).element }
  }
}
