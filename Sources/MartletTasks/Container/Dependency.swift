import Synchronization

/// How a dependency is come by: made each time, or once and kept.
public struct Dependency<Value: Sendable>: Sendable {
  private let resolve: @Sendable () -> Value
  private let isKept: Bool

  /// Resolves it.
  public func callAsFunction() -> Value { resolve() }

  /// Makes it each time.
  public static func factory(_ make: @escaping @Sendable () -> Value) -> Dependency {
    Dependency(resolve: make, isKept: false)
  }

  /// Makes it when it is first asked for, and keeps it. Several threads that ask at once get the same one, though the
  /// closure may have run for each of them: it runs under no lock, so that it may resolve other dependencies.
  public static func single(_ make: @escaping @Sendable () -> Value) -> Dependency {
    let kept = Kept<Value>()
    return Dependency(resolve: { kept.value(make) }, isKept: true)
  }

  /// As ``single(_:)``: takes the place of what was there.
  public static func replace(_ make: @escaping @Sendable () -> Value) -> Dependency { single(make) }

  /// Puts something around it: `Container.shared.networkSession.decorate { Logged($0) }`. What was made each time still is.
  public mutating func decorate(_ decoration: @escaping @Sendable (Value) -> Value) {
    let decorated: @Sendable () -> Value = { [resolve] in decoration(resolve()) }
    self = isKept ? .single(decorated) : .factory(decorated)
  }
}

/// A value that is made at most once for everybody. Making it happens outside the lock: it may resolve other dependencies.
private final class Kept<Value: Sendable>: Sendable {
  private let kept = Mutex<Value?>(nil)

  func value(_ make: () -> Value) -> Value {
    if let value = kept.withLock({ $0 }) { return value }
    let made = make()
    return kept.withLock { kept in
      let first = kept ?? made
      kept = first
      return first
    }
  }
}
