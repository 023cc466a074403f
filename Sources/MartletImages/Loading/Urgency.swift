import Synchronization

/// How urgent a piece of work is at this moment; it may change while the work waits for its turn.
final class Urgency: Sendable {
  private let level: Atomic<Int>

  init(_ priority: ImagePriority) { level = Atomic(priority.rawValue) }

  var now: Int { level.load(ordering: .relaxed) }

  func set(_ priority: ImagePriority) { level.store(priority.rawValue, ordering: .relaxed) }
}
