/// Values by rising numbers, such as the numbers of connections: a hash table whose hash is the number itself.
struct NumberTable<Value>: Sequence {
  fileprivate struct Slot {
    static var free: Int { -1 }
    /// ``free`` if the slot has no value: to look at that is cheaper than to look whether there is a large value.
    var number = free
    var value: Value?
  }

  /// A power of two of slots, at most half of them in use; or none.
  private var slots: [Slot] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The value of a number; nil if there is none.
  subscript(number: Int) -> Value? {
    get {
      guard count > 0 else { return nil }
      return slots[index(of: number)].value
    }
    set {
      guard let newValue else {
        _ = take(number)
        return
      }
      if 2 * (count + 1) > slots.count { grow() }
      let index = index(of: number)
      if slots[index].number == Slot.free {
        slots[index].number = number
        count += 1
      }
      slots[index].value = newValue
    }
  }

  /// Changes the value of a number in its place, if there is one. The change must leave a value.
  @inline(__always) mutating func update(_ number: Int, _ change: (inout Value?) -> Void) {
    guard count > 0 else { return }
    let index = index(of: number)
    guard slots[index].number != Slot.free else { return }
    change(&slots[index].value)
    assert(slots[index].value != nil, "values are removed by `take`")
  }

  /// Removes the value of a number and returns it; nil if there is none.
  mutating func take(_ number: Int) -> Value? {
    guard count > 0 else { return nil }
    let index = index(of: number)
    guard let value = slots[index].value else { return nil }
    free(index)
    return value
  }

  /// The values in no particular order.
  var values: [Value] { slots.compactMap(\.value) }

  func makeIterator() -> some IteratorProtocol<(number: Int, value: Value)> {
    slots.lazy.compactMap { slot in slot.value.map { (number: slot.number, value: $0) } }.makeIterator()
  }

  private var mask: Int { slots.count - 1 }

  /// The slot of a number, or the free one that it would get.
  @inline(__always) private func index(of number: Int) -> Int {
    var index = number & mask
    while slots[index].number != number, slots[index].number != Slot.free { index = (index + 1) & mask }
    return index
  }

  private mutating func free(_ index: Int) {
    var free = index
    count -= 1
    slots[free] = Slot()
    // Later entries that were displaced move up, so that they are still found.
    var next = (free + 1) & mask
    while slots[next].number != Slot.free {
      if (next - slots[next].number) & mask >= (next - free) & mask {
        slots.swapAt(free, next)
        free = next
      }
      next = (next + 1) & mask
    }
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: Slot(), count: Swift.max(16, 2 * old.count))
    for slot in old where slot.number != Slot.free { slots[index(of: slot.number)] = slot }
  }
}

extension NumberTable: Sendable where Value: Sendable {}
extension NumberTable.Slot: Sendable where Value: Sendable {}
