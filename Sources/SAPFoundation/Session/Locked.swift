import Synchronization

/// A value that need not be Sendable, and that nobody touches but under the lock.
///
/// SAFETY: `value` is only reached through `withLock`. What comes out of it is shared, so only what may be called from any
/// thread or is called on one queue alone is kept here: observers, the delegate, and what the user put into a context.
final class Locked<Value>: @unchecked Sendable {
  private let lock = Mutex(())
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { _ in try body(&value) }
  }
}

/// Something that is no Sendable, on its way from one who lets go of it to another.
///
/// SAFETY: whoever wraps a value does not touch it any more.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}
