/// Elements that are taken in the order in which they were added.
///
/// Each is in an object of its own: code that is not specialised handles an array of references several times faster
/// than one of generic elements.
struct FIFO<Element> {
  private final class Box {
    let element: Element

    init(_ element: Element) { self.element = element }
  }

  private var boxes = References()

  var isEmpty: Bool { boxes.count == 0 }

  var count: Int { boxes.count }

  var first: Element? { boxes.first.map { unsafeDowncast($0, to: Box.self).element } }

  mutating func append(_ element: Element) { boxes.append(Box(element)) }

  mutating func popFirst() -> Element? { boxes.popFirst().map { unsafeDowncast($0, to: Box.self).element } }
}

private struct References {
  private var objects: [AnyObject?] = []
  private var head = 0

  var count: Int { objects.count - head }

  var first: AnyObject? { head < objects.count ? objects[head] : nil }

  mutating func append(_ object: AnyObject) { objects.append(object) }

  mutating func popFirst() -> AnyObject? {
    guard head < objects.count else { return nil }
    let object = objects[head].take()
    head += 1
    if head == objects.count {
      objects.removeAll(keepingCapacity: head <= 64)
      head = 0
    } else if head >= 64, head * 2 >= objects.count {
      objects.removeFirst(head)
      head = 0
    }
    return object
  }
}
