/// A value that is copied far more often than it is changed: a reference to it, which copies it before a change unless
/// nothing else refers to it.
///
/// Requests, options, responses and errors consist of one. A copy then costs one retain, and the frame of every
/// asynchronous function that has one keeps eight bytes. It is inlined into other modules, because an accessor that
/// yields allocates memory where it is not.
@usableFromInline
struct Shared<Value: Sendable>: Sendable {
  // SAFETY: only a `Shared` that is the only one to refer to the box changes it, and a change of
  // that `Shared` has exclusive access to it. So the value needs no check of exclusivity of its own.
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
