import Synchronization

/// A value behind a lock, which need not be Sendable: the values and closures of publishers, and objects of an app.
///
/// A dump of it shows nothing, because the value may be a secret.
// SAPFoundation and MartletCombineFoundation also compile this file, through a link. A generic class of another module
// is not specialised, not even with `@inlinable`: each access to a task's state then took a thousand instructions.
final class Locked<Value>: Sendable {
  private let mutex: Mutex<Content<Value>>

  init(_ value: Value) { mutex = Mutex(Content(value: value)) }

  /// The value. Read a closure with this property: `withLock { $0 }` passes it as `inout` through a generic function,
  /// which wraps it twice more at each call, until the stack does not suffice to call it.
  var value: Value { mutex.withLock { Content(value: $0.value) }.value }

  /// Runs the work with exclusive access. It must not call subscribers or other code of an app, or this lock again.
  func withLock<Result, Failure: Error>(
    _ work: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try mutex.withLock { content throws(Failure) in Content(value: try work(&content.value)) }.value
  }

  /// Replaces the value, and returns the old one, so that it is released outside the lock.
  func replace(by value: Value) -> Value {
    withLock { current in
      defer { current = value }
      return current
    }
  }

  // SAFETY: the locked value is only accessed while the mutex is locked, and results are returned on the thread that
  // computed them. Objects that are taken out of it are shared: as in Combine, the user of the publisher decides
  // whether they may cross threads. SAPFoundation keeps only objects in it that are safe to call from any thread, or
  // are called on one queue.
  private struct Content<Kept>: @unchecked Sendable {
    var value: Kept
  }
}

extension Locked {
  /// Returns the content, and sets it to nil.
  func take<Content>() -> Content? where Value == Content? { replace(by: nil) }
}

extension Locked: CustomReflectable {
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
