/// An object whose release shows that what holds it was released: captured by a closure, or held by a subscriber.
final class Owned: Sendable {}

/// Runs the work with a new object, and returns whether the object was released after it.
func isReleased(_ work: (Owned) -> Void) -> Bool {
  weak var witness: Owned?
  do {
    let owned = Owned()
    witness = owned
    work(owned)
  }
  return witness == nil
}
