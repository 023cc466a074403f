/// A copy-on-write box for a value that is copied far more often than it is changed: a change copies the value first,
/// unless nothing else refers to the box.
///
/// Requests, options, responses and errors store their contents in one. A copy costs one retain, and takes eight bytes
/// in the frame of an asynchronous function. The code is inlined into other modules, because calling a yielding
/// accessor that is not inlined allocates memory.
@usableFromInline
struct Shared<Value: Sendable>: Sendable {
  // SAFETY: a box is changed only through a `Shared` that holds the only reference to it, and while that `Shared` is
  // accessed exclusively. So the value itself needs no exclusivity check.
  @usableFromInline
  final class Box: @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked) var value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
  }

  @usableFromInline var box: Box

  @inlinable
  init(_ value: Value) { box = Box(value) }

  @inlinable
  var value: Value {
    _read { yield box.value }
    _modify {
      if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
      yield &box.value
    }
  }

  /// Whether both are copies of one value that neither has changed. The values themselves are not compared.
  func isSame(as other: Shared) -> Bool { box === other.box }
}
