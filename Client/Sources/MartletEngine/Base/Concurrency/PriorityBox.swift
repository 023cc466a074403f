import Synchronization

/// A priority that may change while its work waits.
@_spi(Toolkit) public final class PriorityBox: Sendable {
  private let value: Atomic<Int>

  public init(_ priority: Int) { value = Atomic(priority) }

  public var current: Int { value.load(ordering: .relaxed) }

  public func set(_ priority: Int) { value.store(priority, ordering: .relaxed) }
}
