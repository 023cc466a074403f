/// The events that are to be delivered, in their order, and the thread that delivers them: one at a time. It is part of
/// what a lock guards.
///
/// An event of another thread waits in line while one is being delivered, and is delivered by the thread that
/// delivers. So no thread waits for a subscriber, and none can wait for itself. An event that is caused by a delivery,
/// on the same thread, is delivered within it, as in Combine, unless others are in line, which come first.
///
/// ```
/// guard let position = lock.withLock({ line.begin(orAppend: event) }) else { return }
/// deliver(event)
/// if lock.withLock({ line.endIfEmpty(position) }) { return }
/// while let event = lock.withLock({ line.popFirst(position) }) { deliver(event) }
/// ```
// Its functions are inlined, because a generic type that is not specialised is looked up in each call: about a thousand
// instructions a value.
struct DeliveryLine<Event> {
  private var order = DeliveryOrder()
  private var events = FIFO<Event>()

  /// How many events are in line.
  var count: Int {
    @inline(__always) get { order.waiting }
  }

  /// Begins to deliver the events in line. With nil, another thread is delivering, and takes them along.
  @inline(__always)
  mutating func begin() -> DeliveryOrder.Position? { order.begin() }

  /// Begins to deliver a new event, which is not in line. With nil, it was put in line.
  @inline(__always)
  mutating func begin(orAppend event: @autoclosure () -> Event) -> DeliveryOrder.Position? {
    if let position = order.beginWithNewEvent() { return position }
    events.append(event())
    return nil
  }

  /// Puts an event in line.
  @inline(__always)
  mutating func append(_ event: Event) {
    order.addedToLine()
    events.append(event)
  }

  /// Takes the next event from the line. With nil there is none, and the delivery is over.
  @inline(__always)
  mutating func popFirst(_ position: DeliveryOrder.Position) -> Event? {
    order.next(position) ? events.popFirst() : nil
  }

  /// Ends the delivery if nothing is in line. Returns whether it is over.
  @inline(__always)
  mutating func endIfEmpty(_ position: DeliveryOrder.Position) -> Bool { order.endIfIdle(position) }

  /// Empties the line. Returns its events, to be released outside the lock.
  @inline(__always)
  mutating func removeAll() -> Any? {
    guard order.waiting > 0 else { return nil }
    defer { events = FIFO() }
    order.removeAll()
    return events
  }
}

/// Decides which thread delivers the events of a ``DeliveryLine``. It does not know the events, because code of generic
/// types that are not specialised takes much longer.
struct DeliveryOrder {
  /// The right to deliver, until the line is empty.
  struct Position {
    fileprivate let outer: ThreadIdentity?
  }

  private(set) var waiting = 0
  private var deliverer: ThreadIdentity?

  /// Begins a delivery. With nil, another thread is delivering, and takes the events in line along.
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

  /// Returns whether there is an event to deliver, which is then taken from the line. Otherwise the delivery is over.
  mutating func next(_ position: Position) -> Bool {
    if waiting > 0 {
      waiting -= 1
      return true
    }
    deliverer = position.outer
    return false
  }

  /// Ends the delivery if nothing is in line.
  mutating func endIfIdle(_ position: Position) -> Bool {
    if waiting == 0 { deliverer = position.outer }
    return waiting == 0
  }

  /// The line has been emptied.
  mutating func removeAll() { waiting = 0 }
}
