#if os(Linux)
/// A value of a loop's thread that other threads may hold and hand over, but not use.
///
/// To use it, the loop itself is needed, which is not `Sendable` and therefore known to its own thread only.
final class LoopBound<Value>: @unchecked Sendable {  // SAFETY: the value is used on the loop's thread only, as said.
  private var value: Value

  /// - Parameter value: the first value; one that belongs to no thread yet, such as nil.
  init(_ value: sending Value) { self.value = value }

  /// Returns the value.
  func get(on loop: EventLoop) -> Value { value }

  /// Replaces the value.
  func set(_ value: Value, on loop: EventLoop) { self.value = value }
}
#endif
