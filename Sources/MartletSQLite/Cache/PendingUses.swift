import Synchronization

/// The entries that were used since the order of use was last written: a hit is not a write.
///
/// They are written with the next write, or when there are many, or when the first has waited for long. What a process
/// does not get to write when it ends is forgotten: that only costs the order some of its truth.
final class PendingUses: Sendable {
  private struct State {
    var entries: [Int64] = []
    var first: ContinuousClock.Instant?
  }

  private let state = Mutex(State())
  private static let capacity = 256
  private static let patience = Duration.seconds(10)

  /// - Returns: Whether it is time to write them.
  func note(_ entry: Int64) -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      if !state.entries.contains(entry) { state.entries.append(entry) }
      let first = state.first ?? now
      state.first = first
      return state.entries.count >= Self.capacity || now - first > Self.patience
    }
  }

  /// Takes them, in their order.
  func take() -> [Int64] {
    state.withLock { state in
      defer { state = State() }
      return state.entries
    }
  }
}
