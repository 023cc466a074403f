/// A value that is renewed now and then, and which one it is: a newer one has a higher number.
package struct RenewedValue<Value: Sendable>: Sendable {
  package let value: Value
  package let number: Int
}

/// A value that many use and only one at a time renews: a pure state machine.
///
/// Whoever needs the value gets it, or waits for the renewal that is under way, or has to start one. A value that was
/// refused while a newer one is already there is no reason to renew again.
package struct RenewalState<Value: Sendable, Waiter: Sendable>: Sendable {
  package typealias Version = RenewedValue<Value>

  package enum Decision: Sendable {
    case use(Version)
    /// A renewal is under way; the waiter is told.
    case wait
    /// The waiter is told too, but a renewal has to be started: from this value, if there ever was one.
    case start(renewal: Int, from: Value?)
  }

  private var latest: Version?
  private var isRefused = false
  private var running: (renewal: Int, waiters: [Waiter])?
  private var lastNumber = 0

  /// The number of the value that is there.
  package var number: Int? { latest?.number }

  package init(_ value: Value?) { latest = value.map { Version(value: $0, number: 0) } }

  /// Somebody needs the value, and can use one that fulfils the condition.
  package mutating func need(where isUsable: (Version) -> Bool, _ waiter: @autoclosure () -> Waiter) -> Decision {
    if running == nil, !isRefused, let latest, isUsable(latest) { return .use(latest) }
    return join(waiter())
  }

  /// Somebody was refused with a value that fulfils the condition, and needs another one.
  package mutating func replace(where wasRefused: (Version) -> Bool, _ waiter: @autoclosure () -> Waiter) -> Decision {
    if running == nil, let latest {
      if wasRefused(latest) { isRefused = true }
      if !isRefused { return .use(latest) }
    }
    return join(waiter())
  }

  /// A renewal ended, with nothing where there is nothing to be had. Returns who waited for it, and for which version.
  package mutating func ended(renewal: Int, with value: Value?) -> (waiters: [Waiter], version: Version?) {
    guard let waiters = running?.waiters, running?.renewal == renewal else { return ([], nil) }
    running = nil
    return (waiters, value.map { set($0) })
  }

  /// The value comes from outside: a renewal under way does not count any more. Returns who waited for that.
  package mutating func use(_ value: Value?) -> (waiters: [Waiter], version: Version?) {
    let waiters = running?.waiters ?? []
    running = nil
    if value == nil { latest = nil }
    return (waiters, value.map { set($0) })
  }

  private mutating func set(_ value: Value) -> Version {
    lastNumber += 1
    let version = Version(value: value, number: lastNumber)
    latest = version
    isRefused = false
    return version
  }

  private mutating func join(_ waiter: Waiter) -> Decision {
    guard running == nil else {
      running?.waiters.append(waiter)
      return .wait
    }
    lastNumber += 1
    running = (lastNumber, [waiter])
    return .start(renewal: lastNumber, from: latest?.value)
  }
}
