import Foundation

/// A value that need not be Sendable, and that nobody touches but under the lock.
///
/// SAFETY: `value` is only reached under the lock. What comes out of it is shared, so only what may be called from any
/// thread or is called on one queue alone is kept here: observers, the delegate, and what the user put into a context.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var guarded: Value

  init(_ value: Value) { guarded = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&guarded)
  }

  /// The value; what is changed in place is changed under the lock, so that no change is lost.
  var value: Value {
    get { withLock { $0 } }
    _modify {
      lock.lock()
      defer { lock.unlock() }
      yield &guarded
    }
  }
}

extension Locked: CustomReflectable {
  /// Shows nothing: what is kept may be secret.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Something that is no Sendable, on its way from one who lets go of it to another.
///
/// SAFETY: whoever wraps a value does not touch it any more.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}
