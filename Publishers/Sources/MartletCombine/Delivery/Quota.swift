#if !canImport(Darwin)
import Synchronization

/// The number of values that a publisher of ready values may still deliver, in one atomic word. The thread whose
/// request raises it from 0 delivers values until it is 0 again. Requests of other threads only raise it.
struct Quota: ~Copyable, Sendable {
  private static let unlimited = Int.max
  private static let closed = -1

  private let word = Atomic(0)

  var isUnlimited: Bool { word.load(ordering: .acquiring) == Self.unlimited }

  var isClosed: Bool { word.load(ordering: .acquiring) == Self.closed }

  /// Adds a demand.
  ///
  /// - Returns: whether the caller delivers from now on.
  func add(_ demand: Subscribers.Demand) -> Bool {
    guard demand > .none else { return false }
    var old = word.load(ordering: .relaxed)
    while old != Self.closed {
      let (sum, isTooLarge) = old.addingReportingOverflow(demand.max ?? Self.unlimited)
      let (isDone, now) = word.weakCompareExchange(
        expected: old, desired: isTooLarge ? Self.unlimited : sum, ordering: .acquiringAndReleasing)
      if isDone { return old == 0 }
      old = now
    }
    return false
  }

  /// Subtracts a value that was delivered. Only the thread that delivers calls this.
  ///
  /// - Returns: whether it goes on delivering.
  func useOne() -> Bool {
    var old = word.load(ordering: .acquiring)
    while old > 0, old != Self.unlimited {
      let (isDone, now) = word.weakCompareExchange(
        expected: old, desired: old - 1, ordering: .acquiringAndReleasing)
      if isDone { return old > 1 }
      old = now
    }
    return old == Self.unlimited
  }

  /// Nothing is delivered from now on.
  ///
  /// - Returns: whether it was closed already, and whether a thread was delivering.
  @discardableResult
  func close() -> (wasClosed: Bool, wasDelivering: Bool) {
    let old = word.exchange(Self.closed, ordering: .acquiringAndReleasing)
    return (old == Self.closed, old > 0)
  }
}
#endif
