/// A queue in an array. Taking its front does not move the other elements, and frees the memory of the taken element at
/// once.
///
/// The code is inlinable, so that other modules can specialize it.
@_spi(Transports) public struct HeadQueue<Element> {
  /// The elements; those before `first` were taken, and are nil.
  @usableFromInline var elements: [Element?] = []
  @usableFromInline var first = 0

  /// Makes an empty queue.
  @inlinable
  public init() {}

  /// Whether there are no elements.
  @inlinable
  public var isEmpty: Bool { first == elements.count }

  /// The first element; nil if the queue is empty.
  @inlinable
  public var head: Element? { isEmpty ? nil : elements[first] }

  /// The element that was added last; nil if the queue is empty.
  @inlinable
  public var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  /// Adds an element at the end.
  @inlinable
  public mutating func append(_ element: Element) { elements.append(element) }

  /// Replaces the element that was added last, or adds one to an empty queue.
  @inlinable
  public mutating func replaceLast(with element: Element) {
    if !isEmpty { elements.removeLast() }
    elements.append(element)
  }

  /// Removes and returns the first element; nil if there is none.
  @inlinable
  public mutating func popFirst() -> Element? {
    guard first < elements.count else { return nil }
    if elements.count == 1 { return elements.removeLast() }
    let element = elements[first].take()
    first += 1
    if first == elements.count {
      elements.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 64, first > elements.count / 2 {  // The queue may never become empty.
      elements.removeFirst(first)
      first = 0
    }
    return element
  }

  /// Removes all elements, and frees the memory.
  @inlinable
  public mutating func removeAll() {
    elements = []
    first = 0
  }
}

extension HeadQueue: Sendable where Element: Sendable {}
