/// An action at a point in time, on a clock in nanoseconds. It can be moved and cancelled.
class HeapTimer {
  /// When it is due; the maximum for never.
  fileprivate(set) var due = UInt64.max
  /// The time by which it is placed in the heap: never later than ``due``.
  fileprivate var placeTime = UInt64.max
  /// Its place in the heap; nil if it is in none.
  fileprivate var position: Int?
  private let body: (() -> Void)?

  /// - Parameter body: the action; it must not refer strongly to the owner of the timer.
  init(_ body: @escaping () -> Void) { self.body = body }

  /// Makes a timer for a class that overrides ``action()``.
  init() { body = nil }

  /// Runs when the timer is due.
  func action() { body?() }
}

/// The timers of an owner, such as an event loop, in a binary heap.
///
/// Most timers are timeouts that are moved to a later time again and again and never fire. Moving one to a later time
/// costs nothing: its place is corrected when the earlier time is reached.
struct TimerHeap {
  private var timers: [HeapTimer] = []

  /// When the first timer may be due; the maximum if there is none.
  var next: UInt64 { timers.first?.placeTime ?? .max }

  var count: Int { timers.count }

  /// Sets when the timer is due; the maximum cancels it.
  mutating func set(_ timer: HeapTimer, to due: UInt64) {
    timer.due = due
    guard let position = timer.position else {
      guard due != .max else { return }
      timer.placeTime = due
      timer.position = timers.count
      timers.append(timer)
      return siftUp(timers.count - 1)
    }
    if due == .max { return remove(at: position) }
    guard due < timer.placeTime else { return }
    timer.placeTime = due
    siftUp(position)
  }

  /// Removes a timer that is due, and returns it; nil if there is none.
  mutating func popDue(at now: UInt64) -> HeapTimer? {
    while let first = timers.first, first.placeTime <= now {
      if first.due <= now {
        first.due = .max
        remove(at: 0)
        return first
      }
      first.placeTime = first.due
      siftDown(0)
    }
    return nil
  }

  private mutating func remove(at position: Int) {
    timers[position].position = nil
    let last = timers.removeLast()
    guard position < timers.count else { return }
    timers[position] = last
    last.position = position
    siftUp(position)
    siftDown(position)
  }

  private mutating func siftUp(_ start: Int) {
    var position = start
    let timer = timers[start]
    while position > 0 {
      let parent = (position - 1) / 2
      guard timer.placeTime < timers[parent].placeTime else { break }
      put(timers[parent], at: position)
      position = parent
    }
    if position != start { put(timer, at: position) }
  }

  private mutating func siftDown(_ start: Int) {
    var position = start
    let timer = timers[start]
    while true {
      var child = 2 * position + 1
      guard child < timers.count else { break }
      if child + 1 < timers.count, timers[child + 1].placeTime < timers[child].placeTime { child += 1 }
      guard timers[child].placeTime < timer.placeTime else { break }
      put(timers[child], at: position)
      position = child
    }
    if position != start { put(timer, at: position) }
  }

  private mutating func put(_ timer: HeapTimer, at position: Int) {
    timers[position] = timer
    timer.position = position
  }
}
