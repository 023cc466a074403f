import Synchronization

/// A value behind a lock, which need not be Sendable: the values and closures of publishers, and objects of an app.
///
/// A dump of it shows nothing, because the value may be a secret.
// SAFETY: `value` is only accessed while `mutex` is locked. Objects that are taken out of it are shared: whether they may
// cross threads is up to the user of the publisher, as in Combine. SAPFoundation keeps only objects in it that are safe
// to call from any thread, or are called on one queue.
package final class Locked<Value>: @unchecked Sendable {
  private let mutex = Mutex(())
  private var value: Value

  package init(_ value: Value) { self.value = value }

  /// Runs the work with exclusive access. It must not call subscribers or other code of an app, or this lock again.
  package func withLock<Result, Failure: Error>(
    _ work: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try mutex.withLock { _ throws(Failure) in Returned(value: try work(&value)) }.value
  }

  /// Replaces the value, and returns the old one, so that it is released outside the lock.
  func replace(by value: Value) -> Value {
    withLock { current in
      defer { current = value }
      return current
    }
  }

  // SAFETY: the value is returned on the thread that computed it.
  private struct Returned<Content>: @unchecked Sendable {
    let value: Content
  }
}

extension Locked {
  /// Returns the content, and sets it to nil.
  func take<Content>() -> Content? where Value == Content? { replace(by: nil) }
}

extension Locked: CustomReflectable {
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
