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
}

/// The values of a `context`. What is changed in place is changed under the lock, so that no change of another thread is lost; a
/// closure in it (`merge`) may read the same context, and sees it as it was before.
///
/// SAFETY: `values` is only reached under the lock. What comes out of it is shared, which `context` tells its users.
final class ContextValues: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private var values: [String: Any] = [:]

  var all: [String: Any] {
    get { lock.withLock { values } }
    _modify {
      lock.lock()
      var changed = values
      defer {
        values = changed
        lock.unlock()
      }
      yield &changed
    }
  }
}

/// An app's own object that is called by one thread at a time. It may call back, into whatever calls it: the lock is recursive, and
/// no state of ours is held by it.
///
/// SAFETY: `object` is a constant, and is only called under the lock.
final class Serialized<Object>: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private let object: Object

  init(_ object: Object) { self.object = object }

  func call<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(object)
  }
}

extension Locked: CustomReflectable {
  /// Shows nothing: what is kept may be secret.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ContextValues: CustomReflectable {
  /// Shows nothing: what is kept may be secret.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Serialized: CustomReflectable {
  /// Shows nothing: what is kept may be secret.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Something that is no Sendable, on its way from one who lets go of it to another.
///
/// SAFETY: whoever wraps a value does not touch it any more.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}
