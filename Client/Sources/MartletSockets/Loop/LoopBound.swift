#if os(Linux)
/// A value of a loop's thread that other threads may hold and pass on, but not use.
///
/// Using it requires the loop itself, which is not `Sendable` and therefore only reachable on its own thread.
final class LoopBound<Value>: @unchecked Sendable {  // SAFETY: only the loop's thread uses the value, see above.
  private var value: Value

  /// - Parameter value: the first value; one that belongs to no thread yet, such as nil.
  init(_ value: sending Value) { self.value = value }

  /// Returns the value.
  func get(on loop: EventLoop) -> Value { value }

  /// Replaces the value.
  func set(_ value: Value, on loop: EventLoop) { self.value = value }
}
#endif
