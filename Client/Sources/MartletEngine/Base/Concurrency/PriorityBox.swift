import Synchronization

/// A priority that may change while its work waits.
@_spi(Toolkit) public final class PriorityBox: Sendable {
  private let value: Atomic<Int>
  private static let allChanges = Atomic(0)

  public init(_ priority: Int) { value = Atomic(priority) }

  public var current: Int { value.load(ordering: .relaxed) }

  public func set(_ priority: Int) {
    guard value.exchange(priority, ordering: .relaxed) != priority else { return }
    Self.allChanges.add(1, ordering: .releasing)
  }

  /// How many times any priority was changed. Queues read the priorities again when this number is another.
  static var changes: Int { allChanges.load(ordering: .acquiring) }
}
