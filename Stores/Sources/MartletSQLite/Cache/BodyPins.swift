import MartletEngine
import Synchronization

/// The entries whose bodies this process reads or writes. Their chunks are not deleted, even if the entry is.
final class BodyPins: Sendable {
  private struct State {
    var counts: [CacheEntry.ID: Int] = [:]
    /// The pinned bodies that are due to be deleted.
    var deletable: Set<CacheEntry.ID> = []
  }

  private let state = Mutex(State())

  func hold(_ id: CacheEntry.ID) { state.withLock { $0.counts[id, default: 0] += 1 } }

  /// - Returns: whether the body is due to be deleted and no longer pinned.
  func release(_ id: CacheEntry.ID) -> Bool {
    state.withLock { state in
      guard let count = state.counts[id], count <= 1 else {
        state.counts[id]? -= 1
        return false
      }
      state.counts[id] = nil
      return state.deletable.remove(id) != nil
    }
  }

  /// The pinned entries.
  var all: Set<CacheEntry.ID> { state.withLock { Set($0.counts.keys) } }

  /// The number of pinned entries.
  var count: Int { state.withLock { $0.counts.count } }

  /// Returns the unpinned bodies. For the others, ``release(_:)`` returns true at the end.
  func free(_ bodies: [(body: Int64, owner: CacheEntry.ID)]) -> [Int64] {
    state.withLock { state in
      bodies.compactMap { body, owner in
        guard state.counts[owner] != nil else { return body }
        state.deletable.insert(owner)
        return nil
      }
    }
  }
}

/// Pins a body for as long as it exists.
final class BodyPin: Sendable {
  private let id: CacheEntry.ID
  private let file: CacheFile

  init(_ id: CacheEntry.ID, in file: CacheFile) {
    self.id = id
    self.file = file
    file.pins.hold(id)
  }

  deinit { if file.pins.release(id) { file.scheduleCleanUp() } }
}
