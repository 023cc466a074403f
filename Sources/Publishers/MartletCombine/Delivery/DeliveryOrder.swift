/// Decides which thread delivers. It is part of what a lock guards.
///
/// An event of another thread waits in line while one is being delivered, and is delivered by the thread that
/// delivers. So no thread waits for a subscriber, and none can wait for itself. An event that is caused by a delivery,
/// on the same thread, is delivered within it, as in Combine, unless others are in line, which come first.
///
/// It does not know the events, because code of generic types that are not specialised takes much longer.
struct DeliveryOrder {
  /// The right to deliver, until the line is empty.
  struct Position {
    fileprivate let outer: ThreadIdentity?
  }

  private(set) var waiting = 0
  private var deliverer: ThreadIdentity?

  /// Begins a turn. With nil, another thread is delivering, and takes the events in line along.
  mutating func begin() -> Position? {
    let thread = ThreadIdentity.current
    guard deliverer == nil || deliverer == thread else { return nil }
    defer { deliverer = thread }
    return Position(outer: deliverer)
  }

  /// Begins at once with a new event, if no other is in line. With nil, the event has to be put in line.
  mutating func beginWithNewEvent() -> Position? {
    if waiting == 0, let position = begin() { return position }
    waiting += 1
    return nil
  }

  /// Records that an event has been put in line.
  mutating func addedToLine() { waiting += 1 }

  /// Returns whether there is an event to deliver, which is then taken from the line. Otherwise the turn is over.
  mutating func next(_ position: Position) -> Bool {
    if waiting > 0 {
      waiting -= 1
      return true
    }
    deliverer = position.outer
    return false
  }

  /// Ends the turn if nothing is in line.
  mutating func endIfIdle(_ position: Position) -> Bool {
    if waiting == 0 { deliverer = position.outer }
    return waiting == 0
  }

  /// The line has been emptied.
  mutating func removeAll() { waiting = 0 }
}
