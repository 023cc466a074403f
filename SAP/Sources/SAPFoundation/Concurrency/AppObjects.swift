// Types that carry values and objects of the app between threads, although these need not be Sendable. Mutable values
// of this module are in a `Locked`.

/// The values of a `context`. A change in place holds the lock, so that no change of another thread is lost. A closure
/// within it (`merge`) may read the same context, and gets the values before the change.
///
/// SAFETY: `values` is only used under the lock. The values themselves are shared, as the documentation of `context`
/// says.
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

/// An object of the app that only one thread at a time calls. It may call back into its caller: the lock is recursive.
///
/// SAFETY: `object` is a constant, and is only called under the lock.
final class Synchronized<Object>: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private let object: Object

  init(_ object: Object) { self.object = object }

  func call<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(object)
  }
}

// Their content may be secret, so a dump shows nothing of it.

extension ContextValues: CustomReflectable {
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Synchronized: CustomReflectable {
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A value that is not Sendable, on its way to the code that alone uses it from then on.
///
/// SAFETY: code that wraps a value does not use it any more.
struct UncheckedSendable<Value>: @unchecked Sendable {
  let value: Value
}
