import Synchronization

/// Guards the properties of one object of a chain. Code of other objects is never called while it is held.
///
/// The properties are beside the lock and not in a `Mutex`: in generic classes, a value that a closure returns from a
/// `Mutex` costs several times the lock itself.
struct Lock: ~Copyable, Sendable {
  private let mutex = Mutex(())

  /// Runs the work with exclusive access.
  @inline(__always)
  func withLock<Result>(_ work: () -> Result) -> Result {
    var result: Result?
    mutex.withLock { _ in result = work() }
    return result.unsafelyUnwrapped
  }
}
