import Synchronization

/// How a dependency is come by: made each time, or once and kept.
public struct Dependency<Value: Sendable>: Sendable {
  private let resolve: @Sendable () -> Value

  /// Resolves it.
  public func callAsFunction() -> Value { resolve() }

  /// Makes it each time.
  public static func factory(_ make: @escaping @Sendable () -> Value) -> Dependency { Dependency(resolve: make) }

  /// Makes it when it is first asked for, and keeps it. Several threads that ask at once get the same one, though the
  /// closure may have run for each of them.
  public static func single(_ make: @escaping @Sendable () -> Value) -> Dependency {
    let kept = Kept<Value>()
    return Dependency { kept.value { make() } }
  }

  /// As ``single(_:)``: takes the place of what was there.
  public static func replace(_ make: @escaping @Sendable () -> Value) -> Dependency { single(make) }

  /// The same dependency with something around it: `container.session = container.session.decorated { Logged($0) }`.
  public func decorated(_ decorate: @escaping @Sendable (Value) -> Value) -> Dependency {
    .single { [resolve] in decorate(resolve()) }
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
