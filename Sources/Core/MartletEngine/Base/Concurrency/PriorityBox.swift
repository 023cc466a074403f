import Synchronization

/// A priority that may change while its work waits.
package final class PriorityBox: Sendable {
  private let value: Atomic<Int>

  package init(_ priority: Int) { value = Atomic(priority) }

  package var current: Int { value.load(ordering: .relaxed) }

  package func set(_ priority: Int) { value.store(priority, ordering: .relaxed) }
}
