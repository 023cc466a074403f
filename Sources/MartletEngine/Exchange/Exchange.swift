import Synchronization

/// What one call knows about itself. It is passed down the stack, never looked up.
public final class Exchange: Sendable {
  /// Unique within the process, rising from 1.
  public let id: UInt64
  private let listeners: [any EventListener]
  private static let lastID = Atomic<UInt64>(0)

  /// Makes the exchange of one call. A session does this; tests of a transport may do it too.
  public init(listeners: [any EventListener] = []) {
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    self.listeners = listeners
  }

  /// Whether anybody watches: a transport that has none to tell can save itself the work of telling.
  public var isObserved: Bool { !listeners.isEmpty }

  /// Tells every listener, in the order of registration. Where nobody watches, the event is not even made.
  public func emit(_ event: @autoclosure () -> Event) {
    guard isObserved else { return }
    let event = event()
    for listener in listeners { listener.receive(event, in: self) }
  }
}
